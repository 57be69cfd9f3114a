import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing
import Text

/// People who hold a join link and sign in at a provider, from its page on.
@Suite(.cleansUp) struct JoinLinkPageTests {
    private static let app = "https://app.example/welcome?from=gatehouse"

    /// A tenant whose client has the app's address, and a link's id and token.
    private func link(
        _ fixture: HostedFixture, _ body: String = "{}"
    ) async throws -> (id: String, token: String) {
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/immich",
            #"{"enabled":true,"redirect_uris":["\#(Self.app)"],"settings":{"provider":"oidc"}}"#)
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/acme/join-links", body)
        return (
            made["id"]?.string ?? "",
            made["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        )
    }

    /// From the page to the first provider and back.
    private func pass(
        _ fixture: HostedFixture, _ token: String, _ email: String
    ) async throws -> TestAnswer {
        let jar = HostedFixture.Jar()
        let begun = jar.take(
            try await fixture.service.send(
                .post, "/v1/join-links/sign-in",
                json: #"{"token":"\#(token)","provider":"\#(fixture.ids[0])"}"#,
                fields: HostedFixture.sameOrigin))
        #expect(begun.status == 200, "\(begun.text)")
        let location = begun.json["url"]?.string ?? ""
        #expect(!location.contains(token))
        let asked = FormText(String(location.drop { $0 != "?" }.dropFirst()))
        let proof = fixture.first.mint(clientID: "web", now: Timestamp.systemClock()).token([
            "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"\(email)\"",
            "email_verified": "true", "sub": "\"\(email)\"",
        ])
        fixture.first.set("/token", .init(#"{"id_token":"\#(proof)"}"#))
        return try await fixture.get(
            "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")", jar)
    }

    @Test func `a person joins and is led back to the app by a link, never by itself`() async throws
    {
        let fixture = try await HostedFixture()
        let (id, token) = try await link(fixture, #"{"return_to":"\#(Self.app)"}"#)
        let done = try await pass(fixture, token, "ann@example.com")
        expectHostedPage(done, 200, "You are signed up")
        #expect(done.text.contains(#"<a class="act" href="\#(Self.app)">Go to the app</a>"#))
        #expect(done.first("location") == nil && done.first("refresh") == nil)
        let users = try await fixture.users()
        #expect(users.map { $0["source"]?.string } == ["join_link"])
        #expect(users.first?["joined_by"]?["id"]?.string == id)
    }

    @Test func `an address that the clients no longer have leads nowhere`() async throws {
        let fixture = try await HostedFixture()
        let (_, token) = try await link(fixture, #"{"return_to":"\#(Self.app)"}"#)
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/immich",
            #"{"enabled":true,"redirect_uris":[],"settings":{"provider":"oidc"}}"#)
        let done = try await pass(fixture, token, "ann@example.com")
        expectHostedPage(done, 200, "You are signed up")
        #expect(!done.text.contains(Self.app))
    }

    @Test func `the page says why a link lets nobody in`() async throws {
        let fixture = try await HostedFixture()
        let (id, token) = try await link(fixture, #"{"max_uses":1}"#)
        expectHostedPage(try await pass(fixture, token, "ann@example.com"), 200, "signed up")
        let late = try await fixture.service.send(
            .post, "/v1/join-links/sign-in",
            json: #"{"token":"\#(token)","provider":"\#(fixture.ids[0])"}"#,
            fields: HostedFixture.sameOrigin)
        #expect(late.status == 404)
        #expect(late.json["code"]?.string == "join_unknown")
        let shown = try await fixture.service.send(
            .get, "/v1/tenants/acme/join-links/\(id)", as: .platformOwner)
        #expect(shown.json["status"]?.string == "used_up")
        // A link that ends between the page and the return.
        let (other, second) = try await link(fixture)
        let jar = HostedFixture.Jar()
        let begun = jar.take(
            try await fixture.service.send(
                .post, "/v1/join-links/sign-in",
                json: #"{"token":"\#(second)","provider":"\#(fixture.ids[0])"}"#,
                fields: HostedFixture.sameOrigin))
        let location = begun.json["url"]?.string ?? ""
        let asked = FormText(String(location.drop { $0 != "?" }.dropFirst()))
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/join-links/\(other)/revoke", "{}")
        let proof = fixture.first.mint(clientID: "web", now: Timestamp.systemClock()).token([
            "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"bob@example.com\"",
            "email_verified": "true", "sub": "\"bob\"",
        ])
        fixture.first.set("/token", .init(#"{"id_token":"\#(proof)"}"#))
        let refused = try await fixture.get(
            "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")", jar)
        expectHostedPage(refused, 409, "The link is no longer valid; ask for a new one.")
        // A page of another site begins nothing.
        let foreign = try await fixture.service.send(
            .post, "/v1/join-links/sign-in",
            json: #"{"token":"\#(second)","provider":"\#(fixture.ids[0])"}"#,
            fields: [Field("sec-fetch-site", "cross-site")])
        #expect(foreign.status == 404 || foreign.status == 403)
    }
}
