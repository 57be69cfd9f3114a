import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The origin policy on refusals, its two switches, and the guard against locking oneself out.
@Suite(.serialized, .cleansUp) struct OriginAnswersTests {
    private static let path = "/v1/tenants/acme/cors-origins"
    private static let app = "https://app.example"
    private static let origin = [Field("origin", app)]

    private func key(_ fixture: UserFixture, _ scopes: String, more: String = "") async throws
        -> String
    {
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/api-keys",
            json: #"{"name":"k","scopes":[\#(scopes)]\#(more)}"#,
            as: .platformOwner)
        return try #require(made.json["key"]?.string, "\(made.text)")
    }

    private func list(_ fixture: UserFixture, _ origin: String) async throws {
        let made = try await fixture.service.send(
            .post, Self.path, json: #"{"origin":"\#(origin)"}"#, as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
    }

    private func setPolicy(_ fixture: UserFixture, _ json: String) async throws {
        let policy = "/v1/tenants/acme/policy"
        let read = try await fixture.service.send(.get, policy, as: .platformOwner)
        let put = try await fixture.service.send(
            .put, policy, json: json, as: .platformOwner,
            fields: [Field("if-match", read.first("etag") ?? "")])
        #expect(put.status == 200, "\(put.text)")
    }

    @Test func `every refusal carries the fields that a success carries`() async throws {
        let fixture = try await UserFixture.make(clock: TestClock())
        try await list(fixture, Self.app)
        let user = try await fixture.make("a@a.example")
        let writer = try await key(fixture, #""users:read","users:write","cors:write""#)
        let reader = try await key(fixture, #""users:read""#)
        let once = try await key(
            fixture, #""users:read""#, more: #","rate_limit":{"per_minute":1}"#)
        let users = "/v1/tenants/acme/users"
        let one = "\(users)/\(user)"
        let big = #"{"email":"\#(String(repeating: "x", count: 1 << 20))"}"#
        _ = try await fixture.service.send(.get, users, as: .bearer(once))
        let cases: [(Int, HTTP.Method, String, String?, String?, [Field])] = [
            (200, .get, users, nil, reader, []), (401, .get, users, nil, nil, []),
            (400, .post, users, "{", writer, []),
            (400, .post, users, "{}", writer, [Field("idempotency-key", "")]),
            (403, .post, users, "{}", reader, []),
            (404, .get, "\(users)/\(UUID.random())", nil, reader, []),
            (404, .get, "/v1/tenants/acme/nothing", nil, reader, []),
            (405, .put, users, "{}", writer, []),
            (409, .post, users, #"{"email":"a@a.example"}"#, writer, []),
            (412, .patch, one, #"{"name":"N"}"#, writer, [Field("if-match", "\"v9\"")]),
            (413, .post, users, big, writer, []),
            (415, .post, users, "x", writer, [Field("content-type", "text/plain")]),
            (422, .post, users, "{}", writer, []),
            (428, .put, Self.path, #"{"items":[]}"#, writer, []),
            (429, .get, users, nil, once, []),
        ]
        for (status, method, path, json, key, fields) in cases {
            let answer = try await fixture.service.send(
                method, path, json: json, as: key.map { .bearer($0) } ?? .anonymous,
                fields: fields + Self.origin)
            #expect(answer.status == status, "\(answer.text)")
            #expect(answer.first("access-control-allow-origin") == Self.app, "\(status)")
            #expect(answer.first("access-control-expose-headers") != nil, "\(status)")
            #expect(answer.first("vary")?.contains("Origin") == true, "\(status)")
        }
    }

    @Test func `a policy that cannot be read is 503 without an allowed origin`() async throws {
        let fixture = try await UserFixture.make()
        let away = fixture.service.database.client(as: "host=/nowhere dbname=nothing") {
            $0.acquireTimeout = 100
        }
        let composition = try Composition(
            app: away, platform: away, secrets: SecretKeys([UInt8](repeating: 7, count: 32)),
            publicURL: "http://gatehouse.test", clock: Timestamp.systemClock)
        for method in [HTTP.Method.get, .options] {
            let answer = await composition.dispatcher.respond(
                to: Request(
                    method, "/v1/tenants/acme/users", query: "",
                    fields: Self.origin + [Field("access-control-request-method", "GET")],
                    body: []))
            #expect(answer.status == 503)
            #expect(answer.first("retry-after") != nil)
            #expect(answer.first("access-control-allow-origin") == nil)
            #expect(answer.first("vary")?.contains("Origin") == true)
        }
    }

    @Test func `any loopback port may ask while the tenant's switch is on`() async throws {
        let fixture = try await UserFixture.make()
        func status(_ origin: String) async throws -> Int {
            try await fixture.service.send(
                .get, "/v1/tenants/acme/users", fields: [Field("origin", origin)]
            ).status
        }
        let local = ["http://localhost:5173", "http://127.0.0.1:1", "http://[::1]:65535"]
        for origin in local { #expect(try await status(origin) == 403) }
        try await setPolicy(fixture, #"{"dev_origins":true}"#)
        for origin in local { #expect(try await status(origin) == 401) }
        for origin in ["http://localhost:05", "http://localhost:70000", "http://localhost.ex"] {
            #expect(try await status(origin) == 403, "\(origin)")
        }
        try await setPolicy(fixture, #"{"dev_origins":false}"#)
        for origin in local { #expect(try await status(origin) == 403) }
    }

    @Test func `a private network is answered for exact https while the switch is on`()
        async throws
    {
        let fixture = try await UserFixture.make()
        for origin in [Self.app, "http://plain.example"] { try await list(fixture, origin) }
        func granted(_ origin: String) async throws -> String? {
            let answer = try await fixture.service.send(
                .options, "/v1/tenants/acme/users",
                fields: [
                    Field("origin", origin), Field("access-control-request-method", "GET"),
                    Field("access-control-request-private-network", "true"),
                ])
            #expect(answer.status == 204)
            return answer.first("access-control-allow-private-network")
        }
        #expect(try await granted(Self.app) == nil)
        try await setPolicy(fixture, #"{"private_network":true}"#)
        #expect(try await granted(Self.app) == "true")
        #expect(try await granted("http://plain.example") == nil)
    }

    @Test func `a whole list without the origin that asks is asked twice`() async throws {
        let fixture = try await UserFixture.make()
        try await list(fixture, Self.app)
        let writer = try await key(fixture, #""cors:read","cors:write""#)
        let read = try await fixture.service.send(
            .get, Self.path, as: .bearer(writer), fields: Self.origin)
        let match = [Field("if-match", read.first("etag") ?? "")]
        let asked = try await fixture.service.send(
            .put, Self.path, json: #"{"items":[]}"#, as: .bearer(writer),
            fields: Self.origin + match)
        #expect(asked.status == 409 && asked.json["code"]?.string == "confirm_required")
        #expect(asked.first("access-control-allow-origin") == Self.app)
        let confirm = try #require(asked.json["confirm"]?.string)
        let done = try await fixture.service.send(
            .put, "\(Self.path)?confirm=\(confirm)", json: #"{"items":[]}"#,
            as: .bearer(writer), fields: Self.origin + match)
        #expect(done.status == 200, "\(done.text)")
        let shut = try await fixture.service.send(
            .get, Self.path, as: .bearer(writer), fields: Self.origin)
        #expect(shut.status == 403 && shut.json["code"]?.string == "origin_not_allowed")
    }
}
