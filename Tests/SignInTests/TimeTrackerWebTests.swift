import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// The web page: this server is where the provider sends the browser back to.
@Suite(.cleansUp) struct TimeTrackerWebTests {
    private static let app = "https://time.acme.example"

    private func begin(
        _ fixture: TimeTrackerFixture, email: String = TimeTrackerFixture.address
    ) async throws -> (state: String, cookie: String) {
        let answer = try await fixture.login("")
        let asked = TimeTrackerFixture.query(of: answer)
        #expect(asked.first("redirect_uri") == TimeTrackerFixture.webCallback)
        let state = try #require(asked.first("state"))
        let cookie = answer.first("set-cookie") ?? ""
        let pair = String(cookie.prefix { $0 != ";" })
        #expect(pair.hasPrefix("timetracker_state=\(state)."))
        #expect(cookie.hasPrefix("\(pair); Max-Age=600; Path=/t/acme/timetracker;"))
        #expect(cookie.hasSuffix("; HttpOnly; SameSite=Lax"))
        fixture.grant(asked, email: email)
        return (state, String(pair.dropFirst("timetracker_state=".count)))
    }

    private func end(
        _ fixture: TimeTrackerFixture, _ query: String, cookie: String?
    ) async throws -> TestAnswer {
        try await fixture.send(
            .get, "/auth/callback?\(query)",
            fields: cookie.map { [Field("cookie", "a=b; timetracker_state=\($0)")] } ?? [])
    }

    @Test func `T6 the browser comes back with a session of its own`() async throws {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"app_url":"\#(Self.app)/"}"#)
        try await fixture.invite()
        let (state, cookie) = try await begin(fixture)
        let back = try await end(fixture, "code=c&state=\(state)", cookie: cookie)
        expectEmpty(back, 302)
        #expect(back.first("location") == "\(Self.app)/auth/callback?success=true")
        #expect(back.first("cache-control") == "no-store")
        let cookies = back.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies.count == 2)
        #expect(cookies[0].hasPrefix("timetracker_session="))
        #expect(cookies[0].contains("; Max-Age=3600; Path=/t/acme/timetracker; "))
        #expect(cookies[0].hasSuffix("; HttpOnly; SameSite=Lax"))
        #expect(cookies[1].hasPrefix("timetracker_state=; "))
        let session = Field("cookie", String(cookies[0].prefix { $0 != ";" }))
        let me = try await fixture.send(.get, "/auth/me", fields: [session])
        #expect(me.status == 200 && me.json["username"]?.string == "johndoe")
        // A page of another site, without an origin that is allowed, does not act with it.
        let crossSite = try await fixture.service.send(
            .get, "\(TimeTrackerFixture.mount)/auth/me",
            fields: [session, Field("sec-fetch-site", "cross-site")])
        #expect(crossSite.status == 403)
        let out = try await fixture.send(.post, "/auth/logout", fields: [session])
        #expect(out.first("set-cookie")?.hasPrefix("timetracker_session=; ") == true)
        #expect(try await fixture.send(.get, "/auth/me", fields: [session]).status == 401)
    }

    @Test func `T6 a browser that did not begin is 400, and its state stays for the one that did`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"app_url":"\#(Self.app)"}"#)
        try await fixture.invite()
        let (state, own) = try await begin(fixture)
        for cookie in [nil, "", "another", state] {
            expectOnlyError(
                try await end(fixture, "code=c&state=\(state)", cookie: cookie), 400,
                "Invalid session")
        }
        expectOnlyError(try await end(fixture, "code=c", cookie: own), 400, "Invalid session")
        let done = try await end(fixture, "code=c&state=\(state)", cookie: own)
        #expect(done.first("location")?.hasSuffix("?success=true") == true)
    }

    @Test func `T6 the redirect back works only with the browser's cookie`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"app_url":"\#(Self.app)"}"#)
        try await fixture.invite()
        let (state, cookie) = try await begin(fixture)
        for redirect in [TimeTrackerFixture.webCallback, TimeTrackerFixture.redirect, ""] {
            expectOnlyError(
                try await fixture.exchange(state, redirect: redirect), 400,
                "OIDC session not found or expired. Initiate login again.")
        }
        let forged = try await end(fixture, "code=c&state=\(state)", cookie: state + ".x")
        #expect(forged.first("location")?.hasSuffix("?error=authentication_failed") == true)
        #expect(forged.first("set-cookie")?.hasPrefix("timetracker_session") == false)
        let done = try await end(fixture, "code=c&state=\(state)", cookie: cookie)
        #expect(done.first("location")?.hasSuffix("?success=true") == true)
    }

    @Test func `T6 a sign-in that no browser began does not end in one`() async throws {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"app_url":"\#(Self.app)"}"#)
        try await fixture.invite()
        let asked = try await fixture.begin("?redirect_uri=\(TimeTrackerFixture.webCallback)")
        fixture.grant(asked)
        let state = asked.first("state") ?? ""
        let back = try await end(fixture, "code=c&state=\(state)", cookie: state + ".")
        #expect(back.first("location")?.hasSuffix("?error=authentication_failed") == true)
    }

    @Test func `T6 whatever goes wrong sends the browser back with one text and no session`()
        async throws
    {
        let fixture = try await TimeTrackerFixture.make(settings: #"{"app_url":"\#(Self.app)"}"#)
        let failed = "\(Self.app)/auth/callback?error=authentication_failed"
        func check(_ query: String, _ begun: (state: String, cookie: String)) async throws {
            let back = try await end(
                fixture, "\(query)state=\(begun.state)", cookie: begun.cookie)
            #expect(back.status == 302 && back.first("location") == failed, "\(query)")
            #expect(back.first("set-cookie")?.hasPrefix("timetracker_state=; ") == true)
        }
        try await check("error=access_denied&", try await begin(fixture))
        try await check("code=a&code=b&", try await begin(fixture))
        try await check("code=c&", try await begin(fixture, email: "stranger@other.example"))
        try await check("code=c&iss=https%3A%2F%2Fevil.example&", try await begin(fixture))
        let used = try await begin(fixture)
        fixture.provider.set("/token", .init(status: 500, "no"))
        try await check("code=c&", used)
        try await check("code=c&", used)
        // The app's own sign-in does not end here, nor this one at the app's door.
        let native = try await fixture.begin()
        fixture.grant(native)
        let nativeState = native.first("state") ?? ""
        try await check("code=c&", (nativeState, nativeState + "."))
        expectOnlyError(
            try await fixture.exchange(try await begin(fixture).state), 400,
            "OIDC session not found or expired. Initiate login again.")
    }
}
