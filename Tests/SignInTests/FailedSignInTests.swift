import HTTP
import JSON
import SignIn
import Storage
import TestSupport
import Testing
import Text

/// Why a sign-in failed before the rules were asked: the operator reads it, the stranger does not.
@Suite(.cleansUp) struct FailedSignInTests {
    private func list(_ fixture: TimeTrackerFixture, _ query: String = "") async throws
        -> TestAnswer
    {
        try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins\(query)", as: .tenantAdmin(fixture.tenant))
    }

    @Test func `the reason of each failure is found by its request, and the answer keeps it`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://time.acme.example"}"#, logger: log.logger)
        try await fixture.invite()
        func failed(_ answer: TestAnswer) async throws -> JSONValue {
            let id = answer.first("x-request-id") ?? ""
            let found = try await list(fixture, "?request_id=\(id)")
            #expect(found.json["items"]?.array?.count == 1, "\(found.text)")
            return found.json["items"]?.array?.first ?? .null
        }
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "x@acme.example")
        let token = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock())
            .token(["nonce": "\"another\""])
        fixture.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        let nonce = try await fixture.exchange(asked.first("state") ?? "")
        #expect(nonce.status == 400 && !nonce.text.contains("nonce"), "\(nonce.text)")
        let line = try await failed(nonce)
        #expect(line["reason"]?.string == "id token: nonce_mismatch")
        #expect(line["client"]?.string == "timetracker")
        #expect(line["operation"]?.string == "POST /auth/token")
        #expect(line["ip"]?.string == "127.0.0.1")
        let unknown = try await fixture.exchange("never-begun")
        #expect(try await failed(unknown)["reason"]?.string == "state_unknown")
        let foreign = try await fixture.login("?redirect_uri=https://evil.example/")
        #expect(try await failed(foreign)["reason"]?.string == "redirect_not_registered")
        let again = try await fixture.begin()
        fixture.provider.set("/token", .init(status: 502, "{}"))
        let away = try await fixture.exchange(again.first("state") ?? "")
        #expect(
            try await failed(away)["reason"]?.string
                == "provider_away: \(fixture.provider.issuer)/token: status 502")
        // The web page's way, whose answer is a redirect.
        let begun = try await fixture.login("")
        fixture.provider.set("/token", .init(status: 400, #"{"error":"invalid_grant"}"#))
        let back = try await fixture.returnToPage(begun)
        #expect(try await failed(back)["reason"]?.string == "token endpoint: invalid_grant")
        // Each stands in the log too, which `dev` shows at the level of its notices.
        #expect(log.lines.count { $0.contains(#""level":"notice""#) } >= 4, "\(log.text)")
        let all = try await list(fixture)
        #expect(all.json["items"]?.array?.count == 5, "\(all.text)")
        #expect(try await list(fixture, "?client=immich").json["items"]?.array?.isEmpty == true)
    }

    @Test func `what the rules refuse leaves a decision, and a wrong password leaves nothing here`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make()
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "stranger@else.example")
        let refused = try await fixture.exchange(asked.first("state") ?? "")
        #expect(refused.status == 403, "\(refused.text)")
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/immich", #"{"enabled":true}"#)
        _ = try await fixture.service.send(
            .post, "/t/acme/immich/api/auth/login", json: #"{"email":"a@b.example","password":"x"}"#
        )
        #expect(try await list(fixture).json["items"]?.array?.isEmpty == true)
    }

    @Test func `a minute's log lines of callers without a credential have a limit`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await TimeTrackerFixture.make(clock: clock)
        for number in 0..<(FailedSignIn.mostInAMinute + 5) {
            #expect(try await fixture.exchange("never-begun-\(number)").status == 400)
        }
        let all = try await list(fixture, "?limit=100")
        #expect(all.json["items"]?.array?.count == FailedSignIn.mostInAMinute)
        clock.advance(seconds: 60)
        _ = try await fixture.exchange("never-begun")
        #expect(
            try await list(fixture, "?limit=100").json["items"]?.array?.count
                == FailedSignIn.mostInAMinute + 1)
        // Another tenant's operators see nothing of it.
        let other = try await fixture.service.makeTenant("other")
        let foreign = try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins", as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }
}
