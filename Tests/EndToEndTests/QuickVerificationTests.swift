import API
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing

@Suite(.cleansUp) struct QuickVerificationTests {
    private static let known = "X-Request-Id: 0123456789abcdef0123456789abcdef"

    @Test func `a plain verification is answered as any other, whatever the key`() async throws {
        let running = try await RunningService()
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        let platform = "Authorization: Bearer \(secret.text)"
        var wire = try Wire(port: running.service.port)
        func make(_ target: String, _ body: String, expecting status: Int = 201) throws -> JSONValue
        {
            let answer = try wire.exchange(
                Wire.request("POST", target, body: body, fields: [platform]))
            #expect(answer.status == status, "\(answer.body)")
            return try JSONValue(parsing: Array(answer.body.utf8))
        }
        func key(_ tenant: String, _ body: String) throws -> JSONValue {
            try make("/v1/tenants/\(tenant)/api-keys", body)
        }
        for slug in ["acme", "other"] {
            _ = try make("/v1/tenants", #"{"slug":"\#(slug)","name":"\#(slug)"}"#)
        }
        let user = try make(
            "/v1/tenants/acme/users", #"{"email":"ada@acme.example","role":"admin"}"#)
        let owner = user["id"]?.string ?? ""
        let verifier = try key("acme", #"{"name":"v","scopes":["keys:verify"]}"#)
        let tenants = "Authorization: Bearer \(verifier["key"]?.string ?? "")"
        let plain = try key("acme", #"{"name":"k","scopes":["smtp","imap"]}"#)
        let rotated = try key("acme", #"{"name":"r","scopes":["smtp"]}"#)
        let rotation = try make(
            "/v1/tenants/acme/api-keys/\(rotated["id"]?.string ?? "")/rotate",
            #"{"grace_seconds":3600}"#, expecting: 200)
        let cut = try key("acme", #"{"name":"c","scopes":["smtp"]}"#)
        _ = try make(
            "/v1/tenants/acme/api-keys/\(cut["id"]?.string ?? "")/rotate",
            #"{"grace_seconds":0}"#, expecting: 200)
        let revoked = try key("acme", #"{"name":"gone","scopes":["smtp"]}"#)
        _ = try make(
            "/v1/tenants/acme/api-keys/\(revoked["id"]?.string ?? "")/revoke", "",
            expecting: 200)
        let mine = try key(
            "acme", #"{"name":"mine","scopes":["smtp"],"owner":{"type":"user","id":"\#(owner)"}}"#)
        let bound = try key("acme", #"{"name":"b","scopes":["smtp"],"allowed_ips":["10.0.0.0/8"]}"#)
        let limited = try key(
            "acme", #"{"name":"l","scopes":["smtp"],"rate_limit":{"per_minute":9999}}"#)
        let foreign = try key("other", #"{"name":"f","scopes":["smtp"]}"#)
        let unknown = APIKeySecret.make(
            environment: .live, locator: APIKeySecret(plain["key"]?.string ?? "")?.locator ?? "")
        let nobody = APIKeySecret.make(environment: .live, locator: "zzzzzz")
        let texts: [String?] =
            [plain, rotated, rotation, cut, revoked, mine, bound, limited, foreign].map {
                $0["key"]?.string
            } + [unknown?.text, nobody?.text, secret.text, "gate_live_nonsense"]
        var valid = 0
        for text in texts {
            let text = try #require(text)
            for caller in [platform, tenants] {
                func ask(_ body: String) throws -> RunningService.Answer {
                    try wire.exchange(
                        Wire.request(
                            "POST", "/v1/api-keys/verify", body: body,
                            fields: [Self.known, caller]))
                }
                let first = try ask(#"{"key":"\#(text)"}"#)
                let again = try ask(#"{"key": "\#(text)"}"#)
                // The space before the colon is out of the ordinary.
                let ordinary = try ask(#"{"key" :"\#(text)"}"#)
                #expect(first.status == 200)
                for answer in [first, again] {
                    #expect(answer.body == ordinary.body)
                    #expect(answer.lines == ordinary.lines)
                }
                if first.body.contains(#""valid":true"#) { valid += 1 }
            }
        }
        // plain, rotated's two secrets and limited for both; the other tenant's and the platform's
        // for the platform alone.
        #expect(valid == 2 * 4 + 2)
    }
}
