import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// The role of a row that an invite made and the role of that invite are one.
@Suite(.cleansUp) struct InviteRoleTests {
    private static let invites = "/v1/tenants/acme/invites"
    private static let users = "/v1/tenants/acme/users"

    private struct Fixture {
        var base: ProvisioningFixture
        var invite: String
        var user: String
        var token: String

        /// Ann is invited with this role, by the platform's owner unless a session is given.
        static func make(
            role: String, by who: TestService.Credential = .platformOwner,
            in base: ProvisioningFixture
        ) async throws -> Fixture {
            let made = try await base.service.send(
                .post, invites, json: #"{"email":"ann@ex.com","role":"\#(role)"}"#, as: who)
            #expect(made.status == 201, "\(made.text)")
            let users = try await base.service.send(
                .get, "\(users)?q=ann@ex.com", as: .platformOwner)
            return Fixture(
                base: base, invite: try #require(made.json["id"]?.string),
                user: try #require(users.json["items"]?.array?.first?["id"]?.string),
                token: try #require(made.json["token"]?.string))
        }

        func patch(
            _ path: String, _ json: String, as who: TestService.Credential = .platformOwner,
            fields: [Field] = []
        ) async throws -> TestAnswer {
            try await base.service.send(.patch, path, json: json, as: who, fields: fields)
        }

        /// Of the invite, of the row, and of the row after the sign-in.
        func roles() async throws -> [String?] {
            let invite = try await base.service.send(
                .get, "\(InviteRoleTests.invites)/\(invite)", as: .platformOwner)
            let user = try await base.service.send(
                .get, "\(InviteRoleTests.users)/\(user)", as: .platformOwner)
            let signedIn = try await base.google("1", "ann@ex.com")
            #expect(signedIn.json["outcome"]?.string == "linked", "\(signedIn.text)")
            return [
                invite.json["role"]?.string, user.json["role"]?.string,
                signedIn.json["user"]?["role"]?.string,
            ]
        }
    }

    @Test(arguments: [("admin", "member"), ("member", "admin")])
    func `a change of the row's role is not undone by the sign-in`(
        from: String, to: String
    ) async throws {
        let base = try await ProvisioningFixture.make()
        let fixture = try await Fixture.make(role: from, in: base)
        let answer = try await fixture.patch(
            "\(Self.users)/\(fixture.user)", #"{"role":"\#(to)"}"#)
        #expect(answer.json["role"]?.string == to)
        #expect(try await fixture.roles() == [to, to, to])
        let actions = try await base.count(
            "audit_events WHERE tenant_id = \(base.tenant.id) AND action = 'invite.updated'")
        #expect(actions == 1)
    }

    @Test(arguments: [("admin", "member"), ("member", "manager")])
    func `a change of the invite's role is the row's too`(from: String, to: String) async throws {
        let base = try await ProvisioningFixture.make()
        let fixture = try await Fixture.make(role: from, in: base)
        let answer = try await fixture.patch(
            "\(Self.invites)/\(fixture.invite)", #"{"role":"\#(to)"}"#)
        #expect(answer.json["role"]?.string == to, "\(answer.text)")
        #expect(try await fixture.roles() == [to, to, to])
    }

    @Test func `the role is limited by the operator who last gave it, not by the inviter`()
        async throws
    {
        let base = try await ProvisioningFixture.make()
        let support = TestService.Credential.session(
            try await base.service.session(role: .support, tenant: base.tenant.id))
        let fixture = try await Fixture.make(role: "member", by: support, in: base)
        let wide = try await fixture.patch(
            "\(Self.invites)/\(fixture.invite)", #"{"role":"admin"}"#, as: support)
        #expect(wide.status == 403)
        let given = try await fixture.patch(
            "\(Self.users)/\(fixture.user)", #"{"role":"admin"}"#)
        #expect(given.status == 200, "\(given.text)")
        let lowered = try await fixture.patch(
            "\(Self.invites)/\(fixture.invite)", #"{"role":"member"}"#, as: support)
        #expect(lowered.status == 403)
        #expect(try await fixture.roles() == ["admin", "admin", "admin"])
    }

    @Test func `inviting again with another role is a conflict that names the invite`() async throws
    {
        let base = try await ProvisioningFixture.make()
        let fixture = try await Fixture.make(role: "admin", in: base)
        func again(_ more: String, as who: TestService.Credential = .platformOwner)
            async throws -> TestAnswer
        {
            try await base.service.send(
                .post, Self.invites, json: #"{"email":"ann@ex.com"\#(more)}"#, as: who)
        }
        let other = try await again(#","role":"member""#)
        #expect(other.status == 409 && other.json["code"]?.string == "conflict")
        #expect(other.json["conflicting_id"]?.string == fixture.invite)
        // Without a role, and with the same one, it is found.
        for more in ["", #","role":"admin""#] { #expect(try await again(more).status == 200) }
        let list = try await base.service.send(
            .post, Self.invites,
            json:
                #"{"invites":[{"email":"ann@ex.com","role":"member"},{"email":"bo@ex.com"}]}"#,
            as: .platformOwner)
        let results = list.json["results"]?.array ?? []
        #expect(results.map { $0["result"]?.string } == ["refused", "created"])
        #expect(results.first?["conflicting_id"]?.string == fixture.invite)
        let support = TestService.Credential.session(
            try await base.service.session(role: .support, tenant: base.tenant.id))
        let beyond = try await again(#","role":"member","resend":true"#, as: support)
        #expect(beyond.status == 403)
        let resent = try await again(#","role":"manager","resend":true"#)
        #expect(resent.status == 200 && resent.json["role"]?.string == "manager")
        #expect(try await fixture.roles() == ["manager", "manager", "manager"])
    }

    @Test func `a pending invite is edited, and no other`() async throws {
        let base = try await ProvisioningFixture.make()
        let fixture = try await Fixture.make(role: "member", in: base)
        let path = "\(Self.invites)/\(fixture.invite)"
        let before = try await base.service.send(.get, path, as: .platformOwner)
        let etag = try #require(before.first("etag"))
        // As it was read it changes nothing.
        let same = try await fixture.patch(path, before.text)
        #expect(same.status == 200 && same.first("etag") == etag, "\(same.text)")
        let edited = try await fixture.patch(
            path, #"{"message":"Welcome","expires_at":"2099-01-01T00:00:00Z"}"#)
        #expect(edited.status == 422)
        #expect(edited.json["errors"]?.array?.first?["pointer"]?.string == "/expires_at")
        let changed = try await fixture.patch(
            path, #"{"message":"Welcome"}"#, fields: [Field("if-match", etag)])
        #expect(changed.json["message"]?.string == "Welcome", "\(changed.text)")
        let stale = try await fixture.patch(
            path, #"{"message":null}"#, fields: [Field("if-match", etag)])
        #expect(stale.status == 412)
        #expect(try await fixture.patch(path, #"{"email":"x@ex.com"}"#).status == 422)
        // The token stays.
        let seen = try await base.service.send(
            .post, "/v1/invites/preview", json: #"{"token":"\#(fixture.token)"}"#)
        #expect(seen.status == 200)
        #expect(try await base.google("1", "ann@ex.com").json["outcome"]?.string == "linked")
        let late = try await fixture.patch(path, #"{"role":"admin"}"#)
        #expect(late.status == 409 && late.json["code"]?.string == "conflict")
    }

    @Test func `a change and a sign-in at once leave one role, and no mix`() async throws {
        let base = try await ProvisioningFixture.make()
        for round in 0..<6 {
            let email = "p\(round)@ex.com"
            let made = try await base.service.send(
                .post, Self.invites, json: #"{"email":"\#(email)","role":"admin"}"#,
                as: .platformOwner)
            let id = try #require(made.json["id"]?.string)
            async let patched = base.service.send(
                .patch, "\(Self.invites)/\(id)", json: #"{"role":"member"}"#,
                as: .platformOwner)
            async let signedIn = base.google("\(round)", email)
            let (change, person) = (try await patched, try await signedIn)
            let role = person.json["user"]?["role"]?.string
            switch change.status {
            case 200: #expect(role == "member")
            case 409: #expect(role == "admin")
            default: Issue.record("\(change.text)")
            }
        }
    }
}
