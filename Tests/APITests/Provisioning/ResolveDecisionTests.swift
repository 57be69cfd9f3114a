import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// An account that was accepted by a link that was shown, and the owner of its address.
@Suite(.cleansUp) struct ResolveDecisionTests {
    private struct Fixture {
        let base: ProvisioningFixture
        let user: String
        let decision: String

        /// A stranger accepted at the page by a link that was shown; then the owner comes.
        static func make() async throws -> Fixture {
            let base = try await ProvisioningFixture.make()
            let token = try await base.invited("ann@ex.com")
            let accepted = try await base.accept(token)
            let user = accepted.json["user"]?["id"]?.string ?? ""
            let refused = try await base.google("1", "ann@ex.com")
            #expect(refused.json["reason"]?.string == "identity_link_required", "\(refused.text)")
            return Fixture(
                base: base, user: user,
                decision: refused.json["decision_id"]?.string ?? "")
        }

        func resolve(_ json: String, of decision: String? = nil) async throws -> TestAnswer {
            let id = decision ?? self.decision
            return try await base.service.send(
                .post, "/v1/tenants/acme/provisioning/decisions/\(id)/resolve", json: json,
                as: .platformOwner)
        }
    }

    @Test func `giving an account away, or another address, needs a recent sign-in`()
        async throws
    {
        let fixture = try await Fixture.make()
        let began = fixture.base.service.storage.clock().adding(seconds: -601)
        _ = try await fixture.base.service.storage.app.query(
            "UPDATE operator_sessions SET stepped_up_at = \(began)")
        for action in [
            #"{"action":"give_account"}"#, #"{"action":"open_another","email":"other@ex.com"}"#,
        ] {
            let late = try await fixture.resolve(action)
            #expect(late.status == 403 && late.json["code"]?.string == "step_up_required")
        }
    }

    @Test func `give_account links the person who proved the address and ends the other ways in`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let shown = try await base.decisions().first
        #expect("\(shown?["trace"] ?? .null)".contains("address_unproved"))
        let made = try await base.service.manage(
            .post, "/v1/tenants/acme/api-keys",
            #"{"name":"k","scopes":["app"],"owner":{"type":"user","id":"\#(fixture.user)"}}"#)
        let key = made["key"]?.string ?? ""
        let answer = try await fixture.resolve(#"{"action":"give_account"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["id"]?.string == fixture.decision)
        let user = answer.json["user"]
        #expect(user?["id"]?.string == fixture.user)
        #expect(user?["email_verified_at"]?.string != nil)
        #expect(
            user?["identities"]?.array?.map { $0["provider"]?.string } == ["google"])
        #expect(try await base.count("users WHERE password_hash IS NOT NULL") == 0)
        #expect(
            try await base.count(
                "audit_events WHERE action = 'user.account_given' AND decision_id::text = \(fixture.decision)"
            ) == 1)
        let verified = try await base.service.send(
            .post, "/v1/api-keys/verify", json: #"{"key":"\#(key)"}"#, as: .platformOwner)
        #expect(verified.json["code"]?.string == "revoked", "\(verified.text)")
        let next = try await base.google("1", "ann@ex.com")
        #expect(next.json["outcome"]?.string == "existing", "\(next.text)")
        #expect(try await fixture.resolve(#"{"action":"give_account"}"#).status == 409)
    }

