import Domain
import Testing
import Text

@Suite struct CognitoMappingTests {
    let pool = Provider(
        id: UUID(high: 1, low: 1), kind: .cognito, name: "p", issuer: "us-east-1_abc",
        upstreams: [.init(name: "Okta", kind: .oidc, issuer: "https://okta.example")])

    func external(_ name: String) -> IdentityKey? {
        CognitoMapping.person(pool: pool, trigger: .externalProvider, userName: name)?.identity
    }

    @Test func `the user name splits at the first underscore, the provider in any case`() {
        let google = IdentityKey(
            provider: .google, issuer: "https://accounts.google.com", subject: "1_2")
        #expect(external("google_1_2") == google)
        #expect(external("Google_1_2") == google)
        #expect(external("OKTA_x")?.issuer == "https://okta.example")
        #expect(external("Saml_x_Y")?.issuer == "us-east-1_abc/saml")
        #expect(external("Saml_x_Y")?.subject == "x_Y")
        #expect(external("Google") == nil)
    }

    @Test func `a tenant's pool maps google only by its settings`() {
        var own = pool
        own.tenantID = RuleFixture.acme
        let person = CognitoMapping.federated(pool: own, upstream: "Google", subject: "1")
        #expect(person?.identity.provider == .cognito)
        #expect(person?.identity.issuer == "us-east-1_abc/google")
    }

    @Test func `no native name and no upstream's person share a key, nor two upstreams`() {
        let names = [
            "a", "A", "a_b", "azuread_x", "x", "_", "a_", "Saml_a_b", "saml/a", "a/b", "/",
        ]
        var seen: [IdentityKey: String] = [:]
        for name in names {
            let native = CognitoMapping.native(pool: pool, userName: name).identity
            #expect(seen.updateValue("native \(name)", forKey: native) == nil, "\(name)")
        }
        for upstream in ["azuread", "Saml", "a", "a/b", "x"] {
            for name in names {
                let key = CognitoMapping.federated(pool: pool, upstream: upstream, subject: name)
                guard let key = key?.identity else { continue }
                #expect(seen.updateValue("\(upstream) \(name)", forKey: key) == nil, "\(name)")
                #expect(!key.isNativeName)
            }
        }
        #expect(CognitoMapping.federated(pool: pool, upstream: "a_b", subject: "x") == nil)
        #expect(CognitoMapping.federated(pool: pool, upstream: "a", subject: "") == nil)
        #expect(CognitoMapping.canonical(issuer: "Pool_A/AzureAD") == "Pool_A/azuread")
        #expect(CognitoMapping.looksFederated("AZUREAD_x", among: ["AzureAD"]))
        #expect(!CognitoMapping.looksFederated("azureadx", among: ["AzureAD"]))
        #expect(!CognitoMapping.looksFederated("azu_read_x", among: ["AzureAD"]))
    }

    @Test func `U13 a native user name is never taken apart`() {
        let person = CognitoMapping.person(pool: pool, trigger: .signUp, userName: "Google_123")
        #expect(person?.identity.subject == "Google_123")
        #expect(person?.identity.provider == .cognito)
    }

    @Test func `only true counts as verified and absent stays absent`() {
        #expect(CognitoMapping.emailVerified(.text("True")) == true)
        #expect(CognitoMapping.emailVerified(.bool(true)) == true)
        #expect(CognitoMapping.emailVerified(.text("1")) == false)
        #expect(CognitoMapping.emailVerified(.other) == false)
        #expect(CognitoMapping.emailVerified(.absent) == nil)
    }

    @Test func `U11 a retry has the same answer unless the facts have changed`() {
        let id = RuleFixture.ann
        var existing = Verdict(.existing)
        existing.userID = id
        let created = Retry.Recorded(outcome: .created, userID: id)
        #expect(Retry.isSame(recorded: created, recomputed: existing))
        var waits = Verdict(.refused, reason: .approvalPending)
        waits.userID = id
        #expect(Retry.isSame(recorded: created, recomputed: waits))
        let suspended = Verdict(.refused, reason: .userSuspended)
        #expect(!Retry.isSame(recorded: created, recomputed: suspended))
        let refused = Retry.Recorded(outcome: .refused, reason: .noTenant)
        #expect(!Retry.isSame(recorded: refused, recomputed: existing))
        #expect(
            Retry.isSame(recorded: refused, recomputed: Verdict(.refused, reason: .noTenant)))
    }

    @Test func `the digest keeps fields apart`() {
        let attempt = RuleFixture().attempt
        var shifted = attempt
        shifted.identity.issuer = "is"
        shifted.identity.subject = "ss1"
        let first = Retry.digestInput(attempt: attempt, tenant: nil, tokenHash: nil)
        #expect(first == Retry.digestInput(attempt: attempt, tenant: nil, tokenHash: nil))
        #expect(first != Retry.digestInput(attempt: shifted, tenant: nil, tokenHash: nil))
        #expect(first != Retry.digestInput(attempt: attempt, tenant: "", tokenHash: nil))
    }
}
