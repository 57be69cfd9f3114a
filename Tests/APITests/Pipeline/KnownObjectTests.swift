import API
import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// What a caller has already, and what a credential without the right gets.
@Suite(.cleansUp) struct KnownObjectTests {
    /// The objects that are answered with an ETag.
    private static let objects = [
        "getTenant", "getUser", "getApiKey", "getPlatformApiKey", "getPolicy", "getDomain",
        "getInvite", "getProvider", "getOperator",
    ]

    @Test func `an object that the caller has is 304, until it changes`() async throws {
        let fixture = try await UserFixture.make()
        let rights = try await RightsFixture.make(fixture)
        var seen = 0
        for endpoint in Routes.all
        where endpoint.method == .get && Self.objects.contains(endpoint.id) {
            let (path, isKnown) = rights.target(endpoint)
            guard isKnown else { continue }
            let first = try await fixture.service.send(.get, path, as: .platformOwner)
            let etag = try #require(first.first("etag"), "\(endpoint.id) \(first.text)")
            for known in [etag, "W/\(etag)", "\"x\", \(etag)", "*"] {
                let again = try await fixture.service.send(
                    .get, path, as: .platformOwner, fields: [Field("if-none-match", known)])
                #expect(again.status == 304, "\(endpoint.id) \(known)")
                #expect(again.bytes.isEmpty && again.first("etag") == etag)
                #expect(again.first("content-type") == nil)
            }
            let other = try await fixture.service.send(
                .get, path, as: .platformOwner, fields: [Field("if-none-match", "\"x\"")])
            #expect(other.status == 200 && other.bytes == first.bytes, "\(endpoint.id)")
            seen += 1
        }
        #expect(seen >= 6)
        let user = try await fixture.make("x@a.example")
        let target = "/v1/tenants/acme/users/\(user)"
        let etag = try await fixture.service.send(.get, target, as: .platformOwner).first("etag")
        try await fixture.service.manage(.patch, target, #"{"name":"N"}"#)
        let changed = try await fixture.service.send(
            .get, target, as: .platformOwner, fields: [Field("if-none-match", etag ?? "")])
        #expect(changed.status == 200)
    }

    @Test func `a platform key without the right does not learn what exists`() async throws {
        let fixture = try await UserFixture.make()
        let service = fixture.service
        let key = try await service.makeKey(#""audit:read""#, at: "/v1/api-keys")
        let user = try await fixture.make("x@a.example")
        for (method, there, away) in [
            (Method.get, "/v1/tenants/acme", "/v1/tenants/nowhere"),
            (.get, "/v1/tenants/acme/users", "/v1/tenants/nowhere/users"),
            (
                .get, "/v1/tenants/acme/users/\(user)",
                "/v1/tenants/acme/users/\(UUID.random())"
            ),
            (
                .delete, "/v1/tenants/acme/users/\(user)",
                "/v1/tenants/nowhere/users/\(UUID.random())"
            ),
        ] {
            var texts: [String] = []
            for path in [there, away] {
                let answer = try await service.send(
                    method, path, as: key.credential)
                #expect(answer.status == 403, "\(path) \(answer.text)")
                texts.append(answer.json["detail"]?.string ?? "")
            }
            #expect(texts[0] == texts[1])
        }
        // A caller with the right gets 404 for an unknown tenant.
        let reader = try await service.makeKey(#""users:read""#, at: "/v1/api-keys")
        let away = try await service.send(
            .get, "/v1/tenants/nowhere/users", as: reader.credential)
        #expect(away.status == 404)
    }

    @Test func `every response to a key with a limit states what is left of it`() async throws {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        clock.startMinute()
        clock.advance(seconds: 20)
        let key = try await service.makeKey(
            #""users:read""#, #","rate_limit":{"per_minute":3}"#)
        func fields(_ path: String) async throws -> [String?] {
            let answer = try await service.send(.get, path, as: key.credential)
            return ["limit", "remaining", "reset"].map { answer.first("ratelimit-\($0)") }
        }
        #expect(try await fields("/v1/me") == ["3", "2", "40"])
        // A refusal as well.
        #expect(try await fields("/v1/tenants/acme/api-keys") == ["3", "1", "40"])
        #expect(try await fields("/v1/tenants/acme/users") == ["3", "0", "40"])
        #expect(try await fields("/v1/me") == ["3", "0", "40"])
        let free = try await service.makeKey(#""users:read""#)
        let answer = try await service.send(.get, "/v1/me", as: free.credential)
        #expect(answer.first("ratelimit-limit") == nil)
    }
}