    @Test func `open_another changes the old account's address, and the person is decided again`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        try await base.row("taken@ex.com")
        let taken = try await fixture.resolve(
            #"{"action":"open_another","email":"Taken@ex.com"}"#)
        #expect(taken.json["code"]?.string == "email_taken", "\(taken.text)")
        let answer = try await fixture.resolve(
            #"{"action":"open_another","email":"ann.b@ex.com"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["user"]?["email"]?.string == "ann.b@ex.com")
        #expect(answer.json["user"]?["email_verified_at"]?.isNull == true)
        #expect(try await base.google("1", "ann@ex.com").json["reason"]?.string == "no_tenant")
        let found = try await base.service.send(
            .get, "/v1/tenants/acme/users?q=ann.b", as: .platformOwner)
        #expect(found.json["items"]?.array?.count == 1)
        _ = try await base.invited("ann@ex.com")
        let anew = try await base.google("1", "ann@ex.com")
        #expect(anew.json["outcome"]?.string == "linked", "\(anew.text)")
        #expect(anew.json["user"]?["id"]?.string != fixture.user)
    }

    @Test func `open_another refuses a reserved address, and ends links sent to the old mailbox`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let other = try await base.row("bo@ex.com")
        let user = try #require(UUID(fixture.user))
        let link = try await base.service.send(
            .post, "/v1/tenants/acme/users/\(fixture.user)/password-link",
            as: .tenantAdmin(base.tenant))
        let url = try #require(link.json["url"]?.string, "\(link.text)")
        let token = url.drop { $0 != "=" }.dropFirst()
        try await base.service.storage.scope(base.tenant.id).change(by: .system) { change in
            let end = change.now.adding(seconds: 600)
            try await change.query(
                """
                /* test */ INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
                VALUES (\(change.tenant), 'kept@ex.com', \(other), 'kept@ex.com', \(end)),
                    (\(change.tenant), 'ann.b@ex.com', \(user), 'ann.b@ex.com', \(end))
                """)
            try await change.query(
                """
                INSERT INTO email_changes (tenant_id, user_id, email, email_key, token_hash,
                    created_at, expires_at)
                VALUES (\(change.tenant), \(user), 'x@ex.com', 'x@ex.com', \([1] as [UInt8]),
                    \(change.now), \(end))
                """)
            try await change.query(
                """
                INSERT INTO link_grants (tenant_id, id, token_hash, user_id, created_at,
                    expires_at)
                VALUES (\(change.tenant), \(UUID.random()), \([1] as [UInt8]), \(user),
                    \(change.now), \(end))
                """)
        }
        let kept = try await fixture.resolve(
            #"{"action":"open_another","email":"Kept@ex.com"}"#)
        #expect(kept.status == 409 && kept.json["code"]?.string == "email_taken")
        #expect(kept.json["conflicting_id"]?.string == other.description, "\(kept.text)")
        #expect(try await base.count("email_changes") == 1)
        let moved = try await fixture.resolve(
            #"{"action":"open_another","email":"ann.b@ex.com"}"#)
        #expect(moved.status == 200, "\(moved.text)")
        for rows in ["email_changes", "link_grants"] as [SQL] {
            #expect(try await base.count(rows) == 0)
        }
        #expect(
            try await base.count("former_addresses WHERE email_key = 'ann.b@ex.com'") == 0)
        let reset = try await base.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"a entryPoint that opens once"}"#)
        #expect(reset.status == 404, "\(reset.text)")
    }

    @Test func `a decision that does not hold any more, or is another, resolves nothing`()
        async throws
    {
        let fixture = try await Fixture.make()
        let base = fixture.base
        let other = try await base.google(
            "9", "eve@stranger.example", more: #","tenant":"acme""#)
        let wrong = try await fixture.resolve(
            #"{"action":"give_account"}"#, of: other.json["decision_id"]?.string)
        #expect(wrong.json["code"]?.string == "conflict", "\(wrong.text)")
        #expect(
            try await fixture.resolve(
                #"{"action":"give_account"}"#, of: UUID.random().description
            ).status == 404)
        for body in [
            #"{"action":"open_another"}"#, #"{"action":"open_another","email":"no"}"#,
            #"{"action":"give_account","email":"a@ex.com"}"#, #"{"action":"other"}"#,
        ] {
            #expect(try await fixture.resolve(body).status == 422, Comment(rawValue: body))
        }
        try await base.service.storage.scope(base.tenant.id).change(by: .system) {
            try await $0.query("UPDATE users SET email_verified_at = now()")
        }
        let late = try await fixture.resolve(#"{"action":"give_account"}"#)
        #expect(late.json["code"]?.string == "conflict", "\(late.text)")
    }

    @Test func `when two operators give the account at once, it is given once`() async throws {
        let fixture = try await Fixture.make()
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try await fixture.resolve(#"{"action":"give_account"}"#).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.sorted() == [200, 409, 409, 409, 409, 409])
        #expect(
            try await fixture.base.count("audit_events WHERE action = 'user.account_given'")
                == 1)
    }
}
