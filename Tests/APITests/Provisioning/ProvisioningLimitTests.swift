import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Failed attempts are held back by the minute; successes are not.
@Suite(.cleansUp) struct ProvisioningLimitTests {
    @Test func `U17 after 30 failures in a minute an address gets no more reasons`() async throws {
        let clock = TestClock()
        clock.startMinute()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        func stranger(_ number: Int) async throws -> TestAnswer {
            try await fixture.google("s\(number)", "eve@ex.com")
        }
        for number in 0..<30 {
            #expect(try await stranger(number).json["reason"]?.string == "no_tenant")
        }
        // A retry is not counted, and answered as before.
        #expect(try await stranger(0).json["reason"]?.string == "no_tenant")
        let before = try await fixture.service.database.content()
        let held = try await stranger(30)
        #expect(held.status == 200)
        #expect(held.json["reason"]?.string == "rate_limited", "\(held.text)")
        #expect(held.json["decision_id"]?.string != nil)
        let once = try await fixture.service.database.content()
        #expect(once != before)
        for number in 31..<36 { #expect(try await stranger(number).bytes == held.bytes) }
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_s40", email: "eve@ex.com")
        let refused = try await fixture.cognito(event)
        #expect(refused.status == 403)
        #expect(refused.json["code"]?.string == "rate_limited")
        #expect(try await fixture.count("users") == 0)
        // Invited meanwhile, the person gets in at once; another address was never held back.
        try await fixture.invite("eve@ex.com")
        #expect(try await stranger(50).json["outcome"]?.string == "linked")
        let other = try await fixture.google("o", "other@ex.com")
        #expect(other.json["reason"]?.string == "no_tenant")
        clock.advance(seconds: 60)
        let later = try await fixture.google("s60", "eve@ex.com")
        #expect(later.json["reason"]?.string == "identity_link_required")
    }

    @Test func `the limits count what all replicas saw`() async throws {
        let clock = TestClock()
        clock.startMinute()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let replicas = [nil, try fixture.service.replica(), try fixture.service.replica()]
        func stranger(_ number: Int) async throws -> String? {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"google","subject":"s\#(number)","#
                    + #""email":"eve@ex.com","email_verified":true}"#,
                as: .platformOwner, to: replicas[number % 3]
            ).json["reason"]?.string
        }
        for number in 0..<30 { #expect(try await stranger(number) == "no_tenant") }
        for number in 30..<33 { #expect(try await stranger(number) == "rate_limited") }
        func preview(_ number: Int) async throws -> Int {
            try await fixture.service.send(
                .post, "/v1/invites/preview", json: #"{"token":"t\#(number)"}"#,
                from: "192.0.2.1", to: replicas[number % 3]
            ).status
        }
        for number in 0..<60 { #expect(try await preview(number) == 404) }
        for number in 60..<63 { #expect(try await preview(number) == 429) }
    }

    @Test func `one tenant's hook does not use up another's`() async throws {
        let clock = TestClock()
        clock.startMinute()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let other = try await fixture.service.makeTenant("other")
        _ = try await fixture.service.session(role: .owner, tenant: other.id)
        func attempt(_ number: Int, as who: TestService.Credential) async throws -> String? {
            try await fixture.service.send(
                .post, "/v1/hooks/pre-signup",
                json: #"{"provider":"google","subject":"\#(number)","#
                    + #""email":"p\#(number)@ex.com","email_verified":true}"#, as: who
            ).json["reason"]?.string
        }
        let reasons = try await withThrowingTaskGroup(of: String?.self) { group in
            var reasons: [String?] = []
            for number in 0..<605 {
                if number >= 12, let reason = try await group.next() { reasons.append(reason) }
                group.addTask { try await attempt(number, as: .tenantAdmin(other)) }
            }
            return try await group.reduce(into: reasons) { $0.append($1) }
        }
        #expect(reasons.count { $0 == "rate_limited" } == 5)
        #expect(try await attempt(1000, as: .tenantAdmin(fixture.tenant)) == "no_tenant")
    }

    @Test func `an address that tries wrong tokens is slowed down`() async throws {
        let clock = TestClock()
        clock.startMinute()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let token = try await fixture.invited("ann@ex.com")
        func preview(_ token: String, from address: String) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#, from: address)
        }
        for number in 0..<60 {
            #expect(try await preview("t\(number)", from: "192.0.2.1").status == 404)
        }
        let held = try await preview(token, from: "192.0.2.1")
        #expect(held.status == 429)
        #expect(held.first("ratelimit-limit") == "60")
        #expect(held.first("retry-after") == "60")
        #expect(try await preview(token, from: "192.0.2.2").status == 200)
        clock.advance(seconds: 60)
        #expect(try await preview(token, from: "192.0.2.1").status == 200)
    }
}
