import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// An operator's password sign-in: what holds guessing back, and who is kept out.
@Suite(.cleansUp) struct SignInTests {
    private static let email = "owner@example.com"
    private static let password = "correct horse battery staple"

    private static func make(
        tenant isTenants: Bool = false
    ) async throws -> (TestService, TestClock) {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let hash = try await service.composition.application.passwords.hash(Array(password.utf8))
        _ = try await service.storage.createOperator(
            email: email, emailKey: email, name: "Owner", role: .owner,
            tenant: isTenants ? tenant.id : nil, passwordHash: hash, by: .system)
        return (service, clock)
    }

    private static func signIn(
        _ service: TestService, _ password: String = password, email: String = email,
        from address: String = "192.0.2.1"
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/session", json: #"{"email":"\#(email)","password":"\#(password)"}"#,
            fields: [OperatorFixture.device(address)], from: address)
    }

    @Test func `tries side by side do not pass the count of failures`() async throws {
        let (service, clock) = try await Self.make()
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<20 {
                group.addTask { try await Self.signIn(service, "wrong \(number)").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.count { $0 == 401 } <= 5)
        #expect(statuses.allSatisfy { $0 == 401 || $0 == 429 })
        let held = try await Self.signIn(service)
        #expect(held.status == 429)
        #expect(held.json["code"]?.string == "rate_limited")
        #expect(held.first("retry-after") == held.first("ratelimit-reset"))
        #expect(held.first("ratelimit-limit") == "5")
        #expect(held.first("ratelimit-remaining") == "0")
        clock.advance(seconds: 900)
        #expect(try await Self.signIn(service).status == 201)
        #expect(try await Self.signIn(service, "wrong").status == 401)
    }

    @Test func `an unknown account is held back as a known one is`() async throws {
        let (service, _) = try await Self.make()
        for email in [Self.email, "nobody@example.com"] {
            var statuses: [Int] = []
            for _ in 0..<6 {
                statuses.append(try await Self.signIn(service, "wrong", email: email).status)
            }
            #expect(statuses == [401, 401, 401, 401, 401, 429])
        }
    }

    @Test func `failed sign-ins in another browser do not lock the owner out`() async throws {
        let (service, _) = try await Self.make()
        #expect(try await Self.signIn(service).status == 201)
        for _ in 0..<6 { _ = try await Self.signIn(service, "wrong", from: "198.51.100.7") }
        #expect(try await Self.signIn(service, from: "198.51.100.8").status == 429)
        #expect(try await Self.signIn(service).status == 201)
    }

    @Test func `an address that tries one account after another is held back`() async throws {
        let (service, _) = try await Self.make()
        for number in 0..<50 {
            let answer = try await Self.signIn(service, "wrong", email: "p\(number)@ex.com")
            #expect(answer.status == 401)
        }
        #expect(try await Self.signIn(service).status == 429)
        #expect(try await Self.signIn(service, from: "192.0.2.2").status == 201)
    }

    @Test func `an IPv6 network is held back like one address`() async throws {
        let (service, _) = try await Self.make()
        for number in 1...50 {
            let answer = try await Self.signIn(
                service, "wrong", email: "p\(number)@ex.com", from: "2001:db8:0:7::\(number)")
            #expect(answer.status == 401)
        }
        #expect(
            try await Self.signIn(service, "wrong", from: "2001:DB8:0:7:1:2:3:4").status == 429)
        #expect(try await Self.signIn(service, from: "2001:db8:0:8::1").status == 201)
    }

    @Test func `a clock that is ahead or behind does not restart a minute's counter`()
        async throws
    {
        let (service, clock) = try await Self.make()
        clock.startMinute()
        let storage = service.storage
        #expect(try await storage.count("x") == 1)
        clock.advance(seconds: 90)
        _ = try await storage.count("x")
        clock.advance(seconds: -90)
        #expect(try await storage.count("x") == 2)
        #expect(try await storage.counted("x") == 2)
        clock.advance(seconds: 90)
        #expect(try await storage.count("x") == 3)
        // A clock that was far ahead holds nobody up for longer.
        clock.advance(seconds: 3600)
        #expect(try await storage.count("x") == 1)
        clock.advance(seconds: -3600)
        #expect(try await storage.count("x") == 1)
    }

    @Test func `an operator of a suspended tenant sees the reason and may sign out`() async throws {
        let (service, _) = try await Self.make(tenant: true)
        let before = try await Self.signIn(service)
        let pair = before.first("set-cookie")?.split(separator: ";").first ?? ""
        let token = String(pair.split(separator: "=").last ?? "")
        let suspended = try await service.send(
            .post, "/v1/tenants/acme/suspend", as: .platformOwner)
        #expect(suspended.status == 200)
        let refused = try await Self.signIn(service)
        #expect(refused.status == 403)
        #expect(refused.json["code"]?.string == "tenant_suspended")
        #expect(refused.first("set-cookie") == nil)
        #expect(try await Self.signIn(service, "wrong").status == 401)
        #expect(
            try await service.send(.get, "/v1/session", as: .session(token)).status == 403)
        let left = try await service.send(.delete, "/v1/session", as: .session(token))
        #expect(left.status == 204)
        #expect(
            try await service.send(.get, "/v1/session", as: .session(token)).status == 401)
    }
}
