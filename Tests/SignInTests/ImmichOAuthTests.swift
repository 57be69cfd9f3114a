import Cryptography
import HTTP
import JSON
import SignIn
import Storage
import TestSupport
import Testing
import Text

/// Sign-in at a provider of our own, as the mobile app drives it: the app holds the verifier.
struct ImmichOAuthTests {
    private static let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    private static let challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    private static let redirect = "app.immich:///oauth-callback"

    private struct Scene {
        let stage: ImmichStage
        let provider: TestProvider

        static func make(trust: String = "verified_claim") async throws -> Scene {
            let stage = try await ImmichStage.make()
            let provider = try await TestProvider.start()
            let made = try await stage.service.send(
                .post, "/v1/providers",
                json: #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","#
                    + #""client_id":"web","secret":"s3cret","email_trust":"\#(trust)"}"#,
                as: .platformOwner)
            #expect(made.status == 201, "\(made.text)")
            return Scene(stage: stage, provider: provider)
        }

        func stop() async {
            await provider.stop()
            await stage.service.stop()
        }

        func invite(_ email: String) async throws {
            let answer = try await stage.service.send(
                .post, "/v1/tenants/acme/invites", json: #"{"email":"\#(email)"}"#,
                as: .platformOwner)
            #expect(answer.status == 201, "\(answer.text)")
        }

        /// Begins and gives the query that the app would be sent to the provider with.
        func begin(_ state: String) async throws -> FormText {
            let path =
                "/api/oauth/authorize?code_challenge=\(challenge)&code_challenge_method=S256"
            let answer = try await stage.send(.get, "\(path)&state=\(state)")
            #expect(answer.status == 200, "\(answer.text)")
            let url = answer.json["url"]?.string ?? ""
            #expect(url.hasPrefix("\(provider.issuer)/authorize?response_type=code&"))
            return FormText(String(url.drop { $0 != "?" }.dropFirst()))
        }

        /// The provider will redeem any code for this person.
        func grant(_ nonce: String, email: String = "new@acme.example") {
            let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
                [
                    "nonce": "\"\(nonce)\"", "email": "\"\(email)\"", "email_verified": "true",
                    "sub": "\"\(email)\"",
                ])
            provider.set(
                "/token", .init(#"{"id_token":"\#(token)","access_token":"a"}"#))
        }

        func end(
            _ state: String, _ verifier: String? = ImmichOAuthTests.verifier, query: String = ""
        ) async throws -> TestAnswer {
            let url = "\(redirect)?code=c0de&state=\(state)\(query)"
            let proof = verifier.map { #","codeVerifier":"\#($0)""# } ?? ""
            return try await stage.send(
                .post, "/api/oauth/callback", #"{"url":"\#(url)"\#(proof)}"#,
                fields: ImmichStage.device)
        }
    }

    @Test func `an invited person signs in, with state, nonce and the app's own challenge`()
        async throws
    {
        let scene = try await Scene.make()
        try await scene.invite("new@acme.example")
        let asked = try await scene.begin("state-000001")
        #expect(asked.first("client_id") == "web" && asked.first("state") == "state-000001")
        #expect(asked.first("redirect_uri") == Self.redirect)
        #expect(asked.first("code_challenge") == Self.challenge)
        #expect(asked.first("code_challenge_method") == "S256")
        #expect(asked.first("scope") == "openid profile email")
        scene.grant(asked.first("nonce") ?? "")
        let answer = try await scene.end("state-000001")
        #expect(answer.status == 201, "\(answer.text)")
        #expect(answer.json["userEmail"]?.string == "new@acme.example")
        let cookies = answer.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies[1].hasPrefix("immich_auth_type=oauth;"))
        let token = answer.json["accessToken"]?.string
        let me = try await scene.stage.send(.get, "/api/users/me", token: token)
        #expect(me.json["oauthId"]?.string == "new@acme.example")
        // A state is good once.
        expectError(try await scene.end("state-000001"), 400, "OAuth authentication failed")
        // The same person again is the same user.
        let again = try await scene.begin("state-000002")
        scene.grant(again.first("nonce") ?? "")
        let second = try await scene.end("state-000002")
        #expect(second.json["userId"] == answer.json["userId"])
        await scene.stop()
    }

