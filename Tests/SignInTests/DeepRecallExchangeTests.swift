import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

/// `/api/auth/exchange/…`: the app brings a provider's token.
@Suite(.cleansUp) struct DeepRecallExchangeTests {
    @Test func `D1 a Google id token becomes an app token that says what the app reads`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let body =
            #"{"id_token":"\#(fixture.googleToken())","device_id":"\#(DeepRecallFixture.device)"}"#
        // The base address may end in a slash.
        let answer = try await fixture.send(.post, "//api/auth/exchange/google", body)
        #expect(answer.first("cache-control") == "no-store")
        let token = try #require(answer.json["app_jwt"]?.string)
        let id = try #require(answer.json["user"]?["id"]?.string)
        expectRandomUUID(.string(id))
        expectAnswer(
            answer,
            #"{"app_jwt":"\#(token)","actor_uid":"\#(id)","user":{"id":"\#(id)","#
                + #""provider":"google","email":"ann@acme.example","name":"Ann"}}"#)
        try await fixture.expectSigned(token, type: "at+jwt")
        let claims = try fixture.payload(token)
        #expect(claims["userId"]?.string == id && claims["provider"]?.string == "google")
        #expect(claims["email"]?.string == "ann@acme.example" && claims["name"]?.string == "Ann")
        #expect(claims["deviceId"]?.string == DeepRecallFixture.device)
        let (begun, end) = (claims["iat"]?.int ?? 0, claims["exp"]?.int ?? 0)
        #expect(end - begun == 21_600)
        let sessions = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(id)/sessions", as: .platformOwner)
        #expect(sessions.text.contains(DeepRecallFixture.device), "\(sessions.text)")
        // The same person once more, from another device, with the released app's kind of id.
        let again = try await fixture.exchange(
            "google",
            #"{"id_token":"\#(fixture.googleToken())","device_id":"mobile-1764000000000-k3j2"}"#)
        #expect(again.json["user"]?["id"]?.string == id)
        // The longest id of a device, of every character that it may have.
        let longest =
            String(decoding: (0x20...0x7E).map { UInt8($0) }, as: UTF8.self)
            + String(repeating: "d", count: 33)
        let last = try await fixture.exchange(
            "google",
            String(
                decoding: JSONValue.object([
                    .init("id_token", .string(fixture.googleToken())),
                    .init("device_id", .string(longest)),
                ]).encoded(), as: UTF8.self))
        #expect(last.status == 200 && longest.utf8.count == 128, "\(last.text)")
        let claimed = try fixture.payload(last.json["app_jwt"]?.string ?? "")
        #expect(claimed["deviceId"]?.string == longest)
    }

    @Test func `D1 how long a token lasts is a setting`() async throws {
        let fixture = try await DeepRecallFixture.make(settings: #"{"token_seconds":900}"#)
        try await fixture.invite("ann@acme.example")
        let claims = try fixture.payload(try await fixture.signInWithGoogle())
        #expect((claims["exp"]?.int ?? 0) - (claims["iat"]?.int ?? 0) == 900)
    }

    @Test func `D1 D2 an incomplete request gets an error that names what is missing`() async throws
    {
        let fixture = try await DeepRecallFixture.make()
        for (kind, name) in [("google", "id_token"), ("github", "access_token")] {
            for body in [
                "{}", #"{"\#(name)":"x"}"#, #"{"device_id":"d"}"#,
                #"{"\#(name)":"","device_id":"d"}"#, #"{"\#(name)":7,"device_id":"d"}"#,
            ] {
                expectOnlyError(
                    try await fixture.exchange(kind, body), 400, "Missing \(name) or device_id")
            }
            for device in [String(repeating: "d", count: 129), "é", "a\\u0007"] {
                expectOnlyError(
                    try await fixture.exchange(kind, #"{"\#(name)":"x","device_id":"\#(device)"}"#),
                    400, "Invalid device_id")
            }
            expectOnlyError(
                try await fixture.exchange(kind, "{"), 400,
                "The body cannot be read as JSON: a member name is expected at byte 1.")
        }
    }

    @Test func `D1 an id token that Google did not give our app is 401, whatever is wrong with it`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let now = fixture.clock.now.microseconds / 1_000_000
        let mint = fixture.provider.mint(clientID: "ios-app", now: fixture.clock.now)
        // The app's own nonce is not known here, so that no nonce can be wrong.
        let tokens =
            [
                fixture.googleToken(["aud": "\"another-app\""]),
                fixture.googleToken(["iss": "\"https://evil.example\""]),
                fixture.googleToken(["exp": "\(now - 3600)"]), fixture.googleToken(["sub": nil]),
                "garbage",
            ] + mint.hostile(ahead: 3600).filter { $0.fault != "nonce_mismatch" }.map(\.text)
        for token in tokens where !token.isEmpty {
            let body = JSONValue.object([
                .init("id_token", .string(token)), .init("device_id", .string("d")),
            ])
            let answer = try await fixture.exchange(
                "google", String(decoding: body.encoded(), as: UTF8.self))
            expectOnlyError(answer, 401, "Token exchange failed")
        }
    }

    @Test func `D1 a person without an invite is refused with a reference and no reason`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        let answer = try await fixture.exchange(
            "google", #"{"id_token":"\#(fixture.googleToken())","device_id":"d"}"#)
        #expect(answer.status == 403)
        #expect(answer.json.members?.count == 1)
        #expect(answer.json["error"]?.string?.contains("invite") == false, "\(answer.text)")
    }

    @Test func `D1 D2 a provider that is away is 503, and may be asked again`() async throws {
        let fixture = try await DeepRecallFixture.make()
        fixture.provider.set(TestProvider.discoveryPath, .init(status: 500, "no"))
        let google = try await fixture.exchange(
            "google", #"{"id_token":"\#(fixture.googleToken())","device_id":"d"}"#)
        expectOnlyError(google, 503, "Token exchange failed")
        #expect(google.first("retry-after") == "5")
        fixture.provider.set("/gh/check", .init(status: 502, "no"))
        expectOnlyError(
            try await fixture.exchange("github", #"{"access_token":"gho_1","device_id":"d"}"#), 503,
            "Token exchange failed")
    }

    @Test func `D1 D2 an internal fault is one text, and no 401`() async throws {
        let fixture = try await DeepRecallFixture.make()
        for email in ["ann@acme.example", "octo@acme.example"] { try await fixture.invite(email) }
        let database = fixture.service.database
        let owner = database.client(as: database.owner)
        _ = try await owner.query("REVOKE INSERT ON sessions FROM gatehouse_app")
        for (kind, token) in [
            ("google", #""id_token":"\#(fixture.googleToken())""#),
            ("github", #""access_token":"gho_1""#),
        ] {
            let answer = try await fixture.exchange(kind, "{\(token),\"device_id\":\"d\"}")
            expectOnlyError(answer, 500, "Token exchange failed")
        }
        // A tenant without a provider.
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/deeprecall",
            #"{"enabled":true,"settings":{"provider":"nobody"}}"#)
        let unset = try await fixture.exchange(
            "google", #"{"id_token":"\#(fixture.googleToken())","device_id":"d"}"#)
        expectOnlyError(unset, 500, "Token exchange failed")
    }

    @Test func `D1 D2 a provider that is not registered is no outage`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        let list = try await fixture.service.send(.get, "/v1/providers", as: .platformOwner)
        for one in list.json["items"]?.array ?? [] {
            let path = "/v1/providers/\(one["id"]?.string ?? "")"
            #expect(try await fixture.service.send(.delete, path, as: .platformOwner).status == 204)
        }
        for (kind, token) in [
            ("google", #""id_token":"\#(fixture.googleToken())""#),
            ("github", #""access_token":"gho_1""#),
        ] {
            let answer = try await fixture.exchange(kind, "{\(token),\"device_id\":\"d\"}")
            expectOnlyError(answer, 500, "Token exchange failed")
            #expect(answer.first("retry-after") == nil, "\(kind)")
        }
    }

    @Test func `D2 a GitHub token of our app signs its person in by the primary address`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("octo@acme.example")
        let body = #"{"access_token":"gho_1","device_id":"\#(DeepRecallFixture.device)"}"#
        let answer = try await fixture.exchange("github", body)
        let token = answer.json["app_jwt"]?.string ?? ""
        let id = answer.json["actor_uid"]?.string ?? ""
        expectAnswer(
            answer,
            #"{"app_jwt":"\#(token)","actor_uid":"\#(id)","user":{"id":"\#(id)","#
                + #""provider":"github","email":"octo@acme.example","name":"octo"}}"#)
        try await fixture.expectSigned(token, type: "at+jwt")
        let claims = try fixture.payload(token)
        #expect(claims["provider"]?.string == "github")
        // GitHub was asked whether the token is ours, before whose it is.
        #expect(fixture.provider.fetches(of: "/gh/check") == 1)
    }

    @Test func `D2 a GitHub token of another app, an unknown or a malformed one is 401`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("octo@acme.example")
        let text = "Invalid GitHub access token"
        let body = #"{"access_token":"gho_1","device_id":"d"}"#
        fixture.provider.set("/gh/check", .init(status: 404, #"{"message":"Not Found"}"#))
        expectOnlyError(try await fixture.exchange("github", body), 401, text)
        #expect(fixture.provider.fetches(of: "/gh/user") == 0)
        fixture.provider.set("/gh/check", .init(#"{"user":null}"#))
        expectOnlyError(try await fixture.exchange("github", body), 401, text)
        fixture.setGitHub()
        fixture.provider.set("/gh/user", .init(status: 401, #"{"message":"Bad credentials"}"#))
        expectOnlyError(try await fixture.exchange("github", body), 401, text)
        fixture.setGitHub()
        for token in ["a b", "a\\nb", String(repeating: "a", count: 513)] {
            expectOnlyError(
                try await fixture.exchange(
                    "github", #"{"access_token":"\#(token)","device_id":"d"}"#), 401, text)
        }
    }

    @Test func `D2 an address that GitHub has not verified is refused`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("octo@acme.example")
        fixture.provider.set(
            "/gh/user/emails",
            .init(#"[{"email":"octo@acme.example","primary":true,"verified":false}]"#))
        let answer = try await fixture.exchange(
            "github", #"{"access_token":"gho_1","device_id":"d"}"#)
        #expect(answer.status == 403, "\(answer.text)")
    }
}
