import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProvisioningCognitoTests {
    @Test func `the federated event three times is one user and the same bytes`() async throws {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.invite("ann@ex.com", role: "admin")
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_123", email: "ann@ex.com")
        let first = try await fixture.cognito(event)
        #expect(first.status == 200, "\(first.text)")
        #expect(first.json["response"]?["autoConfirmUser"]?.bool == false)
        #expect(first.json["response"]?["autoVerifyEmail"]?.bool == false)
        #expect(first.json["response"]?["autoVerifyPhone"]?.bool == false)
        #expect(first.text.hasSuffix(#""later":1.50}"#))
        for _ in 0..<2 { #expect(try await fixture.cognito(event).bytes == first.bytes) }
        #expect(try await fixture.count("users WHERE role = 'admin' AND status = 'active'") == 1)
        #expect(try await fixture.count("users") == 1)
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 1)
        for action in ["user.activated", "identity.linked", "invite.accepted"] {
            #expect(try await fixture.count("audit_events WHERE action = \(action)") == 1)
        }
        #expect(try await fixture.count("provisioning_attempts") == 2)
        // The same Google account at another door is the same identity.
        let hook = try await fixture.google("123", "ann@ex.com")
        #expect(hook.json["outcome"]?.string == "existing", "\(hook.text)")
        #expect(try await fixture.count("identities") == 1)
    }

    @Test func `any number of unproved claims of a pool hides the proved one from no one`()
        async throws
    {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.invite("ann@ex.com")
        let now = fixture.service.storage.clock()
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
            try await $0.query(
                """
                INSERT INTO providers (id, tenant_id, kind, name, issuer, document, created_at,
                    updated_at, confirmed)
                SELECT gen_random_uuid(), gen_random_uuid(), 'cognito', 'Claim',
                    \(ProvisioningFixture.pool), '{}', \(now), \(now), false
                FROM generate_series(1, 60)
                """)
        }
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_123", email: "ann@ex.com")
        let answer = try await fixture.cognito(event)
        #expect(answer.status == 200, "\(answer.text)")
    }

    @Test func `a refusal's text is the same for every reason and names no one`() async throws {
        let fixture = try await ProvisioningFixture.make()
        var texts: Set<String> = []
        for (number, email) in ["zoe@ex.com", "bad"].enumerated() {
            let answer = try await fixture.cognito(
                ProvisioningFixture.event(
                    "PreSignUp_ExternalProvider", userName: "Google_\(number)", email: email))
            #expect(answer.status == 403)
            #expect(answer.first("content-type") == "application/problem+json")
            let text = answer.json["detail"]?.string ?? ""
            #expect(
                text.hasPrefix(
                    "Sign-up is not available for this account. "
                        + "Contact your administrator (ref "))
            texts.insert(String(text.dropLast(8)))
        }
        #expect(texts.count == 1)
        let unknown = try await fixture.cognito(
            ProvisioningFixture.event("PreSignUp_SignUp", userName: "u", email: "a@ex.com")
                .replacing(ProvisioningFixture.pool, with: "eu_other"))
        #expect(unknown.status == 403)
    }

    @Test func `a native sign-up reserves, and its confirmation accepts`() async throws {
        let fixture = try await ProvisioningFixture.make()
        let invite = try await fixture.invite("ann@ex.com", role: "manager")
        let more = #","validationData":{"invite_token":"\#(invite.token)"}"#
        let signUp = ProvisioningFixture.event(
            "PreSignUp_SignUp", userName: "Google_ann", email: "ann@ex.com", verified: "false",
            more: more)
        let first = try await fixture.cognito(signUp)
        #expect(first.status == 200, "\(first.text)")
        #expect(try await fixture.cognito(signUp).bytes == first.bytes)
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 1)
        #expect(try await fixture.count("users WHERE status = 'active'") == 0)
        let confirm = ProvisioningFixture.event(
            "PostConfirmation_ConfirmSignUp", userName: "Google_ann", email: "ann@ex.com")
        for _ in 0..<2 {
            let answer = try await fixture.service.send(
                .post, "/v1/hooks/post-confirmation/cognito", json: confirm, as: .platformOwner)
            #expect(answer.text == confirm)
        }
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
        #expect(try await fixture.count("users") == 1)
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 1)
        #expect(try await fixture.count("reservations") == 0)
    }

    @Test func `the Lambda shape answers refusals as errors of the function`() async throws {
        let fixture = try await ProvisioningFixture.make()
        try await fixture.row("bob@ex.com")
        func invoke(_ name: String, _ email: String) async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/2015-03-31/functions/\(name)/invocations",
                json: ProvisioningFixture.event(
                    "PreSignUp_ExternalProvider", userName: "Google_\(email.prefix(1))",
                    email: email),
                as: .platformOwner)
        }
        let bob = try await invoke("pre-signup", "bob@ex.com")
        #expect(bob.status == 200, "\(bob.text)")
        #expect(bob.first("x-amz-function-error") == nil)
        #expect(bob.json["response"]?["autoConfirmUser"]?.bool == false)
        let eve = try await invoke("pre-signup", "eve@ex.com")
        #expect(eve.status == 200)
        #expect(eve.first("x-amz-function-error") == "Unhandled")
        #expect(eve.json["errorType"]?.string != nil)
        #expect(try await invoke("other", "eve@ex.com").status == 404)
    }
}