    @Test func `what does not fit is refused with one text, and the state is used up`()
        async throws
    {
        let scene = try await Scene.make()
        try await scene.invite("new@acme.example")
        let failed = "OAuth authentication failed"
        expectError(try await scene.end("never-begun"), 400, failed)
        let wrong = String(Self.verifier.reversed())
        scene.grant(try await scene.begin("state-verifier").first("nonce") ?? "")
        expectError(try await scene.end("state-verifier", wrong), 400, failed)
        expectError(try await scene.end("state-verifier"), 400, failed)
        scene.grant(try await scene.begin("state-missing").first("nonce") ?? "")
        expectError(
            try await scene.end("state-missing", nil), 400, "OAuth code verifier is missing")
        _ = try await scene.begin("state-nonce")
        scene.grant("another nonce")
        expectError(try await scene.end("state-nonce"), 400, failed)
        scene.grant(try await scene.begin("state-mixup").first("nonce") ?? "")
        expectError(
            try await scene.end("state-mixup", query: "&iss=https%3A%2F%2Fevil.example"), 400,
            failed)
        _ = try await scene.begin("state-error")
        expectError(try await scene.end("state-error", query: "&error=access_denied"), 400, failed)
        _ = try await scene.begin("state-code")
        scene.provider.set("/token", .init(status: 400, #"{"error":"invalid_grant"}"#))
        expectError(try await scene.end("state-code"), 400, failed)
        _ = try await scene.begin("state-away")
        scene.provider.set("/token", .init(status: 500, "no"))
        expectError(try await scene.end("state-away"), 503, failed)
        let noState = try await scene.stage.send(
            .post, "/api/oauth/callback", #"{"url":"app.immich:///oauth-callback?code=c"}"#)
        expectError(noState, 400, "OAuth state is missing")
        await scene.stop()
    }

    @Test func `nobody who is not invited, whose address is another's, or who has none`()
        async throws
    {
        let scene = try await Scene.make()
        scene.grant(
            try await scene.begin("state-stranger").first("nonce") ?? "",
            email: "stranger@other.example")
        expectError(
            try await scene.end("state-stranger"), 400, "OAuth authentication failed")
        // Ann has a password: her provider's identity is not linked by the address alone.
        scene.grant(
            try await scene.begin("state-link").first("nonce") ?? "", email: "ann@acme.example")
        expectError(try await scene.end("state-link"), 400, "OAuth authentication failed")
        let nonce = try await scene.begin("state-empty").first("nonce") ?? ""
        let token = scene.provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
            ["nonce": "\"\(nonce)\"", "email": nil])
        scene.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        expectError(
            try await scene.end("state-empty"), 400,
            "OAuth profile does not have an email address")
        let decisions = try await scene.stage.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: .platformOwner)
        #expect(decisions.json["items"]?.array?.count == 3)
        await scene.stop()
    }

    @Test func `the web page leaves the verifier to the server and is bound by its cookie`()
        async throws
    {
        let scene = try await Scene.make()
        try await scene.invite("new@acme.example")
        let body = #"{"redirectUri":"\#(Self.redirect)"}"#
        let begun = try await scene.stage.send(.post, "/api/oauth/authorize", body)
        #expect(begun.status == 201, "\(begun.text)")
        let query = FormText(
            String((begun.json["url"]?.string ?? "").drop { $0 != "?" }.dropFirst()))
        let state = try #require(query.first("state"))
        let cookies = begun.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
        #expect(cookies[0].hasPrefix("immich_oauth_state=\(state);"))
        #expect(cookies[1].hasPrefix("immich_oauth_code_verifier="))
        scene.grant(query.first("nonce") ?? "")
        let url = "{\"url\":\"\(Self.redirect)?code=c&state=\(state)\"}"
        // Whoever saw the way back, and so the state, does not have the other cookie.
        for cookie in ["", "; immich_oauth_code_verifier=x", "; immich_oauth_code_verifier="] {
            let forged = try await scene.stage.send(
                .post, "/api/oauth/callback", url,
                fields: [Field("cookie", "immich_oauth_state=\(state)\(cookie)")])
            expectError(forged, 400, "OAuth authentication failed")
        }
        let both = cookies.map { String($0.prefix { $0 != ";" }) }.joined(separator: "; ")
        let done = try await scene.stage.send(
            .post, "/api/oauth/callback", url, fields: [Field("cookie", both)])
        #expect(done.status == 201, "\(done.text)")
        let other = try await scene.stage.send(.post, "/api/oauth/authorize", body)
        let second = FormText(
            String((other.json["url"]?.string ?? "").drop { $0 != "?" }.dropFirst()))
        let unbound = try await scene.stage.send(
            .post, "/api/oauth/callback",
            "{\"url\":\"\(Self.redirect)?code=c&state=\(second.first("state") ?? "")\"}")
        expectError(unbound, 400, "OAuth state is missing")
        let foreign = try await scene.stage.send(
            .post, "/api/oauth/authorize", #"{"redirectUri":"https://evil.example/"}"#)
        #expect(foreign.status == 400)
        let back = try await scene.stage.send(.get, "/api/oauth/mobile-redirect?code=a&state=b")
        #expect(back.status == 307)
        #expect(back.first("location") == "app.immich:///oauth-callback?code=a&state=b")
        await scene.stop()
    }

    @Test func `without a provider there is no OAuth`() async throws {
        let stage = try await ImmichStage.make()
        for (method, path, body) in [
            (HTTP.Method.post, "authorize", #"{"redirectUri":"x"}"#),
            (.post, "callback", #"{"url":"x?state=s&code=c"}"#),
        ] {
            expectError(
                try await stage.send(method, "/api/oauth/\(path)", body), 400,
                "OAuth is not enabled")
        }
        await stage.service.stop()
    }
}
