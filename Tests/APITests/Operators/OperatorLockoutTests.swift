import API
import Cryptography
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Claims of an operator's address, and tries at its rows, do not keep its owner out.
@Suite(.cleansUp) struct OperatorLockoutTests {
    private static let email = "ceo@victim.example"
    private static let password = "the victim's own password"
    private static let other = "the squatter's own password"
    private static let home = "192.0.2.1"

    private struct Fixture {
        let service: TestService
        let acme: TenantRow

        /// An operator with a password; a tenant's own owner makes rows that are not confirmed.
        func make(
            _ password: String, as who: TestService.Credential, tenant: TenantRow? = nil
        ) async throws -> UUID {
            let scope =
                tenant.map { #","scope":{"tenant_id":"\#($0.id)"}"# }
                ?? #","scope":\#(who.scope)"#
            let made = try await service.send(
                .post, "/v1/operators",
                json:
                    #"{"email":"\#(OperatorLockoutTests.email)","role":"admin","delivery":"link"\#(scope)}"#,
                as: who)
            #expect(made.status == 201, "\(made.text)")
            let id = try #require(UUID(made.json["id"]?.string ?? ""))
            let hash = try await service.composition.application.passwords.hash(
                Array(password.utf8))
            _ = try await service.storage.app.query(
                "UPDATE operators SET password_hash = \(hash) WHERE id = \(id)")
            return id
        }

        func signIn(
            _ password: String, in tenant: String? = nil, from address: String
        ) async throws -> TestAnswer {
            let more = tenant.map { #","tenant":"\#($0)""# } ?? ""
            return try await service.send(
                .post, "/v1/session",
                json:
                    #"{"email":"\#(OperatorLockoutTests.email)","password":"\#(password)"\#(more)}"#,
                fields: [OperatorFixture.device(address)], from: address)
        }

        /// Wrong tries from addresses of their own, with and without the tenant.
        func guess(_ count: Int, in tenant: String, round: Int) async throws {
            for number in 0..<count {
                let from = "198.51.\(round).\(number)"
                _ = try await signIn("wrong", from: from)
                _ = try await signIn("wrong", in: tenant, from: from)
            }
        }
    }

    /// With the tenants `acme` and `evil`.
    private static func make(
        _ clock: TestClock = TestClock()
    ) async throws -> (Fixture, evil: TenantRow) {
        let (service, acme) = try await TestService.makeWithTenant(clock: clock)
        return (Fixture(service: service, acme: acme), try await service.makeTenant("evil"))
    }

    @Test func `an operator below a tenant signs in as often as they like beside another claim`()
        async throws
    {
        let (fixture, evil) = try await Self.make()
        _ = try await fixture.make(Self.other, as: .tenantAdmin(evil))
        let id = try await fixture.make(Self.password, as: .tenantAdmin(fixture.acme))
        for number in 0..<10 {
            let answer = try await fixture.signIn(Self.password, in: "acme", from: Self.home)
            #expect(answer.status == 201, "\(number): \(answer.text)")
            #expect(answer.json["operator"]?["id"]?.string == id.description)
        }
    }

    @Test func `strangers' tries lock strangers out, and a known browser stays open`() async throws
    {
        let (fixture, evil) = try await Self.make()
        _ = try await fixture.make(Self.other, as: .tenantAdmin(evil))
        _ = try await fixture.make(Self.password, as: .tenantAdmin(fixture.acme))
        for round in 0..<10 {
            let answer = try await fixture.signIn(Self.password, in: "acme", from: Self.home)
            #expect(answer.status == 201, "\(round): \(answer.text)")
            try await fixture.guess(3, in: "acme", round: round)
        }
        // The right password in a new browser has to wait, and the response says so.
        let elsewhere = try await fixture.signIn(Self.password, in: "acme", from: "203.0.113.9")
        #expect(elsewhere.status == 429 && elsewhere.first("retry-after") != nil)
        #expect(try await fixture.signIn(Self.password, from: Self.home).status == 429)
    }

    @Test func `tries at the named row hold the confirmed row's operator back as little`()
        async throws
    {
        let (fixture, evil) = try await Self.make()
        _ = try await fixture.make(Self.other, as: .tenantAdmin(evil))
        let id = try await fixture.make(Self.password, as: .platformOwner)
        for round in 0..<10 {
            let answer = try await fixture.signIn(Self.password, in: "evil", from: Self.home)
            #expect(answer.json["operator"]?["id"]?.string == id.description, "\(answer.text)")
            // What is right for one row is no failure of the other.
            let claim = try await fixture.signIn(
                Self.other, in: "evil", from: "203.0.113.\(round)")
            #expect(claim.status == 201, "\(round): \(claim.text)")
        }
        for _ in 0..<10 {
            let answer = try await fixture.signIn(Self.password, in: "evil", from: Self.home)
            #expect(answer.status == 201)
        }
        #expect(
            try await fixture.signIn(Self.other, in: "evil", from: "203.0.113.99").status == 201)
        try await fixture.guess(10, in: "evil", round: 1)
        #expect(
            try await fixture.signIn(Self.password, in: "evil", from: Self.home).status == 201)
    }

    @Test func `a confirmed operator's browser is known with the tenant and without it`()
        async throws
    {
        for first in [nil, "acme"] {
            let (fixture, _) = try await Self.make()
            _ = try await fixture.make(Self.password, as: .platformOwner, tenant: fixture.acme)
            #expect(
                try await fixture.signIn(Self.password, in: first, from: Self.home).status == 201)
            try await fixture.guess(10, in: "acme", round: 1)
            for tenant in [nil, "acme"] {
                let answer = try await fixture.signIn(Self.password, in: tenant, from: Self.home)
                #expect(answer.status == 201, "\(tenant ?? "-"): \(answer.text)")
            }
        }
    }

    @Test func `another claim's sign-ins by links do not push out the browsers of the owner`()
        async throws
    {
        let clock = TestClock()
        let (fixture, evil) = try await Self.make(clock)
        let squatter = try await fixture.make(Self.other, as: .tenantAdmin(evil))
        _ = try await fixture.make(Self.password, as: .platformOwner, tenant: fixture.acme)
        #expect(try await fixture.signIn(Self.password, from: Self.home).status == 201)
        for number in 0..<25 {
            clock.advance(seconds: 1)
            let token = TokenSecret.make()
            try await fixture.service.storage.storeOperatorLink(
                TokenSecret.hash(token) ?? [], for: squatter, seconds: 60)
            let linked = try await fixture.service.send(
                .post, "/v1/session", json: #"{"token":"\#(token)"}"#,
                fields: [OperatorFixture.device("squatter \(number)")], from: "203.0.113.\(number)")
            #expect(linked.status == 201, "\(linked.text)")
        }
        try await fixture.guess(10, in: "evil", round: 1)
        #expect(try await fixture.signIn(Self.password, from: Self.home).status == 201)
    }
}
