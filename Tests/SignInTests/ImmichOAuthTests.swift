import Cryptography
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Sign-in at a provider of our own, as the mobile app drives it: the app holds the verifier.
@Suite(.cleansUp) struct ImmichOAuthTests {
    private typealias Fixture = ImmichOAuthFixture
    private static let verifier = Fixture.verifier
    private static let challenge = Fixture.challenge
    private static let redirect = Fixture.redirect

    @Test func `I7 I9 an invited person signs in, with state, nonce and the app's own challenge`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        let asked = try await fixture.begin("state-000001")
        #expect(asked.first("client_id") == "web" && asked.first("state") == "state-000001")
        #expect(asked.first("redirect_uri") == Self.redirect)
        #expect(asked.first("code_challenge") == Self.challenge)
        #expect(asked.first("code_challenge_method") == "S256")
        #expect(asked.first("scope") == "openid profile email")
        fixture.grant(asked.first("nonce") ?? "")
        let answer = try await fixture.end("state-000001")
        let token = answer.json["accessToken"]?.string ?? ""
        let id = answer.json["userId"]?.string ?? ""
        expectRandomUUID(.string(id))
        expectAnswer(
            answer,
            #"{"accessToken":"\#(token)","userId":"\#(id)","userEmail":"new@acme.example","#
                + #""name":"Ann","isAdmin":false,"shouldChangePassword":false,"#
                + #""profileImagePath":"","isOnboarded":true}"#, status: 201)
        expectCookies(answer, token: token, type: "oauth")
        expectAnswer(
            try await fixture.base.send(.get, "/api/users/me", token: token),
            try await fixture.base.wholeUser(of: id, oauth: "new@acme.example"))
        // A state is good once.
        expectError(try await fixture.end("state-000001"), 400, "OAuth authentication failed")
        // The same person again is the same user.
        let again = try await fixture.begin("state-000002")
        fixture.grant(again.first("nonce") ?? "")
        let second = try await fixture.end("state-000002")
        #expect(second.json["userId"] == answer.json["userId"])
    }

