import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Rules of provisioning whose facts are set as operators set them, at the wire.
@Suite(.cleansUp) struct ProvisioningRulesTests {
    private static let acme = "/v1/tenants/acme"

    private static func make(policy: String = "{}") async throws -> ProvisioningFixture {
        let fixture = try await ProvisioningFixture.make()
        try await setPolicy(fixture, policy)
        return fixture
    }

    private static func setPolicy(_ fixture: ProvisioningFixture, _ json: String) async throws {
        let read = try await fixture.service.send(.get, "\(acme)/policy", as: .platformOwner)
        let put = try await fixture.service.send(
            .put, "\(acme)/policy", json: json, as: .platformOwner,
            fields: [Field("if-match", read.first("etag") ?? "")])
        #expect(put.status == 200, "\(put.text)")
    }

    private static func verify(
        _ fixture: ProvisioningFixture, _ domain: String, more: String = ""
    ) async throws -> JSONValue {
        let claim = try await fixture.service.manage(
            .post, "\(acme)/domains", #"{"domain":"\#(domain)"\#(more)}"#)
        return try await fixture.service.manage(
            .post, "\(acme)/domains/\(claim["id"]?.string ?? "")/verify", #"{"method":"operator"}"#)
    }

    /// Google vouches for the address as the owner of its domain.
    private static func own(
        _ fixture: ProvisioningFixture, _ subject: String, _ email: String, more: String = ""
    ) async throws -> TestAnswer {
        let host = email.split(separator: "@").last.map(String.init) ?? ""
        return try await fixture.google(
            subject, email, more: #","claims":{"hd":"\#(host)"}\#(more)"#)
    }

    @Test func `rule 9 under approval a person waits, is approved once, and is in`() async throws {
        let fixture = try await Self.make(
            policy: #"{"sign_up":"approval","default_role":"manager"}"#)
        _ = try await Self.verify(fixture, "ex.com")
        let first = try await Self.own(fixture, "1", "ann@ex.com")
        #expect(first.json["outcome"]?.string == "created", "\(first.text)")
        #expect(first.json["user"]?["status"]?.string == "pending")
        #expect(try await Self.own(fixture, "1", "ann@ex.com").bytes == first.bytes)
        // A later sign-in, and another account of theirs, wait as well.
        for (subject, more) in [("1", #","tenant":"acme""#), ("2", "")] {
            let waits = try await Self.own(fixture, subject, "ann@ex.com", more: more)
            #expect(waits.json["reason"]?.string == "approval_pending", "\(waits.text)")
        }
        let event = ProvisioningFixture.event(
            "PreSignUp_ExternalProvider", userName: "Google_1", email: "ann@ex.com")
        #expect(try await fixture.cognito(event).status == 403)
        #expect(try await fixture.count("users WHERE status = 'pending'") == 1)
        #expect(try await fixture.count("identities") == 1)

        let id = first.json["user"]?["id"]?.string ?? ""
        let approved = try await fixture.service.manage(
            .post, "\(Self.acme)/users/\(id)/approve", "{}")
        #expect(approved["status"]?.string == "active")
        let known = try await Self.own(fixture, "1", "ann@ex.com", more: #","tenant":"acme""#)
        #expect(known.json["outcome"]?.string == "existing", "\(known.text)")
        #expect(known.json["user"]?["id"]?.string == id)
        #expect(known.json["user"]?["role"]?.string == "manager")
        #expect(try await fixture.cognito(event).status == 200)
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
        #expect(try await fixture.count("audit_events WHERE action = 'user.approved'") == 1)
        #expect(try await fixture.count("audit_events WHERE action = 'identity.linked'") == 1)
    }

    @Test func `rule 6 an invite approves a user who waits for approval`() async throws {
        let fixture = try await Self.make(policy: #"{"sign_up":"approval"}"#)
        _ = try await Self.verify(fixture, "ex.com")
        let first = try await Self.own(fixture, "1", "ann@ex.com")
        #expect(first.json["user"]?["status"]?.string == "pending", "\(first.text)")
        _ = try await fixture.invited("ann@ex.com", role: "manager")
        let then = try await Self.own(fixture, "1", "ann@ex.com")
        #expect(then.json["outcome"]?.string == "linked", "\(then.text)")
        #expect(then.json["user"]?["status"]?.string == "active", "\(then.text)")
        #expect(then.json["user"]?["id"] == first.json["user"]?["id"])
        #expect(then.json["user"]?["role"]?.string == "manager")
        #expect(try await fixture.count("users WHERE status = 'active'") == 1)
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 1)
    }

    @Test func `D3 a domain covers its subdomains only if it says so`() async throws {
        let fixture = try await Self.make(policy: #"{"sign_up":"domain"}"#)
        let alone = try await Self.verify(fixture, "ex.com")
        #expect(alone["include_subdomains"]?.bool == false)
        let wide = try await Self.verify(
            fixture, "wide.example", more: #","include_subdomains":true"#)
        #expect(wide["include_subdomains"]?.bool == true)
        for (number, (email, due)) in [
            ("ann@ex.com", "created"), ("ann@eu.ex.com", "no_tenant"),
            ("ann@notex.com", "no_tenant"), ("ann@wide.example", "created"),
            ("ann@eu.wide.example", "created"), ("ann@a.b.wide.example", "created"),
            ("ann@notwide.example", "no_tenant"), ("ann@example", "email_invalid"),
        ].enumerated() {
            let answer = try await Self.own(fixture, "\(number)", email)
            let word = answer.json["reason"]?.string ?? answer.json["outcome"]?.string
            #expect(word == due, "\(email): \(answer.text)")
        }
        #expect(try await fixture.count("users WHERE status = 'active'") == 4)
    }

    /// Who sends an invite for an admin, and what happens to them before it is used.
    enum Fate: CaseIterable, Sendable {
        case keptRole, demoted, deleted, keyRevoked, manager, memberNow

        /// Offered, and given in the end.
        var roles: (offered: String, given: String) {
            switch self {
            case .keptRole, .keyRevoked: ("admin", "admin")
            case .demoted, .deleted: ("admin", "member")
            case .manager: ("manager", "manager")
            case .memberNow: ("manager", "member")
            }
        }
    }

    @Test(arguments: Fate.allCases)
    func `I2 an invite gives no more than its inviter still may when it is used`(fate: Fate)
        async throws
    {
        let fixture = try await Self.make()
        let service = fixture.service
        let roles = fate.roles
        func invite(_ credential: TestService.Credential) async throws {
            let sent = try await service.send(
                .post, "\(Self.acme)/invites",
                json: #"{"email":"ann@ex.com","role":"\#(roles.offered)"}"#, as: credential)
            #expect(sent.status == 201, "\(sent.text)")
        }
        func key(_ json: String) async throws -> JSONValue {
            try await service.manage(
                .post, "\(Self.acme)/api-keys",
                #"{"name":"k","scopes":["invites:write"\#(json)}"#)
        }
        switch fate {
        case .keptRole, .demoted, .deleted:
            let session = try await service.session(role: .admin, tenant: fixture.tenant.id)
            try await invite(.session(session))
            let list = try await service.send(
                .get, "/v1/operators?limit=100", as: .platformOwner)
            let id = list.json["items"]?.array?.first { $0["role"]?.string == "admin" }?["id"]
            let path = "/v1/operators/\(id?.string ?? "")"
            if fate == .demoted {
                try await service.manage(.patch, path, #"{"role":"support"}"#)
            } else if fate == .deleted {
                let gone = try await service.send(.delete, path, as: .platformOwner)
                #expect(gone.status == 204, "\(gone.text)")
            }
        case .keyRevoked:
            let made = try await key(#","users:write","api-keys:write","hooks:signup"]"#)
            try await invite(.bearer(made["key"]?.string ?? ""))
            try await service.manage(
                .post, "\(Self.acme)/api-keys/\(made["id"]?.string ?? "")/revoke", "{}")
        case .manager, .memberNow:
            let user = try await service.makeUser(
                "max@ex.com", name: "Max", role: .manager, password: "a long password",
                in: fixture.tenant)
            let made = try await key(#"],"owner":{"type":"user","id":"\#(user.id)"}"#)
            try await invite(.bearer(made["key"]?.string ?? ""))
            if fate == .memberNow {
                try await service.manage(
                    .patch, "\(Self.acme)/users/\(user.id)", #"{"role":"member"}"#)
            }
        }
        let answer = try await fixture.google("1", "ann@ex.com")
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["user"]?["role"]?.string == roles.given)
        let audit = try await service.send(
            .get, "\(Self.acme)/audit-events?action=invite.accepted", as: .platformOwner)
        let told = audit.text.contains("wider than the inviter")
        #expect(told == (roles.offered != roles.given), "\(audit.text)")
    }

    @Test func `I3 an invite beyond the allowed domains is looked at again when it is used`()
        async throws
    {
        let fixture = try await Self.make(policy: #"{"allowed_domains":["ex.com"]}"#)
        _ = try await fixture.invited("ann@else.example")
        try await Self.setPolicy(
            fixture, #"{"allowed_domains":["ex.com"],"external_invites":false}"#)
        let shut = try await fixture.google("1", "ann@else.example")
        #expect(shut.json["reason"]?.string == "not_invited", "\(shut.text)")
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 1)
        try await Self.setPolicy(fixture, #"{"allowed_domains":["ex.com"]}"#)
        let open = try await fixture.google("1", "ann@else.example")
        #expect(open.json["outcome"]?.string == "linked", "\(open.text)")
    }

    @Test func `rule 3 another proved address uses an invite where the policy lets it`()
        async throws
    {
        let fixture = try await Self.make(policy: #"{"invite_email_must_match":false}"#)
        let invite = try await fixture.invite("ann@ex.com", role: "manager")
        let token = #","invite_token":"\#(invite.token)""#
        let unproved = try await fixture.google(
            "9", "eve@ex.com", verified: false, more: token)
        #expect(unproved.json["reason"]?.string == "invite_email_mismatch", "\(unproved.text)")
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 1)
        let other = try await fixture.google("9", "eve@ex.com", more: token)
        #expect(other.json["outcome"]?.string == "linked", "\(other.text)")
        #expect(other.json["user"]?["role"]?.string == "manager")
        #expect(other.json["invite_id"]?.string == invite.id.description)
        #expect(try await fixture.count("users") == 1)
        #expect(try await fixture.count("identities") == 1)
        #expect(try await fixture.count("invites WHERE status = 'accepted'") == 1)
        let audit = try await fixture.service.send(
            .get, "\(Self.acme)/audit-events", as: .platformOwner)
        let rows = audit.json["items"]?.array ?? []
        let named = rows.first { $0["action"]?.string == "invite.other_address" }
        #expect("\(named?["target"] ?? .null)".contains("eve@ex.com"), "\(audit.text)")
        let accepted = rows.first { $0["action"]?.string == "invite.accepted" }
        #expect("\(accepted?["target"] ?? .null)".contains("ann@ex.com"), "\(audit.text)")
    }

    @Test func `D9 a client's tenant is the requested one, and naming another is refused`()
        async throws
    {
        let fixture = try await Self.make()
        let other = ProvisioningFixture(
            service: fixture.service, tenant: try await fixture.service.makeTenant("other"))
        try await fixture.register(
            #"{"kind":"cognito","name":"Own","issuer":"eu_clients","#
                + #""email_trust":"verified_claim","client_tenants":{"c1":"other"}}"#)
        for (number, (client, due)) in [
            ("c2", "deferred tenant_choice_required"), ("c1", "linked"),
        ].enumerated() {
            for one in [fixture, other] { try await one.invite("ann\(number)@ex.com") }
            let event = ProvisioningFixture.event(
                "PreSignUp_ExternalProvider", userName: "Acme_\(number)",
                email: "ann\(number)@ex.com"
            ).replacing(ProvisioningFixture.pool, with: "eu_clients")
                .replacing(#""clientId":"c1""#, with: #""clientId":"\#(client)""#)
            #expect(try await fixture.cognito(event).status == 200)
            let list = try await fixture.service.send(
                .get, "/v1/provisioning/decisions", as: .platformOwner)
            let last = list.json["items"]?.array?.first
            let words = [last?["outcome"]?.string, last?["reason"]?.string]
            #expect(words.compactMap(\.self).joined(separator: " ") == due, "\(list.text)")
        }
        #expect(try await other.count("users WHERE status = 'active'") == 1)
        #expect(try await fixture.count("users WHERE status = 'active'") == 0)
        // A native sign-up names another tenant than its client does.
        try await other.invite("bob@ex.com")
        let named = ProvisioningFixture.event(
            "PreSignUp_SignUp", userName: "bob", email: "bob@ex.com",
            more: #","clientMetadata":{"tenant":"acme"}"#
        ).replacing(ProvisioningFixture.pool, with: "eu_clients")
        #expect(try await fixture.cognito(named).status == 403)
        let rightly = named.replacing(#""tenant":"acme""#, with: #""tenant":"other""#)
        #expect(try await fixture.cognito(rightly).status == 200)
        #expect(try await fixture.count("reservations") == 1)
    }
}
