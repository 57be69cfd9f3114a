import API
import Domain
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// Origins that were refused, for the console.
@Suite(.serialized, .cleansUp) struct RefusedOriginTests {
    private static let path = "/v1/tenants/acme/cors-origins/refused"

    private func ask(
        _ service: TestService, from origin: String, _ path: String = "/v1/tenants/acme/users"
    ) async throws {
        let answer = try await service.send(
            .get, path, fields: [Field("origin", origin)])
        #expect(answer.status == 403, "\(answer.text)")
    }

    private func refused(
        _ service: TestService, _ query: String = "",
        as who: TestService.Credential = .platformOwner
    ) async throws -> [JSONValue] {
        let answer = try await service.send(.get, Self.path + query, as: who)
        return try #require(answer.json["items"]?.array, "\(answer.text)")
    }

    @Test func `refusals are counted by origin, with path templates`() async throws {
        let clock = TestClock()
        let service = try await TestService.make(clock: { clock.now })
        let tenant = try await service.makeTenant("acme").id
        try await service.makeTenant("other")
        for _ in 0..<3 { try await ask(service, from: "https://new.example") }
        try await ask(
            service, from: "https://new.example", "/v1/tenants/acme/users/\(UUID.random())")
        try await ask(service, from: "http://once.example:8080")
        let found = try await refused(service)
        try #require(found.count == 2)
        #expect(
            found.map { $0["origin"]?.string } == [
                "https://new.example", "http://once.example:8080",
            ])
        #expect(found[0]["count"] == .int(4))
        #expect(
            found[0]["paths"]
                == .array(
                    ["/v1/tenants/{tenant}/users", "/v1/tenants/{tenant}/users/{id}"].map(
                        JSONValue.string)))
        #expect(found[0]["last_seen"] == .string(clock.now.description))
        // It is the tenant's alone, and of the last day unless more is asked for.
        let other = try await service.send(
            .get, "/v1/tenants/other/cors-origins/refused", as: .platformOwner)
        #expect(other.json["items"] == .array([]))
        let before = clock.now
        clock.advance(seconds: 2 * 86_400)
        // A session of the console has ended by then.
        let scope = service.storage.scope(tenant)
        #expect(
            try await scope.refusedOrigins(since: clock.now.adding(seconds: -86_400), limit: 9)
                .isEmpty)
        #expect(try await scope.refusedOrigins(since: before, limit: 9).count == 2)
    }

    @Test func `allowed origins, own origins and unknown tenants are not recorded`() async throws {
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        try await service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"https://app.example"}"#)
        let listed = try await service.send(
            .get, "/v1/tenants/acme/users", fields: [Field("origin", "https://app.example")])
        #expect(listed.status == 401)
        try await ask(service, from: "https://a.example", "/v1/tenants/nowhere/users")
        // Only described.
        _ = try await service.send(
            .post, "/v1/cors/evaluate",
            json: #"{"tenant":"acme","origin":"https://b.example","method":"GET"}"#,
            as: .platformOwner)
        #expect(try await refused(service).isEmpty)
    }

    @Test func `an hour has at most a hundred, and those that were seen least go`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme").id
        let database = service.storage
        let now = database.clock()
        for round in 0..<3 {
            for number in 0..<150 {
                let origin = "https://x\(number).example"
                // In each round others come once; ten come often.
                let times = number < 10 ? 5 : 1
                let name = number < 10 ? origin : "https://x\(round)-\(number).example"
                for _ in 0..<times {
                    database.refusedOrigins.note(name, of: tenant, path: "/p", at: now)
                }
            }
            await database.writeRefusedOrigins()
        }
        let rows = try await database.scope(tenant).refusedOrigins(since: now, limit: 1000)
        #expect(rows.count == RefusedOrigins.ofTenant)
        let often = rows.prefix(10)
        #expect(often.allSatisfy { $0.count == 15 }, "\(often.map(\.count))")
    }

    @Test func `tenants in memory are limited`() {
        let refused = RefusedOrigins()
        for _ in 0..<RefusedOrigins.tenants + 10 {
            refused.note("https://x.example", of: UUID.random(), path: "", at: .systemClock())
        }
        let unwritten = refused.unwritten
        #expect(unwritten.count == RefusedOrigins.tenants)
        #expect(unwritten.allSatisfy { refused.take($0).count == 1 })
        #expect(refused.unwritten.isEmpty)
    }
}
