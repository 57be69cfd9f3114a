import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// People who bring a join link's token to the hooks.
@Suite(.cleansUp) struct JoiningByLinkTests {
    @Test func `J1 a person joins as a member, and the user and the trace name the link`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make(policy: #"{"default_role":"manager"}"#)
        let (id, token) = try await fixture.joinLink()
        let answer = try await fixture.join(token, "ann@ex.com")
        #expect(answer.json["outcome"]?.string == "created", "\(answer.text)")
        let user = answer.json["user"]
        #expect(user?["role"]?.string == "member")
        #expect(user?["status"]?.string == "active")
        let read = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(user?["id"]?.string ?? "")", as: .platformOwner)
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        for one in [read.json, list.json["items"]?.array?.first ?? .null] {
            #expect(one["source"]?.string == "join_link")
            #expect(
                one["joined_by"]
                    == .object([
                        .init("type", .string("join_link")), .init("id", .string(id)),
                    ]))
        }
        let decision = try #require(try await fixture.decisions().first)
        let text = String(decoding: decision.encoded(), as: UTF8.self)
        #expect(text.contains(#""id":"\#(id)","type":"join_link""#))
        for table in ["decisions", "audit_events", "provisioning_retries"] {
            #expect(
                try await fixture.count(
                    "\(raw: table) t WHERE position(\(token) IN t::text) > 0") == 0)
        }
        #expect(try await fixture.uses(id) == 1)
        let used = "audit_events WHERE action = 'join_link.used' AND target_id = \(id)" as SQL
        #expect(try await fixture.count(used) == 1)
    }

    @Test func `J7 a retry is the same answer, and one person takes one place`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink(#"{"max_uses":1}"#)
        var texts: Set<String> = []
        for _ in 0..<3 { texts.insert(try await fixture.join(token, "ann@ex.com").text) }
        #expect(texts.count == 1)
        #expect(try await fixture.uses(id) == 1)
        #expect(try await fixture.shown(id)["status"]?.string == "used_up")
        let late = try await fixture.join(token, "bob@ex.com")
        #expect(late.json["reason"]?.string == "join_used_up")
        // With another link the same event is another attempt; the person is known by then.
        let (other, second) = try await fixture.joinLink()
        #expect(
            try await fixture.join(second, "ann@ex.com").json["outcome"]?.string == "existing")
        #expect(try await fixture.uses(other) == 0)
    }

    @Test func `J2 a bad token refuses and never falls through`() async throws {
        let clock = TestClock()
        let fixture = try await ProvisioningFixture.make(
            policy: #"{"sign_up":"open"}"#, clock: { clock.now })
        let end = clock.now.adding(seconds: 301)
        let (_, short) = try await fixture.joinLink(#"{"expires_at":"\#(end)"}"#)
        let (revoked, gone) = try await fixture.joinLink()
        try await fixture.revoke(revoked)
        func reason(_ token: String, _ email: String) async throws -> String? {
            try await fixture.join(token, email).json["reason"]?.string
        }
        #expect(try await reason(gone, "a@ex.com") == "join_revoked")
        clock.advance(seconds: 299)
        #expect(try await fixture.join(short, "b@ex.com").json["outcome"]?.string == "created")
        clock.advance(seconds: 2)
        #expect(try await reason(short, "c@ex.com") == "join_expired")
        let wrong = fixture.tenant.locator + String(repeating: "A", count: 43)
        for token in ["nonsense", wrong] {
            #expect(try await reason(token, "d@ex.com") == "join_unknown")
        }
        // The token of one tenant is unknown at another.
        let other = try await fixture.service.makeTenant("other")
        let (_, token) = try await fixture.joinLink()
        let elsewhere = try await fixture.service.send(
            .post, "/v1/hooks/pre-signup",
            json: #"{"provider":"google","subject":"e","email":"e@ex.com","email_verified":true,"#
                + #""join_token":"\#(token)"}"#,
            as: .tenantAdmin(other))
        #expect(elsewhere.json["reason"]?.string == "join_unknown", "\(elsewhere.text)")
    }

    @Test func `J8 a maker who may no longer invite has revoked the link`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let user = try await fixture.service.makeUser(
            "maker@ex.com", name: "Maker", role: .manager, password: "a sentence that is long",
            in: fixture.tenant)
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        let token = try await scope.change(
            by: Actor(
                type: "user", id: user.id.description, name: "Maker", requestID: "", ip: nil)
        ) { change in
            try await change.makeJoinLink(
                JoinLinkRequest(
                    domains: [], maxUses: 5, expiresAt: change.now.adding(seconds: 3600),
                    returnTo: nil)
            ).token
        }
        #expect(try await fixture.join(token, "a@ex.com").json["outcome"]?.string == "created")
        let path = "/v1/tenants/acme/users/\(user.id)"
        try await fixture.service.manage(.patch, path, #"{"role":"member"}"#)
        #expect(try await fixture.join(token, "b@ex.com").json["reason"]?.string == "join_revoked")
        try await fixture.service.manage(.patch, path, #"{"role":"admin"}"#)
        #expect(try await fixture.join(token, "c@ex.com").json["outcome"]?.string == "created")
        try await fixture.service.manage(.post, path + "/suspend", "{}")
        #expect(try await fixture.join(token, "d@ex.com").json["reason"]?.string == "join_revoked")
    }

    @Test func `J8 a link ends with the revocation of the key that made it`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let key = try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys", #"{"name":"k","scopes":["invites:write"]}"#)
        let made = try await fixture.made("{}", as: .bearer(key["key"]?.string ?? ""))
        let token = made.json["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        #expect(try await fixture.join(token, "b@ex.com").json["outcome"]?.string == "created")
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys/\(key["id"]?.string ?? "")/revoke",
            #"{"reason":"over"}"#)
        #expect(try await fixture.join(token, "a@ex.com").json["reason"]?.string == "join_revoked")
    }

    @Test func `J5 domains of the link, allowed domains and the proof of the address`() async throws
    {
        let fixture = try await ProvisioningFixture.make(
            policy: #"{"allowed_domains":["ex.com","gmail.com"],"external_invites":false}"#)
        let (id, token) = try await fixture.joinLink(#"{"domains":["ex.com","out.com"]}"#)
        func reason(_ email: String, verified: Bool = true) async throws -> String? {
            try await fixture.join(token, email, verified: verified).json["reason"]?.string
        }
        #expect(try await reason("a@gmail.com") == "not_invited")
        #expect(try await reason("a@out.com") == "not_invited")
        #expect(try await reason("b@ex.com", verified: false) == "email_unverified")
        #expect(try await fixture.uses(id) == 0)
        #expect(try await fixture.join(token, "c@ex.com").json["outcome"]?.string == "created")
    }

    @Test func `a dry run predicts what a link does and uses no place`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink(#"{"max_uses":1}"#)
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let before = try await fixture.service.database.content()
        func tried(_ email: String) async throws -> JSONValue {
            try await fixture.service.send(
                .post, "/v1/provisioning/evaluate",
                json: #"{"provider":"google","subject":"\#(email)","email":"\#(email)","#
                    + #""email_verified":true,"join_token":"\#(token)"}"#, as: .platformOwner
            ).json
        }
        #expect(try await tried("ann@ex.com")["outcome"]?.string == "created")
        #expect(try await fixture.service.database.content() == before)
        _ = try await fixture.join(token, "bob@ex.com")
        let late = try await tried("ann@ex.com")
        #expect(late["reason"]?.string == "join_used_up")
        let changes = (late["would_admit"]?.array ?? []).compactMap { $0["change"]?.string }
        #expect(changes == ["invite", "policy_sign_up"])
        _ = try await fixture.join(token, "carl@ex.com")
        let decision = try #require(try await fixture.decisions().first?["id"]?.string)
        let asked = try await fixture.service.send(
            .get, "/v1/tenants/acme/provisioning/decisions/\(decision)?would_admit=true",
            as: .platformOwner)
        let found = (asked.json["would_admit"]?.array ?? []).compactMap { $0["change"]?.string }
        #expect(found == ["invite", "policy_sign_up"], "\(asked.text)")
        #expect(try await fixture.uses(id) == 1)
    }

    @Test func `P10 a link does not bring back a sign-in that an operator unlinked`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let (id, token) = try await fixture.joinLink()
        let answer = try await fixture.join(token, "ann@ex.com")
        let user = answer.json["user"]?["id"]?.string ?? ""
        let identity = answer.json["identity_id"]?.string ?? ""
        let unlinked = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(user)/identities/\(identity)", as: .platformOwner)
        #expect(unlinked.status == 204)
        let back = try await fixture.google(
            "ann@ex.com", "another@ex.com", more: #","join_token":"\#(token)""#)
        #expect(back.json["reason"]?.string == "identity_link_required")
        #expect(try await fixture.uses(id) == 1)
    }
}
