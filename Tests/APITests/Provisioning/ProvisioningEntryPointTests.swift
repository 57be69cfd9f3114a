import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Every person through every hook, each event repeated: exactly one user comes of it. In every
/// order: OneIdentityTests.
@Suite(.cleansUp) struct ProvisioningEntryPointTests {
    enum Person: String, CaseIterable {
        case invited, preProvisioned, domainMatched

        var email: String { "\(rawValue.lowercased())@ex.com" }
        var role: String { self == .domainMatched ? "member" : "manager" }
    }

    enum EntryPoint: String, CaseIterable {
        case hook, cognito, lambda, native, page
    }

    /// A pool that vouches for the domain, so that a domain-matched person may come through it.
    private static func fixture(_ person: Person) async throws -> ProvisioningFixture {
        let fixture = try await ProvisioningFixture.make(policy: #"{"sign_up":"domain"}"#)
        try await fixture.register(
            #"{"kind":"cognito","name":"Own","issuer":"eu_own","email_trust":"authoritative","#
                + #""domains":["ex.com"]}"#)
        try await fixture.verifiedDomain("ex.com")
        switch person {
        case .invited: _ = try await fixture.invited(person.email, role: person.role)
        case .preProvisioned: try await fixture.row(person.email, role: person.role)
        case .domainMatched: break
        }
        return fixture
    }

    private static func event(_ person: Person, _ trigger: String, native: Bool = false) -> String {
        ProvisioningFixture.event(
            trigger, userName: native ? "person" : "Acme_person", email: person.email,
            verified: trigger == "PreSignUp_SignUp" ? "false" : "true"
        ).replacing(ProvisioningFixture.pool, with: "eu_own")
    }

    /// One event of a door: its path and body.
    private static func call(_ path: String, _ json: String) -> (path: String, json: String) {
        (path, json)
    }

    /// What the door sends at a first sign-in, in order.
    private static func calls(
        _ entryPoint: EntryPoint, _ person: Person, token: String
    ) -> [(path: String, json: String)] {
        let federated = event(person, "PreSignUp_ExternalProvider")
        let confirm = "/v1/hooks/post-confirmation/cognito"
        switch entryPoint {
        case .hook:
            return [
                call(
                    "/v1/hooks/pre-signup",
                    #"{"provider":"google","subject":"person","email":"\#(person.email)","#
                        + #""email_verified":true,"claims":{"hd":"ex.com"}}"#)
            ]
        case .cognito:
            return [
                call("/v1/hooks/pre-signup/cognito", federated),
                // Cognito confirms federated users too, under the same name.
                call(confirm, event(person, "PostConfirmation_ConfirmSignUp")),
            ]
        case .lambda: return [call("/2015-03-31/functions/pre-signup/invocations", federated)]
        case .native:
            return [
                call(
                    "/v1/hooks/pre-signup/cognito",
                    event(person, "PreSignUp_SignUp", native: true)),
                call(confirm, event(person, "PostConfirmation_ConfirmSignUp", native: true)),
            ]
        case .page:
            return [
                call(
                    "/v1/invites/accept",
                    #"{"token":"\#(token)","password":"a entryPoint that opens once"}"#)
            ]
        }
    }

    private static func expectOne(
        _ fixture: ProvisioningFixture, _ person: Person, identities: Int = 1, _ comment: String
    ) async throws {
        let comment = Comment(rawValue: comment)
        #expect(try await fixture.count("users") == 1, comment)
        #expect(
            try await fixture.count("users WHERE status = 'active' AND role = \(person.role)") == 1,
            comment)
        #expect(try await fixture.count("identities") == identities, comment)
        let accepted = person == .invited ? 1 : 0
        #expect(
            try await fixture.count("invites WHERE status = 'accepted'") == accepted, comment)
        #expect(
            try await fixture.count("audit_events WHERE action = 'invite.accepted'") == accepted,
            comment)
        #expect(
            try await fixture.count("audit_events WHERE action = 'identity.linked'") == identities)
        #expect(try await fixture.count("reservations") == 0, comment)
    }

