import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Postgres
import Storage
import TestSupport
import Testing

@Suite(.cleansUp) struct ResponseCacheTests {
    @Test func `an answer from memory is the ordinary one, field by field`() async throws {
        let running = try await RunningService()
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let auth = "Authorization: Bearer \(secret.text)"
        let known = "X-Request-Id: 0123456789abcdef0123456789abcdef"
        var wire = try Wire(port: running.service.port)
        func make(_ target: String, _ body: String) throws -> JSONValue {
            let answer = try wire.exchange(
                Wire.request("POST", target, body: body, fields: [auth]))
            #expect(answer.status == 201, "\(answer.body)")
            return try JSONValue(parsing: Array(answer.body.utf8))
        }
        _ = try make("/v1/tenants", #"{"slug":"acme","name":"Acme"}"#)
        let tenant = "/v1/tenants/acme"
        _ = try make("\(tenant)/cors-origins", #"{"origin":"https://app.example"}"#)
        let key = try make("\(tenant)/api-keys", #"{"name":"k","scopes":["smtp"]}"#)
        let body = #"{"key":"\#(key["key"]?.string ?? "")"}"#
        let requests = [
            Wire.request("GET", "/livez", fields: [known]),
            Wire.request("GET", "/console/", fields: [known]),
            Wire.request("GET", "/favicon.svg", fields: [known, "Accept-Encoding: gzip"]),
            Wire.request(
                "OPTIONS", "\(tenant)/users",
                fields: [
                    known, "Origin: https://app.example", "Access-Control-Request-Method: POST",
                    "Access-Control-Request-Headers: authorization, content-type",
                ]),
            Wire.request("POST", "/v1/api-keys/verify", body: body, fields: [known, auth]),
        ]
        for request in requests {
            let first = try wire.exchange(request)
            #expect(first.status == 200 || first.status == 204)
            for _ in 0..<3 {
                let again = try wire.exchange(request)
                #expect(again.lines == first.lines && again.body == first.body)
            }
        }
        let id = key["id"]?.string ?? ""
        let seen = try wire.exchange(
            Wire.request("GET", "\(tenant)/api-keys/\(id)", fields: [auth]))
        #expect(seen.body.contains(#""last_used_at":"20"#), "\(seen.body)")
        // Never where something else might decide.
        let foreign = try wire.exchange(
            Wire.request(
                "POST", "/v1/api-keys/verify", body: body,
                fields: [auth, "Origin: https://other.example"]))
        #expect(foreign.status == 403)
        let overview = try wire.exchange(
            Wire.request("GET", "/v1/stats/overview", fields: [auth]))
        let counted = try JSONValue(parsing: Array(overview.body.utf8))["key_verifications"]?.int
        #expect(counted == 4)
    }

    @Test func `the stop of the service writes pending uses of keys`() async throws {
        let running = try await RunningService()
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let auth = "Authorization: Bearer \(secret.text)"
        var wire = try Wire(port: running.service.port)
        for _ in 0..<25 {
            let answer = try wire.exchange(
                Wire.request(
                    "POST", "/v1/api-keys/verify", body: #"{"key":"\#(secret.text)"}"#,
                    fields: [auth]))
            #expect(answer.body.contains(#""valid":true"#))
        }
        await running.service.stop()
        let administrator = running.database.client(as: running.database.administrator)
        let rows = try await administrator.query(
            "SELECT last_used_at IS NOT NULL FROM api_keys WHERE hash = \(Self.hash(secret.text))")
        let wasWritten: Bool = try #require(try rows.first?.get(0))
        #expect(wasWritten)
        let uses = try await administrator.query(
            "SELECT coalesce(sum(uses), 0)::int8 FROM api_key_uses")
        // Each was the caller's credential and the key that was asked about.
        let count: Int = try uses[0].get(0)
        #expect(count == 50)
    }

    private static func hash(_ text: String) -> [UInt8] { SHA256.hash(Array(text.utf8)) }
}
