import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Ending all sessions of a person also ends what a provider gave them before.
@Suite(.cleansUp) struct SignedOutTokenTests {
    @Test func `W4 a token from before the person was signed out everywhere is over`() async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let token = try await fixture.join("ann@acme.example")
        let path = "/api/auth/me"
        let me = try await fixture.send(.get, path, token: token)
        let id = try #require(me.json["userId"]?.string)
        let ended = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(id)/sessions", as: .platformOwner)
        #expect(ended.status == 204)
        for path in [path, "/api/auth/enrollment/auto-link"] {
            let method: HTTP.Method = path.hasSuffix("me") ? .get : .post
            expectOnlyError(
                try await fixture.send(method, path, token: token), 401, "Unauthorized")
        }
        let soon = Int64(fixture.service.storage.clock().microseconds / 1_000_000 + 5)
        let newer = fixture.token("ann@acme.example", ["auth_time": "\(soon)"])
        #expect(try await fixture.send(.get, path, token: newer).json["userId"]?.string == id)
    }

    /// Ends all sessions of the user; the second from which on tokens are refused.
    private func signOutEverywhere(
        _ user: String?, _ service: TestService, _ clock: TestClock
    ) async throws -> Int64 {
        clock.advance(seconds: 100)
        let ended = try await service.send(
            .delete, "/v1/tenants/acme/users/\(user ?? "")/sessions", as: .platformOwner)
        #expect(ended.status == 204, "\(ended.text)")
        let cut = clock.now.microseconds / 1_000_000
        clock.advance(seconds: 5)
        return cut
    }

    @Test func `R4 an access token that the provider gave before is refused without a body`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await RelateFixture.make(clock: clock)
        func profile(_ times: String, _ token: String) async throws -> TestAnswer {
            fixture.provider.set(
                "/introspect",
                .init(#"{"active":true,"sub":"ann-1","client_id":"mail"\#(times)}"#))
            return try await fixture.send(.get, "/api/profile", as: "Bearer \(token)")
        }
        let first = try await profile("", "one")
        #expect(first.status == 200, "\(first.text)")
        let cut = try await signOutEverywhere(
            first.json["id"]?.string, fixture.service, clock)
        // One that does not say when it was given may be from before.
        for (number, times) in [
            "", #","iat":\#(cut)"#, #","iat":\#(cut + 2),"auth_time":\#(cut)"#,
        ].enumerated() {
            expectBare401(try await profile(times, "old-\(number)"))
        }
        expectBare401(try await profile("", "one"))
        let newer = try await profile(#","iat":\#(cut + 1)"#, "new")
        #expect(newer.json["id"] == first.json["id"], "\(newer.text)")
    }

    @Test func `D1 an id token from before the sign-out is refused like an invalid one`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        func exchange(_ claims: [String: String?]) async throws -> TestAnswer {
            try await fixture.exchange(
                "google", #"{"id_token":"\#(fixture.googleToken(claims))","device_id":"d"}"#)
        }
        let first = try await exchange([:])
        let user = first.json["user"]?["id"]?.string
        let own = first.json["app_jwt"]?.string
        let cut = try await signOutEverywhere(user, fixture.service, fixture.clock)
        for claims in [
            ["iat": "\(cut)"], ["iat": "\(cut + 2)", "auth_time": "\(cut)"],
        ] as [[String: String?]] {
            expectOnlyError(try await exchange(claims), 401, "Token exchange failed")
        }
        expectOnlyError(
            try await fixture.send(.get, "/api/user/status", token: own), 401,
            "Authentication required")
        let newer = try await exchange(["iat": "\(cut + 1)"])
        #expect(newer.json["user"]?["id"]?.string == user, "\(newer.text)")
    }

    @Test func `I9 a provider sign-in from before the sign-out gives no session`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichOAuthFixture.make(clock: clock)
        try await fixture.invite("new@acme.example")
        func signIn(
            _ state: String, _ times: [String: String?] = [:], isAnew: Bool = false
        ) async throws -> TestAnswer {
            let asked = try await fixture.begin(state)
            #expect(asked.first("max_age") == (isAnew ? "0" : nil))
            fixture.provider.grant(asked, "new@acme.example", times, at: clock.now)
            return try await fixture.end(state)
        }
        let first = try await signIn("state-first")
        #expect(first.status == 201, "\(first.text)")
        let user = first.json["userId"]?.string
        let cut = try await signOutEverywhere(user, fixture.base.service, clock)
        let token = first.json["accessToken"]?.string
        expectError(
            try await fixture.base.send(.get, "/api/users/me", token: token), 401,
            "Invalid user token")
        // The app caught the redirect: its next sign-in asks anew, and that once.
        let old = ["auth_time": "\(cut - 61)"]
        expectError(try await signIn("state-before", old), 401, "Invalid user token")
        expectError(try await signIn("state-again", old, isAnew: true), 401, "Invalid user token")
        expectError(try await signIn("state-third", old), 401, "Invalid user token")
        let newer = try await signIn(
            "state-after", ["auth_time": "\(cut - 60)"], isAnew: true)
        #expect(newer.status == 201 && newer.json["userId"]?.string == user, "\(newer.text)")
    }

    @Test func `T3 T4 a sign-in from before is 400, and the session that it had is over`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await TimeTrackerFixture.make(clock: clock)
        try await fixture.invite()
        func signIn(
            _ times: [String: String?] = [:], before exchange: () async throws -> Void = {}
        ) async throws -> TestAnswer {
            let asked = try await fixture.begin()
            try await exchange()
            fixture.provider.grant(asked, TimeTrackerFixture.address, times, at: clock.now)
            return try await fixture.exchange(asked.first("state") ?? "")
        }
        let first = try await signIn()
        #expect(first.status == 200, "\(first.text)")
        let user = first.json["user"]?["id"]?.string
        let cut = try await signOutEverywhere(user, fixture.service, clock)
        let over = "The session has ended; sign in again."
        expectOnlyError(
            try await fixture.send(
                .get, "/auth/me", token: first.json["access_token"]?.string), 401, over)
        let ended =
            "Failed to exchange token: every session of the account was ended since; sign in again."
        expectOnlyError(try await signIn(["auth_time": "\(cut - 61)"]), 400, ended)
        let newer = try await signIn(["auth_time": "\(cut - 60)"])
        #expect(newer.json["user"]?["id"]?.string == user, "\(newer.text)")
        // What counts is when it was begun here, and not the clock of the provider.
        expectOnlyError(
            try await signIn(before: {
                _ = try await signOutEverywhere(user, fixture.service, clock)
            }), 400, ended)
        for behind in [0, -59] {
            let out = try await fixture.service.send(
                .delete, "/v1/tenants/acme/users/\(user ?? "")/sessions", as: .platformOwner)
            #expect(out.status == 204)
            let now = clock.now.microseconds / 1_000_000
            let soon = try await signIn(["iat": "\(now + Int64(behind))"])
            #expect(soon.status == 200, "\(soon.text)")
        }
    }

    @Test func `T6 the web page's sign-in is sent back once, to be asked anew`() async throws {
        let clock = TestClock()
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://time.acme.example"}"#, clock: clock)
        try await fixture.invite()
        func comeBack(
            _ begun: TestAnswer, _ times: [String: String?] = [:]
        ) async throws -> TestAnswer {
            fixture.provider.grant(
                TimeTrackerFixture.query(of: begun), TimeTrackerFixture.address, times,
                at: clock.now)
            return try await fixture.returnToPage(begun)
        }
        let first = try await comeBack(try await fixture.login(""))
        #expect(first.first("location")?.hasSuffix("?success=true") == true, "\(first.text)")
        let users = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let user = users.json["items"]?.array?.first?["id"]?.string
        let cut = try await signOutEverywhere(user, fixture.service, clock)
        let old = ["auth_time": "\(cut - 61)"]
        let sent = try await comeBack(try await fixture.login(""), old)
        #expect(TimeTrackerFixture.query(of: sent).first("max_age") == "0")
        let refused = try await comeBack(sent, old)
        #expect(refused.first("location")?.hasSuffix("?error=authentication_failed") == true)
        let again = try await comeBack(try await fixture.login(""), old)
        let done = try await comeBack(again, ["auth_time": "\(cut + 5)"])
        #expect(done.first("location")?.hasSuffix("?success=true") == true, "\(done.text)")
    }
}

extension TestProvider {
    /// Redeems any code for this person, whose sign-in began with that query.
    fileprivate func grant(
        _ asked: FormText, _ email: String, _ times: [String: String?], at now: Timestamp
    ) {
        let claims: [String: String?] = [
            "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"\(email)\"",
            "email_verified": "true", "sub": "\"\(email)\"", "name": "\"Ann\"",
        ]
        let token = mint(clientID: "web", now: now).token(claims.merging(times) { $1 })
        set("/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
    }
}