    @Test(arguments: EntryPoint.allCases, Person.allCases)
    func `a first sign-in, each event three times, is one user`(
        entryPoint: EntryPoint, person: Person
    )
        async throws
    {
        // Only who was invited has a link to the page.
        guard entryPoint != .page || person == .invited else { return }
        let fixture = try await Self.fixture(person)
        let token = entryPoint == .page ? try await fixture.resent(person.email) : ""
        for (path, json) in Self.calls(entryPoint, person, token: token) {
            var bytes: Set<[UInt8]> = []
            for number in 0..<3 {
                let answer = try await fixture.service.send(
                    .post, path, json: json, as: .platformOwner)
                let status = entryPoint == .page && number > 0 ? 409 : 200
                #expect(answer.status == status, "\(answer.text)")
                #expect(answer.first("x-amz-function-error") == nil, "\(answer.text)")
                if status == 200 { bytes.insert(answer.bytes) }
            }
            #expect(bytes.count == 1)
        }
        try await Self.expectOne(fixture, person, "\(entryPoint) \(person)")
    }

    @Test(arguments: Person.allCases)
    func `a dry run predicts what the hook then does, and writes nothing`(person: Person)
        async throws
    {
        let fixture = try await Self.fixture(person)
        let (path, json) = Self.calls(.hook, person, token: "")[0]
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let before = try await fixture.service.database.content()
        let dry = try await fixture.service.send(
            .post, "/v1/provisioning/evaluate", json: json, as: .platformOwner)
        #expect(try await fixture.service.database.content() == before)
        let real = try await fixture.service.send(.post, path, json: json, as: .platformOwner)
        #expect(dry.json["outcome"] == real.json["outcome"])
        #expect(real.json["outcome"]?.string == (person == .domainMatched ? "created" : "linked"))
        try await Self.expectOne(fixture, person, "\(person)")
    }

    @Test func `accepted at the page, then federated: one user, who adds the second sign-in`()
        async throws
    {
        let fixture = try await Self.fixture(.invited)
        let person = Person.invited
        let token = try await fixture.resent(person.email)
        #expect(try await fixture.accept(token).status == 200)
        let federated = try await fixture.google("person", person.email)
        #expect(federated.json["reason"]?.string == "identity_link_required")
        try await Self.expectOne(fixture, person, "page, then hook")
        let user = federated.json["user"]?["id"]?.string ?? ""
        let grant = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/\(user)/link-grants", json: "{}", as: .platformOwner)
        let more = #","link_grant":"\#(grant.json["token"]?.string ?? "")""#
        let linked = try await fixture.google("person", person.email, more: more)
        #expect(linked.json["outcome"]?.string == "linked", "\(linked.text)")
        try await Self.expectOne(fixture, person, identities: 2, "page, then grant")
    }

    @Test func `federated, then at the page: the invite is used and sets no password`()
        async throws
    {
        let fixture = try await Self.fixture(.invited)
        let person = Person.invited
        let token = try await fixture.resent(person.email)
        let first = try await fixture.google("person", person.email)
        #expect(first.json["outcome"]?.string == "linked", "\(first.text)")
        let late = try await fixture.accept(token)
        #expect(late.status == 409)
        #expect(late.json["code"]?.string == "invite_used")
        #expect(try await fixture.count("users WHERE password_hash IS NOT NULL") == 0)
        try await Self.expectOne(fixture, person, "hook, then page")
    }
}

extension ProvisioningFixture {
    /// The token of a live invite, given anew.
    func resent(_ email: String) async throws -> String {
        let answer = try await service.send(
            .post, "/v1/tenants/\(tenant.slug)/invites",
            json: #"{"email":"\#(email)","resend":true}"#, as: .platformOwner)
        guard let token = answer.json["token"]?.string else { throw Unexpected(text: answer.text) }
        return token
    }
}