    @Test func `I8 the older apps' address comes back too, and the newer's is led on to`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        let older = "immich://oauth-callback"
        let asked = try await fixture.begin(
            "state-older", redirect: "&redirect_uri=immich%3A%2F%2Foauth-callback")
        #expect(asked.first("redirect_uri") == older)
        fixture.grant(asked.first("nonce") ?? "")
        let done = try await fixture.end("state-older", at: older)
        #expect(done.status == 201, "\(done.text)")
        let form = FormText(fixture.provider.lastBody(of: "/token"))
        #expect(form.first("redirect_uri") == older && form.first("code") == "c0de")
        #expect(form.first("code_verifier") == Self.verifier)
        for query in ["?code=a&state=b%20c&iss=x", ""] {
            let back = try await fixture.base.send(.get, "/api/oauth/mobile-redirect\(query)")
            expectEmpty(back, 307)
            #expect(back.first("location") == "app.immich:///oauth-callback\(query)")
        }
    }

    @Test
    func `I7 I9 the newer app posts its challenge, and its state is held against the answer's`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        for (sent, status) in [("another-state", 400), ("state-posted", 201)] {
            let begun = try await fixture.base.send(
                .post, "/api/oauth/authorize",
                #"{"redirectUri":"\#(Self.redirect)","state":"state-posted","#
                    + #""codeChallenge":"\#(Self.challenge)"}"#)
            expectAnswer(begun, #"{"url":"\#(begun.json["url"]?.string ?? "")"}"#, status: 201)
            let asked = FormText(
                String((begun.json["url"]?.string ?? "").drop { $0 != "?" }.dropFirst()))
            #expect(asked.first("state") == "state-posted")
            #expect(asked.first("code_challenge") == Self.challenge)
            let cookies = begun.response.fields.filter { $0.name == "set-cookie" }
            #expect(cookies.count == 1)
            #expect(cookies.first?.value.hasPrefix("immich_oauth_state=state-posted; ") == true)
            fixture.grant(asked.first("nonce") ?? "")
            let done = try await fixture.base.send(
                .post, "/api/oauth/callback",
                #"{"url":"\#(Self.redirect)?code=c0de&state=state-posted","#
                    + #""state":"\#(sent)","codeVerifier":"\#(Self.verifier)"}"#)
            if status == 400 {
                expectError(done, 400, "OAuth authentication failed")
                // Nothing was used up: the right one may still come.
                let path = "/api/oauth/callback"
                let right = try await fixture.base.send(
                    .post, path,
                    #"{"url":"\#(Self.redirect)?code=c0de&state=state-posted","#
                        + #""codeVerifier":"\#(Self.verifier)"}"#)
                #expect(right.status == 201, "\(right.text)")
            } else {
                #expect(done.status == 201, "\(done.text)")
            }
        }
    }

    @Test func `I7 I9 a sign-in that began ten minutes ago is over`() async throws {
        let clock = TestClock()
        let fixture = try await Fixture.make(clock: clock)
        try await fixture.invite("new@acme.example")
        for (state, seconds) in [("state-in-time", Int64(599)), ("state-late", 600)] {
            let asked = try await fixture.begin(state)
            clock.advance(seconds: seconds)
            fixture.grant(asked.first("nonce") ?? "", at: clock.now)
            let answer = try await fixture.end(state)
            if seconds == 600 {
                expectError(answer, 400, "OAuth authentication failed")
            } else {
                #expect(answer.status == 201, "\(answer.text)")
            }
        }
    }

    @Test func `I7 a call that begins no sign-in gets its error, the missing provider first`()
        async throws
    {
        let disabled = try await ImmichFixture.make()
        let path = "/api/oauth/authorize"
        let refused: [(HTTP.Method, String, String?)] = [
            (.get, path, nil), (.get, "\(path)?code_challenge_method=plain", nil),
            (.post, path, "{}"), (.post, path, "["),
            (.post, path, #"{"redirectUri":"https://evil.example"}"#),
            (.post, "/api/oauth/callback", "["), (.post, "/api/oauth/callback", "{}"),
            (.post, "/api/oauth/callback", #"{"url":"x?state=s&code=c"}"#),
        ]
        for (method, path, body) in refused {
            expectError(try await disabled.send(method, path, body), 400, "OAuth is not enabled")
        }
        let fixture = try await Fixture.make()
        let plain = "code_challenge_method must be S256"
        let redirect = "The redirect address is not registered for this client."
        let texts: [(HTTP.Method, String, String?, String)] = [
            (.get, "?code_challenge_method=plain", nil, plain),
            (.get, "?code_challenge_method=S256", nil, "OAuth code verifier is missing"),
            (
                .get, "?code_challenge=\(Self.challenge)&redirect_uri=https%3A%2F%2Fevil.example",
                nil, redirect
            ),
            (
                .get, "?code_challenge=short", nil,
                "The code challenge must be the S256 of the verifier, in base64url (RFC 7636)."
            ),
            (
                .get, "?code_challenge=\(Self.challenge)&state=short", nil,
                "The state must have from 8 to 512 bytes."
            ),
            (.post, "", "{}", "redirectUri must be a string"),
            (.post, "", #"{"redirectUri":""}"#, "redirectUri should not be empty"),
            (.post, "", #"{"redirectUri":"https://evil.example/"}"#, redirect),
            (.post, "", #"{"redirectUri":"app.immich:///oauth-callback/"}"#, redirect),
        ]
        for (method, query, body, text) in texts {
            expectError(try await fixture.base.send(method, path + query, body), 400, text)
        }
        try await ImmichFixture.set(
            fixture.base.service, fixture.base.tenant, #"{"compat":"v2"}"#)
        let string = "Invalid input: expected string, received"
        for (path, body, told) in [
            (path, "{}", "[redirectUri] \(string) undefined"),
            (path, #"{"redirectUri":null}"#, "[redirectUri] \(string) null"),
            ("/api/oauth/callback", "{}", "[url] \(string) undefined"),
            ("/api/oauth/callback", #"{"url":7}"#, "[url] \(string) number"),
            (
                "/api/oauth/callback", #"{"url":""}"#,
                "[url] Too small: expected string to have >=1 characters"
            ),
        ] {
            let answer = try await fixture.base.send(.post, path, body)
            #expect(answer.status == 400)
            #expect(answer.json["message"]?.array?.map(\.string) == [told], "\(answer.text)")
        }
    }

    @Test func `I9 what does not fit is refused with one text, and the state is used up`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        let failed = "OAuth authentication failed"
        expectError(try await fixture.end("never-begun"), 400, failed)
        let wrong = String(Self.verifier.reversed())
        fixture.grant(try await fixture.begin("state-verifier").first("nonce") ?? "")
        expectError(try await fixture.end("state-verifier", wrong), 400, failed)
        expectError(try await fixture.end("state-verifier"), 400, failed)
        fixture.grant(try await fixture.begin("state-missing").first("nonce") ?? "")
        expectError(
            try await fixture.end("state-missing", nil), 400, "OAuth state is missing")
        let named = #"{"url":"\#(Self.redirect)?code=c&state=state-named","state":"state-named"}"#
        expectError(
            try await fixture.base.send(.post, "/api/oauth/callback", named), 400,
            "OAuth code verifier is missing")
        _ = try await fixture.begin("state-nonce")
        fixture.grant("another nonce")
        expectError(try await fixture.end("state-nonce"), 400, failed)
        fixture.grant(try await fixture.begin("state-mixup").first("nonce") ?? "")
        expectError(
            try await fixture.end("state-mixup", query: "&iss=https%3A%2F%2Fevil.example"), 400,
            failed)
        _ = try await fixture.begin("state-error")
        expectError(
            try await fixture.end("state-error", query: "&error=access_denied"), 400, failed)
        _ = try await fixture.begin("state-code")
        fixture.provider.set("/token", .init(status: 400, #"{"error":"invalid_grant"}"#))
        expectError(try await fixture.end("state-code"), 400, failed)
        _ = try await fixture.begin("state-away")
        fixture.provider.set("/token", .init(status: 500, "no"))
        expectError(try await fixture.end("state-away"), 503, failed)
        let noState = try await fixture.base.send(
            .post, "/api/oauth/callback", #"{"url":"app.immich:///oauth-callback?code=c"}"#)
        expectError(noState, 400, "OAuth state is missing")
        expectError(
            try await fixture.base.send(.post, "/api/oauth/callback", "{}"), 400,
            "url must be a string")
    }

    @Test func `I9 a person without invite, with another's address or without address is refused`()
        async throws
    {
        let fixture = try await Fixture.make()
        fixture.grant(
            try await fixture.begin("state-stranger").first("nonce") ?? "",
            email: "stranger@other.example")
        expectError(
            try await fixture.end("state-stranger"), 400, "OAuth authentication failed")
        // Ann has a password: her provider's identity is not linked by the address alone.
        fixture.grant(
            try await fixture.begin("state-link").first("nonce") ?? "", email: "ann@acme.example")
        expectError(try await fixture.end("state-link"), 400, "OAuth authentication failed")
        let nonce = try await fixture.begin("state-empty").first("nonce") ?? ""
        let token = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
            ["nonce": "\"\(nonce)\"", "email": nil])
        fixture.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        expectError(
            try await fixture.end("state-empty"), 400,
            "OAuth profile does not have an email address")
        let decisions = try await fixture.base.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        #expect(decisions.json["items"]?.array?.count == 3)
    }

    @Test func `I7 I9 the web page leaves the verifier to the server and is bound by its cookie`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        let body = #"{"redirectUri":"\#(Self.redirect)"}"#
        let begun = try await fixture.base.send(.post, "/api/oauth/authorize", body)
        expectAnswer(begun, #"{"url":"\#(begun.json["url"]?.string ?? "")"}"#, status: 201)
        let query = FormText(
            String((begun.json["url"]?.string ?? "").drop { $0 != "?" }.dropFirst()))
        let state = try #require(query.first("state"))
        let cookies = begun.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies.count == 2)
        for (cookie, start) in zip(
            cookies, ["immich_oauth_state=\(state)", "immich_oauth_code_verifier="])
        {
            #expect(cookie.hasPrefix(start))
            #expect(cookie.contains("; Max-Age=600; Path=/t/acme/immich; Expires="))
            #expect(cookie.hasSuffix(" GMT; HttpOnly; SameSite=Lax"))
        }
        fixture.grant(query.first("nonce") ?? "")
        let url = "{\"url\":\"\(Self.redirect)?code=c&state=\(state)\"}"
        // A person who saw the redirect back, and so the state, does not have the other cookie.
        for (cookie, text) in [
            ("", "OAuth code verifier is missing"),
            ("; immich_oauth_code_verifier=", "OAuth code verifier is missing"),
            ("; immich_oauth_code_verifier=x", "OAuth authentication failed"),
        ] {
            let forged = try await fixture.base.send(
                .post, "/api/oauth/callback", url,
                fields: [Field("cookie", "immich_oauth_state=\(state)\(cookie)")])
            expectError(forged, 400, text)
        }
        let both = cookies.map { String($0.prefix { $0 != ";" }) }.joined(separator: "; ")
        let done = try await fixture.base.send(
            .post, "/api/oauth/callback", url, fields: [Field("cookie", both)])
        #expect(done.status == 201, "\(done.text)")
        let other = try await fixture.base.send(.post, "/api/oauth/authorize", body)
        let second = FormText(
            String((other.json["url"]?.string ?? "").drop { $0 != "?" }.dropFirst()))
        let unbound = try await fixture.base.send(
            .post, "/api/oauth/callback",
            "{\"url\":\"\(Self.redirect)?code=c&state=\(second.first("state") ?? "")\"}")
        expectError(unbound, 400, "OAuth state is missing")
    }
}
