import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Keys that apps' keys make, and what a key may do at an app that it was not made for.
@Suite(.cleansUp) struct AppKeyBoundsTests {
    private static let bounds =
        #","expires_at":"2098-01-01T00:00:00Z","allowed_ips":["127.0.0.1"],"#
        + #""rate_limit":{"per_minute":50}"#

    private func owned(
        _ service: TestService, by user: String, _ scopes: String, _ more: String = bounds
    ) async throws -> MadeKey {
        try await service.makeKey(
            scopes, #","owner":{"type":"user","id":"\#(user)"}"# + more)
    }

    private func expectHeir(
        _ service: TestService, _ id: String?, of maker: MadeKey,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let id = try #require(id, sourceLocation: sourceLocation)
        let row = try await service.send(
            .get, "/v1/tenants/acme/api-keys/\(id)", as: .platformOwner)
        for name in ["expires_at", "allowed_ips", "rate_limit"] {
            #expect(row.json[name] == maker.json[name], "\(name)", sourceLocation: sourceLocation)
        }
        #expect(
            row.json["created_by"]?["id"]?.string == maker.id, "\(row.text)",
            sourceLocation: sourceLocation)
        let revoked = try await service.send(
            .post, "/v1/tenants/acme/api-keys/\(maker.id)/revoke",
            json: #"{"reason":"leaked","made_by":true}"#, as: .platformOwner)
        #expect(revoked.status == 200, sourceLocation: sourceLocation)
        let after = try await service.send(
            .get, "/v1/tenants/acme/api-keys/\(id)", as: .platformOwner)
        #expect(after.json["status"]?.string == "revoked", sourceLocation: sourceLocation)
    }

    @Test func `R5 a key created by a key has its bounds and ends with it`() async throws {
        let fixture = try await RelateFixture.make()
        _ = try await fixture.key()
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let user = try #require(list.json["items"]?.array?.first?["id"]?.string)
        let maker = try await owned(fixture.service, by: user, #""app","api:write""#)
        let made = try await fixture.send(
            .post, "/api/smtp-credentials", #"{"name":"n","scopes":["app"]}"#,
            as: "ApiKey \(maker.secret)")
        #expect(made.status == 200, "\(made.text)")
        let free = try await owned(fixture.service, by: user, #""app""#, "")
        let rotated = try await fixture.send(
            .post, "/api/smtp-credentials/\(free.id)/rotate", as: "ApiKey \(maker.secret)")
        #expect(rotated.status == 403, "\(rotated.text)")
        try await expectHeir(fixture.service, made.json["id"]?.string, of: maker)
    }

    @Test func `I16 a key that a key makes has its bounds and ends with it`() async throws {
        let fixture = try await ImmichFixture.make()
        let token = try await fixture.token()
        let made = try await fixture.send(
            .post, "/api/api-keys", #"{"name":"cli","permissions":["all"]}"#, token: token)
        let id = try #require(made.json["apiKey"]?["id"]?.string)
        try await fixture.service.manage(
            .patch, "/v1/tenants/acme/api-keys/\(id)",
            #"{"expires_at":"2098-01-01T00:00:00Z","rate_limit":{"per_minute":50}}"#)
        let row = try await fixture.service.send(
            .get, "/v1/tenants/acme/api-keys/\(id)", as: .platformOwner)
        let secret = try #require(made.json["secret"]?.string)
        let maker = try MadeKey(.object((row.json.members ?? []) + [.init("key", .string(secret))]))
        let own = [Field("x-api-key", secret)]
        let heir = try await fixture.send(
            .post, "/api/api-keys", #"{"permissions":["user.read"]}"#, fields: own)
        #expect(heir.status == 201, "\(heir.text)")
        let free = try await fixture.send(
            .post, "/api/api-keys", #"{"permissions":["user.read"]}"#, token: token)
        let freeID = try #require(free.json["apiKey"]?["id"]?.string)
        for (method, path) in [(HTTP.Method.post, "/rotate"), (.put, "")] {
            let refused = try await fixture.send(
                method, "/api/api-keys/\(freeID)\(path)", method == .put ? #"{"name":"x"}"# : nil,
                fields: own)
            #expect(refused.status == 403, "\(refused.text)")
        }
        try await expectHeir(fixture.service, heir.json["apiKey"]?["id"]?.string, of: maker)
    }

    @Test func `a key of something else is no key of an app`() async throws {
        let fixture = try await ImmichFixture.make()
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/timetracker", #"{"enabled":true}"#)
        let user = fixture.user.id.description
        let mail = try await owned(fixture.service, by: user, #""smtp","users:read""#, "")
        let reading = try await owned(fixture.service, by: user, #""api:read""#, "")
        let me = "/t/acme/timetracker/auth/me"
        let refused = try await fixture.service.send(.get, me, as: mail.credential)
        #expect(refused.status == 403, "a 401 would sign the app out: \(refused.text)")
        #expect(!refused.text.contains("ann@"))
        #expect(try await fixture.service.send(.get, me, as: reading.credential).status == 200)
        let key = [Field("x-api-key", mail.secret)]
        for (method, path) in [
            (HTTP.Method.get, "/api/api-keys/me"), (.post, "/api/auth/validateToken"),
            (.get, "/api/users/me"),
        ] {
            let answer = try await fixture.send(method, path, fields: key)
            #expect(answer.status == 403, "\(path) \(answer.text)")
        }
    }
}
