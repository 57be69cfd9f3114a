import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// W6: a second sign-in by a link grant.
@Suite(.cleansUp) struct ThinkWorkEnrollmentTests {
    private static let path = "/api/auth/enrollment/consume"

    private static func body(_ token: String, challenge: String) -> String {
        #"{"startToken":"\#(token)","recipientChallenge":"\#(challenge)","#
            + #""redirectUri":"thinkwork://auth/callback"}"#
    }

    @Test func `W6 a link grant adds the pool's sign-in once, and each refusal has its outcome`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let first = try await fixture.join("ann@acme.example")
        let bob = try await fixture.join("bob@acme.example")
        let me = try await fixture.send(.get, "/api/auth/me", token: first)
        let user = try #require(me.json["userId"]?.string)
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(fixture.tenant))
        let token = try #require(made.json["token"]?.string, "\(made.text)")
        let challenge = try #require(made.json["challenge"]?.string, "\(made.text)")
        #expect(challenge.count == 8 && challenge.allSatisfy(\.isNumber))
        let other = challenge == "12345678" ? "87654321" : "12345678"
        let second = fixture.token("ann.private@mail.example")
        for (json, outcome) in [
            (Self.body("nonsense", challenge: challenge), "invalid_grant"),
            (Self.body(token, challenge: "1234567a"), "invalid_challenge"),
            // The link alone, with which a stranger's sign-in would be added, is not enough.
            (Self.body(token, challenge: other), "invalid_challenge"),
        ] {
            expectAnswer(
                try await fixture.send(.post, Self.path, json, token: second),
                #"{"outcome":"\#(outcome)"}"#, status: 400)
        }
        expectOnlyError(
            try await fixture.send(.post, Self.path, "{}", token: second), 400,
            "Invalid enrollment request")
        expectAnswer(
            try await fixture.send(
                .post, Self.path, Self.body(token, challenge: challenge), token: bob),
            #"{"outcome":"identity_conflict"}"#, status: 409)
        for _ in 0..<2 {
            expectAnswer(
                try await fixture.send(
                    .post, Self.path, Self.body(token, challenge: challenge), token: second),
                #"{"outcome":"consumed"}"#)
        }
        let linked = try await fixture.send(.get, "/api/auth/me", token: second)
        #expect(linked.json["userId"]?.string == user, "\(linked.text)")
        expectAnswer(
            try await fixture.send(
                .post, Self.path, Self.body(token, challenge: challenge),
                token: fixture.token("third@mail.example")),
            #"{"outcome":"already_consumed"}"#, status: 400)
        #expect(
            try await fixture.send(.post, Self.path, Self.body(token, challenge: challenge)).status
                == 401)
    }

    @Test func `W6 the page of a grant names the account and shows the challenge`() async throws {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let first = try await fixture.join("ann@acme.example")
        let me = try await fixture.send(.get, "/api/auth/me", token: first)
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(me.json["userId"]?.string ?? "")/link-grants",
            as: .tenantAdmin(fixture.tenant))
        let page = try await fixture.service.send(
            .get, "/t/acme/sign-in",
            fields: [Field("cookie", "gatehouse_grant=\(made.json["token"]?.string ?? "")")])
        #expect(page.text.contains("a…@acme.example") && !page.text.contains("ann@acme.example"))
        #expect(page.text.contains(": \(made.json["challenge"]?.string ?? "?")."), "\(page.text)")
    }

    @Test func `an operator cannot use his own grant for his address, and the audit records it`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        try await fixture.addPool()
        let first = try await fixture.join("ann@acme.example")
        let me = try await fixture.send(.get, "/api/auth/me", token: first)
        let user = try #require(me.json["userId"]?.string)
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", as: .tenantAdmin(fixture.tenant))
        let token = try #require(made.json["token"]?.string)
        let challenge = made.json["challenge"]?.string ?? ""
        let own = "owner-\(fixture.tenant.id)@operators.example"
        expectAnswer(
            try await fixture.send(
                .post, Self.path, Self.body(token, challenge: challenge), token: fixture.token(own)),
            #"{"outcome":"invalid_grant"}"#, status: 400)
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=link_grant.refused", as: .platformOwner)
        #expect(events.json["items"]?.array?.count == 1, "\(events.text)")
    }
}
