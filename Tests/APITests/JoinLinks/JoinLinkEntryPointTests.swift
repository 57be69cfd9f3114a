import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Every entry point takes a join link's token: one user comes of it, and one place is taken.
@Suite(.cleansUp) struct JoinLinkEntryPointTests {
    private static func metadata(_ token: String, as name: String = "clientMetadata") -> String {
        #","\#(name)":{"join_token":"\#(token)"}"#
    }

    private static func expectOne(
        _ fixture: ProvisioningFixture, _ link: String, _ email: String
    ) async throws {
        let user = "users WHERE email_key = \(email)" as SQL
        #expect(
            try await fixture.count(
                user + " AND source = 'join_link' AND status = 'active' AND role = 'member'") == 1)
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.uses(link) == 1)
        #expect(try await fixture.count("reservations") == 0)
    }

    @Test(arguments: [
        "/v1/hooks/pre-signup/cognito", "/2015-03-31/functions/pre-signup/invocations",
    ])
    func `an external event of a pool`(path: String) async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink()
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com",
            more: Self.metadata(token))
        for _ in 0..<3 {
            let answer = try await fixture.service.send(
                .post, path, json: event, as: .platformOwner)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.first("x-amz-function-error") == nil, "\(answer.text)")
        }
        try await Self.expectOne(fixture, id, "ann@ex.com")
    }

    @Test(arguments: ["clientMetadata", "validationData"])
    func `J6 a native sign-up is reserved, and takes its place when the pool has confirmed it`(
        member: String
    ) async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink()
        let event = ProvisioningFixture.event(
            "PreSignUp_SignUp", userName: "ann", email: "ann@ex.com", verified: "false",
            more: Self.metadata(token, as: member))
        for _ in 0..<2 { #expect(try await fixture.cognito(event).status == 200) }
        #expect(try await fixture.count("users") == 0)
        #expect(try await fixture.uses(id) == 0)
        #expect(try await fixture.decisions().first?["outcome"]?.string == "reserved")
        let confirmation = ProvisioningFixture.event(
            "PostConfirmation_ConfirmSignUp", userName: "ann", email: "ann@ex.com")
        for _ in 0..<2 {
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/post-confirmation/cognito", json: confirmation,
                as: .platformOwner)
            #expect(answer.status == 200)
        }
        try await Self.expectOne(fixture, id, "ann@ex.com")
    }

    @Test func `J6 a link that ended before the proof refuses what was reserved by it`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink(#"{"max_uses":1}"#)
        func confirm(_ name: String) async throws {
            _ = try await fixture.service.send(
                .post, "/v1/hooks/post-confirmation/cognito",
                json: ProvisioningFixture.event(
                    "PostConfirmation_ConfirmSignUp", userName: name, email: "\(name)@ex.com"),
                as: .platformOwner)
        }
        for name in ["ann", "bob"] {
            let event = ProvisioningFixture.event(
                "PreSignUp_SignUp", userName: name, email: "\(name)@ex.com", verified: "false",
                more: Self.metadata(token))
            #expect(try await fixture.cognito(event).status == 200)
        }
        try await confirm("bob")
        try await confirm("ann")
        #expect(try await fixture.decisions().first?["reason"]?.string == "join_used_up")
        #expect(try await fixture.count("users") == 1)
        #expect(try await fixture.uses(id) == 1)
    }

    @Test func `a refusal of a pool's event says nothing of the link`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink()
        try await fixture.revoke(id)
        let answer = try await fixture.cognito(
            ProvisioningFixture.event(
                "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com",
                more: Self.metadata(token)))
        #expect(answer.status == 403)
        #expect(answer.json["code"]?.string == "join_revoked")
        #expect(
            answer.json["detail"]?.string?.hasPrefix("Sign-up is not available for this account")
                == true)
    }

    @Test func `a provider's id token at the sign-in, with the same body once`() async throws {
        let fixture = try await PoolFixture.make()
        let made = try await fixture.manage(.post, "/v1/tenants/victim/join-links", "{}")
        let token = made["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        let proof = fixture.token("ann", sub: UUID.random().description, "ann@ex.com")
        let body = #"{"join_token":"\#(token)"}"#
        let stranger = try await fixture.signIn(proof, "{}")
        #expect(stranger.json["reason"]?.string == "no_tenant", "\(stranger.text)")
        let answers = [
            try await fixture.signIn(proof, body), try await fixture.signIn(proof, body),
        ]
        #expect(answers[0].json["outcome"]?.string == "created", "\(answers[0].text)")
        #expect(answers[0].text == answers[1].text)
        #expect(try await fixture.count("users WHERE source = 'join_link'") == 1)
        #expect(try await fixture.count("join_links WHERE uses = 1") == 1)
        let declined = try await fixture.signIn(
            proof, #"{"tenant":"victim","decline":true,"join_token":"\#(token)"}"#)
        #expect(declined.status == 422)
    }

    @Test func `P5 a stranger learns only that the link is invalid`() async throws {
        let fixture = try await PoolFixture.make()
        let made = try await fixture.manage(.post, "/v1/tenants/victim/join-links", "{}")
        let token = made["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        let proof = fixture.token("ann", sub: UUID.random().description, "ann@ex.com")
        try await fixture.manage(
            .post, "/v1/tenants/victim/join-links/\(made["id"]?.string ?? "")/revoke", "{}")
        let answer = try await fixture.signIn(proof, #"{"join_token":"\#(token)"}"#)
        #expect(answer.json["reason"]?.string == "join_revoked")
        #expect(answer.json["tenant"]?.isNull == true)
        #expect(answer.json["user"]?.isNull == true)
    }

    @Test func `the page's preview shows the tenant, uses nothing up, and its tries are limited`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(clock: { clock.now })
        let (id, token) = try await fixture.joinLink(#"{"domains":["ex.com"]}"#)
        func preview(_ token: String, _ address: String = "192.0.2.1") async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/join-links/preview", json: #"{"token":"\#(token)"}"#, from: address)
        }
        for _ in 0..<2 {
            let seen = try await preview(token)
            #expect(seen.status == 200, "\(seen.text)")
            #expect(seen.json["tenant"]?["name"]?.string == "Acme")
            #expect(seen.json["domains"] == .array([.string("ex.com")]))
        }
        #expect(try await fixture.uses(id) == 0)
        for _ in 0..<60 { #expect(try await preview("x").status == 404) }
        #expect(try await preview(token).status == 429)
        #expect(try await preview(token, "192.0.2.2").status == 200)
        try await fixture.revoke(id)
        let dead = try await preview(token, "192.0.2.2")
        #expect(dead.status == 404)
        #expect(dead.json["code"]?.string == "join_unknown")
    }
}
