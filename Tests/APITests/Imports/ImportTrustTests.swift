import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Whom a row of an import is believed about: an address that was never verified opens nobody's account.
@Suite(.serialized, .cleansUp) struct ImportTrustTests {
    private static let hash = "$2b$04$abcdefghijklmnopqrstuuPp7HPfoAs8I2dCQCQ/fW7zEJv8I8C8e"
    private static let signIn =
        #""identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"mallory"}]"#

    private func secrets(
        of email: String, _ fixture: ImportFixture
    ) async throws -> (hash: String?, isProved: Bool, isAwaited: Bool, identities: Int) {
        let tenant = fixture.tenant
        let rows = try await fixture.scope.read(
            """
            SELECT password_hash, email_verified_at IS NOT NULL, password_awaited,
                (SELECT count(*) FROM identities i WHERE i.tenant_id = \(tenant) AND i.user_id = u.id)
            FROM users u WHERE tenant_id = \(tenant) AND email_key = \(email)
            """)
        let row = try #require(rows.first)
        return (try row.get(0), try row.get(1), try row.get(2), try row.get(3))
    }

    private func detail(_ id: UUID, _ fixture: ImportFixture) async throws -> String {
        try await fixture.scope.results(of: id, after: 0, limit: 10).compactMap(\.detail)
            .joined(separator: "\n")
    }

    @Test func `a row with an unverified address brings no sign-in to a known user`() async throws {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(#"{"email":"ann@x.example","email_verified":true}"#)
        let id = try await fixture.importing(
            #"{"email":"ann@x.example","name":"Ann","password_hash":"\#(Self.hash)",\#(Self.signIn)}"#,
            "format=ndjson&on_conflict=update")
        let ann = try await secrets(of: "ann@x.example", fixture)
        #expect(ann.hash == nil && ann.identities == 0)
        #expect(try await fixture.user("ann@x.example")["name"] == .string("Ann"))
        #expect(try await fixture.user("ann@x.example")["status"] == .string("pending"))
        #expect(try await detail(id, fixture).contains("not verified"))
    }

    @Test func `a verified row does`() async throws {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(#"{"email":"ann@x.example"}"#)
        try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,"password_hash":"\#(Self.hash)",\#(Self.signIn)}"#,
            "format=ndjson&on_conflict=update")
        let ann = try await secrets(of: "ann@x.example", fixture)
        #expect(ann.hash == Self.hash && ann.identities == 1 && ann.isProved)
    }

    @Test(arguments: [
        (#""email_verified":true,"#, "active", true, false), ("", "pending", false, true),
        (#""status":"suspended","#, "suspended", false, true),
    ])
    func `a new user's password works if the address is verified, else after a reset`(
        _ member: String, _ status: String, _ has: Bool, _ awaits: Bool
    ) async throws {
        let fixture = try await ImportFixture.make()
        let id = try await fixture.importing(
            #"{"email":"ann@x.example",\#(member)"password_hash":"\#(Self.hash)"}"#)
        let ann = try await secrets(of: "ann@x.example", fixture)
        #expect((ann.hash != nil) == has && ann.isAwaited == awaits)
        let user = try await fixture.user("ann@x.example")
        #expect(user["status"] == .string(status))
        #expect(try await detail(id, fixture).isEmpty == has)
        guard status == "suspended", let one = user["id"]?.string else { return }
        _ = try await fixture.base.send(.post, "/\(one)/resume", json: "{}")
        #expect(try await fixture.user("ann@x.example")["status"] == .string("pending"))
    }

    /// A reset would prove the address for whoever holds the sign-in.
    @Test func `with a sign-in, the unverified address's password is not waited for`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(
            #"{"email":"ann@x.example","password_hash":"\#(Self.hash)",\#(Self.signIn)}"#)
        let ann = try await secrets(of: "ann@x.example", fixture)
        #expect(ann.hash == nil && !ann.isAwaited && ann.identities == 1 && !ann.isProved)
    }

    @Test func `an imported row does not prove the address of another person's sign-up`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(#"{"email":"ann@x.example",\#(Self.signIn)}"#)
        let id = try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,"password_hash":"\#(Self.hash)"}"#,
            "format=ndjson&on_conflict=update")
        let ann = try await secrets(of: "ann@x.example", fixture)
        #expect(ann.hash == nil && !ann.isProved && ann.identities == 1)
        #expect(try await detail(id, fixture).contains("never proved"))
        // The former system has verified the same person since.
        try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,"password_hash":"\#(Self.hash)",\#(Self.signIn)}"#,
            "format=ndjson&on_conflict=update")
        let later = try await secrets(of: "ann@x.example", fixture)
        #expect(later.hash == Self.hash && later.isProved && later.identities == 1)
    }

    @Test func `of two rows with one address the verified one counts, wherever it is`() async throws
    {
        let fixture = try await ImportFixture.make()
        let id = try await fixture.importing(
            """
            {"email":"ann@x.example","name":"Mallory","external_id":"7"}
            {"email":"ann@x.example","name":"Ann","external_id":"7","email_verified":true}
            {"email":"ann@x.example","email_verified":true}
            {"email":"bea@x.example"}
            {"email":"bea@x.example"}
            """)
        #expect(
            try await fixture.report(id) == [
                "1 failed conflict", "2 done", "3 failed conflict", "4 done", "5 failed conflict",
            ])
        #expect(try await fixture.user("ann@x.example")["name"] == .string("Ann"))
    }

