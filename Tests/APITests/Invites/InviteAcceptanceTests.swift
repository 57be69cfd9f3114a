import Cryptography
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The acceptance page as one door of provisioning.
@Suite(.cleansUp) struct InviteAcceptanceTests {
    @Test func `an acceptance is a decision with its trace, an identity and no session`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let token = try await fixture.invited("ann@ex.com", role: "manager")
        let answer = try await fixture.accept(token)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.first("set-cookie") == nil)
        #expect(answer.first("cache-control") == "no-store")
        let user = answer.json["user"]
        #expect(user?["status"]?.string == "active")
        #expect(user?["role"]?.string == "manager")
        #expect(user?["last_sign_in_at"]?.isNull == true)
        // The link was shown to an operator: that proves no mailbox.
        #expect(user?["email_verified_at"]?.isNull == true)
        #expect(user?["identities"]?.array?.map { $0["provider"]?.string } == ["password"])
        #expect(!answer.text.contains("argon2"))
        #expect(try await fixture.count("users WHERE password_hash LIKE '$argon2id$%'") == 1)
        let decision = try await fixture.decisions().first
        #expect(decision?["outcome"]?.string == "linked")
        #expect(decision?["provider"]?.string == "password")
        #expect(decision?["user_id"] == user?["id"])
        #expect((decision?["trace"]?.array?.count ?? 0) > 4)
        for action in ["user.activated", "identity.linked", "invite.accepted"] {
            #expect(try await fixture.count("audit_events WHERE action = \(action)") == 1)
        }
    }

    @Test(arguments: ["revoked", "expired", "used"])
    func `a dead token is refused with its reason and sets no password`(how: String) async throws {
        let fixture = try await ProvisioningFixture.make()
        let token = try await fixture.invited("ann@ex.com")
        switch how {
        case "used": #expect(try await fixture.accept(token).status == 200)
        default:
            let change: SQL =
                how == "revoked" ? "status = 'revoked'" : "expires_at = created_at"
            try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
                try await $0.query(
                    "/* test */ UPDATE invites SET \(change) WHERE tenant_id = \($0.tenant)")
            }
        }
        let before = try await fixture.count("users WHERE password_hash IS NOT NULL")
        for _ in 0..<2 {
            let late = try await fixture.accept(token, password: "another one, by somebody else")
            #expect(late.status == 409)
            #expect(late.json["code"]?.string == "invite_\(how)")
        }
        #expect(try await fixture.count("users WHERE password_hash IS NOT NULL") == before)
        #expect(try await fixture.count("decisions WHERE reason = \("invite_" + how)") == 1)
        #expect(try await fixture.accept("acme00" + token.dropFirst(6)).status == 404)
    }

    @Test(arguments: [
        "short", "passwordpassword", "abcabcabcabcabcabc", "abcdefghijklmnopqr", "1234567890123456",
        "annabel.lee@ex.com", "ANNABEL.LEE@EX.COM",
    ])
    func `a common password is refused and nothing is written`(password: String)
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        let token = try await fixture.invited("annabel.lee@ex.com")
        let before = try await fixture.service.database.content()
        let answer = try await fixture.accept(token, password: password)
        #expect(answer.status == 422, "\(answer.text)")
        let error = answer.json["errors"]?.array?.first
        #expect(error?["pointer"]?.string == "/password")
        #expect(error?["code"]?.string == (password == "short" ? "too_short" : "not_allowed"))
        #expect(try await fixture.service.database.content() == before)
    }

    @Test func `the tenant's policy sets the minimum and may do without the list`() async throws {
        let fixture = try await ProvisioningFixture.make(
            policy: #"{"password_min":8,"password_blocklist":false}"#)
        let token = try await fixture.invited("ann@ex.com")
        #expect(try await fixture.accept(token, password: "1234567").status == 422)
        #expect(try await fixture.accept(token, password: "iloveyou").status == 200)
    }

    @Test func `unlinking the password takes the password away`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let answer = try await fixture.accept(try await fixture.invited("ann@ex.com"))
        let user = answer.json["user"]
        let identity = user?["identities"]?.array?.first?["id"]?.string ?? ""
        let path = "/v1/tenants/acme/users/\(user?["id"]?.string ?? "")/identities/\(identity)"
        let gone = try await fixture.service.send(.delete, path, as: .platformOwner)
        #expect(gone.status == 204, "\(gone.text)")
        #expect(try await fixture.count("users WHERE password_hash IS NOT NULL") == 0)
    }
}
