import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Sign-ins that an operator linked or unlinked, at the wire and in the database.
@Suite(.cleansUp) struct HandLinkTests {
    private static let users = "/v1/tenants/acme/users"

    private static func user(
        _ fixture: ProvisioningFixture, _ email: String, role: String = "member"
    ) async throws -> String {
        let made = try await fixture.service.manage(
            .post, users, #"{"email":"\#(email)","role":"\#(role)"}"#)
        return made["id"]?.string ?? ""
    }

    private static func link(
        _ fixture: ProvisioningFixture, _ user: String, _ subject: String,
        as credential: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "\(users)/\(user)/identities",
            json: #"{"provider":"google","issuer":"https://accounts.google.com","#
                + #""subject":"\#(subject)"}"#, as: credential)
    }

    @Test func `a sign-in linked by hand to a prepared row gets in without an address`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com", role: "manager")
        let linked = try await Self.link(fixture, user, "7")
        #expect(linked.status == 201, "\(linked.text)")
        #expect(linked.json["linked_by"]?["type"]?.string == "operator")
        let answer = try await fixture.hook(#"{"provider":"google","subject":"7"}"#)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        let row = answer.json["user"]
        #expect(row?["id"]?.string == user)
        #expect(row?["status"]?.string == "active")
        #expect(row?["role"]?.string == "manager")
        #expect(row?["email_verified_at"]?.isNull == true)
        let again = try await fixture.hook(
            #"{"provider":"google","subject":"7","event_id":"2"}"#)
        #expect(again.json["outcome"]?.string == "existing", "\(again.text)")
        #expect(try await fixture.count("identities") == 1)
    }

    @Test func `a hand link proves no address, not even the row's own`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com")
        _ = try await Self.link(fixture, user, "7")
        let answer = try await fixture.google("7", "ann@ex.com", verified: false)
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["user"]?["id"]?.string == user)
        #expect(answer.json["user"]?["email_verified_at"]?.isNull == true, "\(answer.text)")
    }

    @Test func `a tenant's operator can admit by hand only when that tenant is requested`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com")
        let linked = try await Self.link(
            fixture, user, "7", as: .tenantAdmin(fixture.tenant))
        #expect(linked.status == 201, "\(linked.text)")
        let elsewhere = try await fixture.google("7", "x@stranger.example")
        #expect(elsewhere.json["reason"]?.string == "no_tenant", "\(elsewhere.text)")
        let asked = try await fixture.google(
            "7", "x@stranger.example", verified: false, more: #","tenant":"acme""#)
        #expect(asked.json["outcome"]?.string == "linked", "\(asked.text)")
    }

    @Test func `another account with the row's address does not wipe the operator's link`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com")
        _ = try await Self.link(fixture, user, "7")
        let first = try await fixture.google("8", "ann@ex.com")
        #expect(first.json["outcome"]?.string == "linked", "\(first.text)")
        #expect(try await fixture.count("identities") == 2)
        let second = try await fixture.google("7", "ann@ex.com")
        #expect(second.json["user"]?["id"]?.string == user, "\(second.text)")
        #expect(second.json["outcome"]?.string == "existing")
    }

    @Test func `a suspended row stays refused though its sign-in was linked by hand`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com")
        _ = try await Self.link(fixture, user, "7")
        try await fixture.service.manage(.post, "\(Self.users)/\(user)/suspend", "{}")
        let answer = try await fixture.google("7", "ann@ex.com", more: #","tenant":"acme""#)
        #expect(answer.json["reason"]?.string == "user_suspended", "\(answer.text)")
    }

    @Test func `a sign-in unlinked by an operator is refused until a new invite or a link by hand`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(
            policy: #"{"sign_up":"open"}"#, clock: { clock.now })
        _ = try await Self.user(fixture, "ann@ex.com")
        let first = try await fixture.google("7", "ann@ex.com", more: #","tenant":"acme""#)
        let user = first.json["user"]?["id"]?.string ?? ""
        let identity = first.json["identity_id"]?.string ?? ""
        clock.advance(seconds: 60)
        let path = "\(Self.users)/\(user)/identities/\(identity)"
        #expect(try await fixture.service.send(.delete, path, as: .platformOwner).status == 204)
        for more in ["", #","tenant":"acme""#] {
            let out = try await fixture.google("7", "ann@ex.com", more: more)
            #expect(out.json["reason"]?.string == "identity_link_required", "\(out.text)")
        }
        // With another address the open tenant would take anybody else.
        let other = try await fixture.google("7", "bob@ex.com", more: #","tenant":"acme""#)
        #expect(other.json["reason"]?.string == "identity_link_required", "\(other.text)")
        clock.advance(seconds: 60)
        _ = try await fixture.invited("bob@ex.com")
        let back = try await fixture.google("7", "bob@ex.com")
        #expect(back.json["outcome"]?.string == "linked", "\(back.text)")
        #expect(try await fixture.count("barred_identities") == 0)
    }

    @Test func `the bar ends with a hand link and with the user's purge`() async throws {
        let fixture = try await ProvisioningFixture.make()
        for (number, ending) in ["link", "purge"].enumerated() {
            let email = "p\(number)@ex.com"
            let user = try await Self.user(fixture, email)
            let first = try await fixture.google("s\(number)", email)
            let identity = first.json["identity_id"]?.string ?? ""
            let path = "\(Self.users)/\(user)"
            _ = try await fixture.service.send(
                .delete, "\(path)/identities/\(identity)", as: .platformOwner)
            #expect(try await fixture.count("barred_identities") == 1)
            if ending == "link" {
                _ = try await Self.link(fixture, user, "s\(number)")
            } else {
                let asked = try await fixture.service.send(
                    .delete, path + "?purge=true", as: .platformOwner)
                let confirm = asked.json["confirm"]?.string ?? ""
                _ = try await fixture.service.send(
                    .delete, path + "?purge=true&confirm=\(confirm)", as: .platformOwner)
            }
            #expect(try await fixture.count("barred_identities") == 0)
        }
    }

    @Test func `a user who unlinks his own sign-in may link it again`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let user = try await Self.user(fixture, "ann@ex.com")
        _ = try await fixture.google("1", "ann@ex.com")
        let second = try await Self.link(fixture, user, "2")
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys",
            #"{"name":"own","scopes":["users:write","users:read"],"#
                + #""owner":{"type":"user","id":"\#(user)"}}"#)
        let key = made["key"]?.string ?? ""
        let gone = try await fixture.service.send(
            .delete,
            "\(Self.users)/\(user)/identities/\(second.json["id"]?.string ?? "")",
            as: .bearer(key))
        #expect(gone.status == 204, "\(gone.text)")
        #expect(try await fixture.count("barred_identities") == 0)
    }

    @Test func `an operator links no sign-in to an account above his role`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let admin = try await Self.user(fixture, "boss@ex.com", role: "admin")
        let made = try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys",
            #"{"name":"k","scopes":["users:write","invites:write","api-keys:write","hooks:signup"],"#
                + #""owner":{"type":"user","id":"\#(admin)"}}"#)
        _ = try await fixture.google("1", "boss@ex.com")
        let key = made["key"]?.string ?? ""
        let linked = try await Self.link(fixture, admin, "2", as: .bearer(key))
        #expect(linked.status == 201, "\(linked.text)")
        try await fixture.service.manage(
            .patch, "\(Self.users)/\(admin)", #"{"role":"manager"}"#)
        let other = try await Self.user(fixture, "other@ex.com", role: "admin")
        let refused = try await Self.link(fixture, other, "3", as: .bearer(key))
        #expect(refused.status == 403, "\(refused.text)")
    }
}
