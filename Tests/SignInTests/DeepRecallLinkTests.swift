import HTTP
import JSON
import TestSupport
import Testing

/// `/api/profile/link/{provider}`: a second account for the same person.
@Suite(.cleansUp) struct DeepRecallLinkTests {
    private static let path = "/api/profile/link"

    private func github(_ fixture: DeepRecallFixture) async throws -> TestAnswer {
        try await fixture.exchange("github", #"{"access_token":"gho_1","device_id":"mobile-1-a"}"#)
    }

    @Test func `D8 a second account is linked, signs the same person in, and is taken away again`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        // Its address is another one, without an invite.
        #expect(try await github(fixture).status == 403)
        let linked = try await fixture.send(
            .post, "\(Self.path)/github", #"{"access_token":"gho_1"}"#, token: token)
        expectAnswer(
            linked,
            #"{"status":"linked","message":"github account linked successfully","#
                + #""identity":{"provider":"github","email":"octo@acme.example","#
                + #""displayName":"octo"}}"#)
        let again = try await fixture.send(
            .post, "\(Self.path)/github", #"{"access_token":"gho_1"}"#, token: token)
        expectAnswer(
            again, #"{"status":"already_linked","message":"This account is already linked"}"#)
        let other = try await github(fixture)
        #expect(other.status == 200, "\(other.text)")
        let user = try fixture.payload(token)["userId"]?.string
        #expect(other.json["user"]?["id"]?.string == user)
        let taken = try await fixture.send(.delete, "\(Self.path)/github", token: token)
        expectAnswer(taken, #"{"status":"unlinked","message":"github account unlinked"}"#)
        // What it had begun is over, and so is everything else.
        for ended in [token, other.json["app_jwt"]?.string ?? ""] {
            #expect(try await fixture.send(.get, "/api/profile", token: ended).status == 401)
        }
        #expect(try await github(fixture).status == 403)
    }

    @Test func `D8 the last account stays, and one that is not there is not taken`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        expectOnlyError(
            try await fixture.send(.delete, "\(Self.path)/google", token: token), 400,
            "Cannot unlink last identity")
        expectOnlyError(
            try await fixture.send(.delete, "\(Self.path)/apple", token: token), 400,
            "Invalid provider")
        _ = try await fixture.send(
            .post, "\(Self.path)/google",
            #"{"id_token":"\#(fixture.googleToken(["sub": "\"2\""]))"}"#, token: token)
        expectOnlyError(
            try await fixture.send(.delete, "\(Self.path)/github", token: token), 404,
            "Identity not found")
        // Both are Google's: without them nothing would be left.
        expectOnlyError(
            try await fixture.send(.delete, "\(Self.path)/google", token: token), 400,
            "Cannot unlink last identity")
        #expect(try await fixture.send(.get, "/api/profile", token: token).status == 200)
    }

    @Test func `D8 an account of another person's is 409 and does not tell whose`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        try await fixture.invite("octo@acme.example")
        let token = try await fixture.signInWithGoogle()
        #expect(try await github(fixture).status == 200)
        let taken = try await fixture.send(
            .post, "\(Self.path)/github", #"{"access_token":"gho_1"}"#, token: token)
        expectAnswer(
            taken, #"{"status":"conflict","message":"This account is linked to another user"}"#,
            status: 409)
    }

    @Test func `D8 only a signed-in person with a good token of a known provider links`()
        async throws
    {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        for (provider, body, status, error) in [
            ("apple", "{}", 400, "Invalid provider"),
            ("google", "{}", 400, "Missing id_token"),
            ("github", #"{"id_token":"x"}"#, 400, "Missing access_token"),
            ("google", #"{"id_token":"x.y.z"}"#, 401, "Token exchange failed"),
        ] {
            expectOnlyError(
                try await fixture.send(.post, "\(Self.path)/\(provider)", body, token: token),
                status, error)
        }
        fixture.provider.set("/gh/check", .init(status: 404, #"{"message":"Not Found"}"#))
        let foreign = try await fixture.send(
            .post, "\(Self.path)/github", #"{"access_token":"gho_2"}"#, token: token)
        #expect(foreign.status == 401)
        for method in [HTTP.Method.post, .delete] {
            expectOnlyError(
                try await fixture.send(method, "\(Self.path)/google", "{}"), 401,
                "Authentication required")
        }
    }

    @Test func `D8 a link grant replaces a session, once`() async throws {
        let fixture = try await DeepRecallFixture.make()
        try await fixture.invite("ann@acme.example")
        let token = try await fixture.signInWithGoogle()
        let user = try #require(try fixture.payload(token)["userId"]?.string)
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", "{}")
        let grant = try #require(made["token"]?.string)
        let body = #"{"access_token":"gho_1","link_grant":"\#(grant)"}"#
        let linked = try await fixture.send(.post, "\(Self.path)/github", body)
        #expect(linked.json["status"]?.string == "linked", "\(linked.text)")
        #expect(try await github(fixture).json["user"]?["id"]?.string == user)
        let again = try await fixture.send(.post, "\(Self.path)/github", body)
        #expect(again.json["status"]?.string == "already_linked", "\(again.text)")
        expectOnlyError(
            try await fixture.send(
                .post, "\(Self.path)/github",
                #"{"access_token":"gho_1","link_grant":"nonsense"}"#), 400,
            "The link grant is not valid, or is no longer valid")
    }
}
