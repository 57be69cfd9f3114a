import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProvisioningRetryTests {
    @Test func `an event id repeats its answer, and a user suspended in between is refused`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.invite("ann@ex.com")
        let event = #","event_id":"e1""#
        let first = try await fixture.google("1", "ann@ex.com", more: event)
        let again = try await fixture.google("1", "Ann@EX.com", more: event)
        #expect(again.bytes == first.bytes, "\(again.text)")
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query(
                "UPDATE users SET status = 'suspended' WHERE tenant_id = \(change.tenant)")
        }
        let late = try await fixture.google("1", "ann@ex.com", more: event)
        #expect(late.json["reason"]?.string == "user_suspended", "\(late.text)")
        #expect(try await fixture.count("decisions") == 2)
    }

    @Test func `a person invited after a refusal gets in`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let first = try await fixture.google("1", "ann@ex.com")
        #expect(first.json["reason"]?.string == "no_tenant")
        #expect(try await fixture.google("1", "ann@ex.com").bytes == first.bytes)
        try await fixture.invite("ann@ex.com")
        let then = try await fixture.google("1", "ann@ex.com")
        #expect(then.json["outcome"]?.string == "linked", "\(then.text)")
    }

    @Test func `events out of order have one effect`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let invite = try await fixture.invite("ann@ex.com")
        let confirm = ProvisioningFixture.event(
            "PostConfirmation_ConfirmSignUp", userName: "ann", email: "ann@ex.com")
        let more = #","clientMetadata":{"invite_token":"\#(invite.token)"}"#
        let signUp = ProvisioningFixture.event(
            "PreSignUp_SignUp", userName: "ann", email: "ann@ex.com", verified: "false",
            more: more)
        func confirmed() async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/hooks/post-confirmation/cognito", json: confirm, as: .platformOwner)
        }
        #expect(try await confirmed().text == confirm)
        #expect(try await fixture.count("users WHERE status = 'active'") == 0)
        #expect(try await fixture.cognito(signUp).status == 200)
        #expect(try await confirmed().status == 200)
        #expect(try await fixture.cognito(signUp).status == 200)
        #expect(try await confirmed().status == 200)
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
        #expect(try await fixture.count("audit_events WHERE action = 'invite.accepted'") == 1)
    }

    @Test func `a tenant's credential leads to that tenant and reads no other's`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let invite = try await fixture.invite("ann@ex.com")
        for more in ["", #","tenant":"acme""#, #","invite_token":"\#(invite.token)""#] {
            let answer = try await fixture.service.send(
                .post, "/v1/provisioning/evaluate",
                json: #"{"provider":"google","subject":"1","email":"ann@ex.com","#
                    + #""email_verified":true\#(more)}"#,
                as: .tenantAdmin(other))
            #expect(answer.json["outcome"]?.string == "refused", "\(answer.text)")
            #expect(!answer.text.contains(invite.id.description))
            #expect(!answer.text.contains("\"acme\""))
        }
    }

    @Test func `a link grant adds one sign-in to an active user, once`() async throws {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("bob@ex.com")
        let first = try await fixture.google("1", "bob@ex.com")
        let user = first.json["user"]?["id"]?.string ?? ""
        let refused = try await fixture.google("2", "bob@ex.com")
        #expect(refused.json["reason"]?.string == "identity_link_required", "\(refused.text)")
        let grant = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", json: "{}", as: .platformOwner)
        #expect(grant.status == 201, "\(grant.text)")
        let more = #","link_grant":"\#(grant.json["token"]?.string ?? "")""#
        let linked = try await fixture.google("2", "bob@ex.com", more: more)
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        #expect(linked.json["user"]?["identities"]?.array?.count == 2)
        let again = try await fixture.google("3", "bob@ex.com", more: more)
        #expect(again.json["reason"]?.string == "identity_link_required")
    }

    @Test func `unproved credentials of a waiting row are removed before its person signs in`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let id = try await fixture.row("bob@ex.com")
        let owner = #","owner":{"type":"user","id":"\#(id)"}"#
        // What an operator made stands on the operator's word.
        let made = try await fixture.service.makeKey(#""app""#, owner)
        let own = try await fixture.service.makeKey(#""app""#, owner)
        let later = try await fixture.service.makeKey(#""app""#, owner)
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET password_hash = 'x' WHERE tenant_id = \(change.tenant)
                """)
            try await change.query(
                """
                UPDATE api_keys SET created_by_type = 'user', created_by_id = \(id.description)
                WHERE tenant_id = \(change.tenant) AND id::text = \(own.id)
                """)
            try await change.query(
                """
                UPDATE api_keys SET created_by_type = 'key', created_by_id = \(own.id)
                WHERE tenant_id = \(change.tenant) AND id::text = \(later.id)
                """)
            try await change.query(
                """
                INSERT INTO known_devices (tenant_id, user_id, key, last_at)
                VALUES (\(change.tenant), \(id), \([1] as [UInt8]), \(change.now))
                """)
            try await change.query(
                """
                INSERT INTO link_grants (tenant_id, id, token_hash, user_id, created_at, expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \([1] as [UInt8]), \(id),
                    \(change.now), \(change.now.adding(seconds: 600)))
                """)
        }
        let answer = try await fixture.google("1", "bob@ex.com")
        #expect(answer.json["user"]?["id"]?.string == id.description, "\(answer.text)")
        #expect(try await fixture.count("users WHERE password_hash IS NULL") == 1)
        #expect(
            try await fixture.count("audit_events WHERE action = 'user.credentials_wiped'") == 1)
        #expect(try await fixture.service.verdict(own.secret) == "revoked")
        #expect(try await fixture.service.verdict(later.secret) == "revoked")
        #expect(try await fixture.service.verdict(made.secret) == "valid")
        #expect(try await fixture.count("known_devices") == 0)
        #expect(try await fixture.count("link_grants") == 0)
    }

    @Test func `sessions, a PIN, links and sign-ins of a waiting row die with its password`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let id = try await fixture.row("bob@ex.com")
        let stranger = fixture.service.storage.personKey(
            provider: "github", issuer: "https://github.com", subject: "9")
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            let end = change.now.adding(seconds: 600)
            try await change.query(
                """
                UPDATE users SET password_hash = 'x', pin_hash = 'x'
                WHERE tenant_id = \(change.tenant)
                """)
            try await change.query(
                """
                INSERT INTO sessions (tenant_id, id, user_id, client, token_hash, created_at,
                    last_seen_at, expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \(id), 'immich', 'x', \(change.now),
                    \(change.now), \(end))
                """)
            try await change.query(
                """
                INSERT INTO password_resets (tenant_id, id, token_hash, user_id, created_at,
                    expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \([1] as [UInt8]), \(id),
                    \(change.now), \(end))
                """)
            try await change.query(
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                    created_at)
                VALUES (\(change.tenant), \(UUID.random()), \(id), 'github',
                    'https://github.com', '9', \(change.now))
                """)
            try await change.query("SELECT directory_add_person(\(stranger))")
        }
        func isKnown() async throws -> Bool {
            let rows = try await fixture.service.storage.app.read(
                "SELECT directory_tenants_of(\(stranger))")
            return !rows.isEmpty
        }
        #expect(try await isKnown())
        let answer = try await fixture.google("1", "bob@ex.com")
        #expect(answer.json["user"]?["id"]?.string == id.description, "\(answer.text)")
        #expect(try await fixture.count("users WHERE pin_hash IS NOT NULL") == 0)
        #expect(try await fixture.count("sessions") == 0)
        #expect(try await fixture.count("password_resets WHERE used_at IS NULL") == 0)
        #expect(try await fixture.count("identities WHERE provider = 'github'") == 0)
        #expect(try await !isKnown())
    }
}