    @Test func `an imported sign-in with an unverified address counts only in its tenant`()
        async throws
    {
        let fixture = ImportFixture(base: try await UserFixture.make())
        let answer = try await fixture.post(
            "format=ndjson", #"{"email":"ann@x.example",\#(Self.signIn)}"#, as: .platformOwner)
        #expect(answer.status == 202, "\(answer.text)")
        try await fixture.run()
        // So that giving the account to the owner of the address removes it.
        #expect(
            try await fixture.base.count("identities WHERE linked_by_type IS NULL AND tenants_word")
                == 1)
    }

    @Test func `the undo keeps a proof with which the person has signed in since`() async throws {
        let fixture = try await ImportFixture.make()
        try await fixture.importing(#"{"email":"ann@x.example","name":"Ann"}"#)
        let id = try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true}"#, "format=ndjson&on_conflict=update")
        _ = try await fixture.scope.write(
            """
            UPDATE users SET last_sign_in_at = now() WHERE tenant_id = \(fixture.tenant)
                AND email_key = 'ann@x.example'
            """)
        #expect(try await fixture.undo(id).kept == 1)
        #expect(try await secrets(of: "ann@x.example", fixture).isProved)
    }

    @Test func `an import that stays paused is cancelled, and nothing of it is kept`() async throws
    {
        let clock = TestClock()
        let fixture = ImportFixture(base: try await UserFixture.make(clock: clock))
        let answer = try await fixture.post("format=ndjson", #"{"email":"ann@x.example"}"#)
        let job = try #require(answer.json["id"]?.string, "\(answer.text)")
        let paused = try await fixture.service.send(
            .post, "/v1/tenants/acme/jobs/\(job)/pause", json: "{}", as: .platformOwner)
        #expect(paused.status == 200, "\(paused.text)")
        for (days, left) in [(6, 1), (2, 0)] {
            clock.advance(seconds: Int64(days) * 86_400)
            _ = try await fixture.service.storage.sweep { _, _ in }
            #expect(try await fixture.base.count("imports") == left, "\(days)")
        }
        #expect(try await fixture.job(try #require(UUID(job))).status == .cancelled)
    }

    /// `outcome reason` of a sign-in that does not happen.
    private func would(
        _ subject: String, at tenant: String, _ fixture: ImportFixture, _ more: String = ""
    ) async throws -> String {
        let answer = try await fixture.service.send(
            .post, "/v1/provisioning/evaluate",
            json: #"{"provider":"oidc","issuer":"https://idp.example","subject":"\#(subject)","#
                + #""email":"ann@x.example","tenant":"\#(tenant)"\#(more)}"#, as: .platformOwner)
        #expect(answer.status == 200, "\(answer.text)")
        let reason = answer.json["reason"]?.string.map { " \($0)" } ?? ""
        return (answer.json["outcome"]?.string ?? "") + reason
    }

    private func trust(_ trust: String, _ fixture: ImportFixture) async throws {
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"I","issuer":"https://idp.example","client_id":"c","#
                + #""email_trust":"\#(trust)"}"#)
    }

    private func verify(_ domain: String, of tenant: String, _ fixture: ImportFixture) async throws
    {
        let domains = "/v1/tenants/\(tenant)/domains"
        let made = try await fixture.service.manage(.post, domains, #"{"domain":"\#(domain)"}"#)
        try await fixture.service.manage(
            .post, "\(domains)/\(made["id"]?.string ?? "")/verify", #"{"method":"operator"}"#)
        let policy = try await fixture.service.send(
            .put, "/v1/tenants/\(tenant)/policy", json: #"{"sign_up":"domain"}"#,
            as: .platformOwner, fields: [Field("if-match", "*")])
        #expect(policy.status == 200, "\(policy.text)")
    }

    private static let claimed = #","email_verified":true"#

    @Test func `another tenant does not believe that an imported address is verified`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        try await trust("verified_claim", fixture)
        _ = try await fixture.service.makeTenant("other")
        try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,\#(Self.signIn)}"#)
        #expect(try await would("mallory", at: "acme", fixture) == "existing")
        // A row that waits for the address; with the provider's own word it is theirs.
        let users = "/v1/tenants/other/users"
        let row = try await fixture.service.manage(.post, users, #"{"email":"ann@x.example"}"#)
        let doubted = try await would("mallory", at: "other", fixture)
        #expect(doubted == "refused email_unverified")
        #expect(try await would("mallory", at: "other", fixture, Self.claimed) == "linked")
        // The address is as unproved there as that of any row.
        let there = try await fixture.service.send(
            .get, "\(users)/\(row["id"]?.string ?? "")", as: .platformOwner)
        #expect(there.json["email_verified_at"]?.isNull == true)
        let deleted = try await fixture.service.send(
            .delete, "\(users)/\(row["id"]?.string ?? "")", as: .platformOwner)
        #expect(deleted.status == 204)
    }

    @Test func `rule 9 does not take an imported address for authoritative`() async throws {
        let fixture = try await ImportFixture.make()
        try await trust("verified_claim", fixture)
        _ = try await fixture.service.makeTenant("other")
        try await verify("x.example", of: "other", fixture)
        try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,\#(Self.signIn)}"#)
        for more in ["", Self.claimed] {
            let found = try await would("mallory", at: "other", fixture, more)
            #expect(found == "refused email_unverified", "\(more)")
        }
    }

    @Test func `rule 8 gives the imported user no other sign-in of the address`() async throws {
        let fixture = try await ImportFixture.make()
        try await trust("verified_claim", fixture)
        try await verify("x.example", of: "acme", fixture)
        try await fixture.importing(
            #"{"email":"ann@x.example","email_verified":true,\#(Self.signIn)}"#)
        #expect(try await would("mallory", at: "acme", fixture) == "existing")
        let found = try await would("another", at: "acme", fixture, Self.claimed)
        #expect(found == "refused identity_link_required")
    }

    @Test func `a tenant's assertions count only there even if the platform resumes the job`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        let answer = try await fixture.post(
            "format=ndjson", #"{"email":"ann@x.example","email_verified":true,\#(Self.signIn)}"#)
        let job = try #require(answer.json["id"]?.string, "\(answer.text)")
        for act in ["pause", "resume"] {
            let done = try await fixture.service.send(
                .post, "/v1/tenants/acme/jobs/\(job)/\(act)", json: "{}", as: .platformOwner)
            #expect(done.status == 200, "\(done.text)")
        }
        try await fixture.run()
        let words = try await fixture.base.count("identities WHERE tenants_word")
        #expect(words == 1)
    }

    @Test func `an import at the console needs a recent sign-in, one by a key does not`()
        async throws
    {
        let clock = TestClock()
        let fixture = ImportFixture(base: try await UserFixture.make(clock: clock))
        let row = #"{"email":"ann@x.example"}"#
        try await fixture.importing(row)
        let key = try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys", #"{"name":"k","scopes":["users:write"]}"#)
        clock.advance(seconds: 601)
        let late = try await fixture.post("format=ndjson", row)
        #expect(late.status == 403 && late.json["code"] == .string("step_up_required"))
        #expect(try await fixture.base.count("imports") == 0)
        let byKey = try await fixture.post(
            "format=ndjson", row, as: .bearer(try #require(key["key"]?.string)))
        #expect(byKey.status == 202, "\(byKey.text)")
    }
}
