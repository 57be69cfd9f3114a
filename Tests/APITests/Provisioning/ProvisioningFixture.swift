import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Text

/// A service with one tenant, Google and a Cognito pool of the platform.
struct ProvisioningFixture {
    static let pool = "eu-central-1_abc"
    let service: TestService
    let tenant: TenantRow

    static func make(
        policy: String = "{}",
        clock: @escaping @Sendable () -> Timestamp = TestClock.slow()
    ) async throws -> ProvisioningFixture {
        let service = try await TestService.make(clock: clock)
        let policy = try JSONValue(parsing: Array(policy.utf8))
        let tenant = try await service.storage.createTenant(
            slug: "acme", name: "Acme", policy: policy, by: .system)
        let fixture = ProvisioningFixture(service: service, tenant: tenant)
        try await fixture.register(#"{"kind":"google","name":"Google","client_id":"web"}"#)
        try await fixture.register(
            #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","#
                + #""email_trust":"verified_claim"}"#)
        return fixture
    }

    func register(_ json: String) async throws {
        let answer = try await service.send(
            .post, "/v1/providers", json: json, as: .platformOwner)
        guard answer.status == 201 else { throw Unexpected(text: answer.text) }
    }

    struct Unexpected: Error { var text: String }

    // MARK: rows as other parts of the product make them

    /// A pending row, made by an operator or an invite.
    @discardableResult
    func row(
        _ email: String, role: String = "member", source: String = "operator"
    ) async throws -> UUID {
        let id = UUID.random()
        let key = service.storage.personKey(emailKey: email)
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at)
                VALUES (\(change.tenant), \(id), \(email), \(email), \(role), 'pending',
                    \(source), \(change.now), \(change.now))
                """)
            try await change.query("SELECT directory_add_person(\(key))")
        }
        return id
    }

    /// An invite with its pre-provisioned row; the token is `inv_<locator>secret`.
    @discardableResult
    func invite(
        _ email: String, role: String = "member", delivery: String = "mail"
    ) async throws -> (id: UUID, token: String) {
        let user = try await row(email, role: role, source: "invite")
        let id = UUID.random()
        let token = "inv_\(tenant.locator)\(Text.UUID.random())"
        let hash = SHA256.hash(Array(token.utf8))
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            let end = change.now.adding(seconds: 3600)
            try await change.query(
                """
                INSERT INTO invites (tenant_id, id, email, email_key, role, delivery, token_hash,
                    user_id, inviter_type, inviter_id, inviter_name, expires_at, created_at,
                    updated_at)
                VALUES (\(change.tenant), \(id), \(email), \(email), \(role), \(delivery),
                    \(hash), \(user), 'system', 'test', 'Test', \(end), \(change.now),
                    \(change.now))
                """)
        }
        return (id, token)
    }

    /// An invite as an operator makes it: its token opens the acceptance page.
    func invited(_ email: String, role: String = "member") async throws -> String {
        let answer = try await service.send(
            .post, "/v1/tenants/\(tenant.slug)/invites",
            json: #"{"email":"\#(email)","role":"\#(role)"}"#, as: .platformOwner)
        guard answer.status == 201, let token = answer.json["token"]?.string else {
            throw Unexpected(text: answer.text)
        }
        return token
    }

    func accept(
        _ token: String, password: String = "a door that opens once"
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"\#(password)","name":"Ann"}"#)
    }

    /// The tenant's decisions as its operators read them, newest first.
    func decisions() async throws -> [JSONValue] {
        let answer = try await service.send(
            .get, "/v1/tenants/\(tenant.slug)/provisioning/decisions", as: .platformOwner)
        return answer.json["items"]?.array ?? []
    }

    func verifiedDomain(_ domain: String) async throws {
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO domains (tenant_id, id, domain, display, status, token, method,
                    created_at, verified_at)
                VALUES (\(change.tenant), \(UUID.random()), \(domain), \(domain), 'verified', 't',
                    'operator', \(change.now), \(change.now))
                """)
            try await change.query("SELECT directory_claim('domain', \(domain))")
        }
    }

    /// How many rows a query counts in the tenant, or under the nil tenant.
    func count(_ sql: SQL, platform: Bool = false) async throws -> Int {
        let scope = service.storage.scope(platform ? .platform : tenant.id)
        return try await scope.read("/* test */ SELECT count(*) FROM \(sql)").first?.get(
            0, as: Int.self)
            ?? -1
    }

    // MARK: doors

    func hook(_ json: String) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/hooks/pre-signup", json: json, as: .platformOwner)
    }

    func google(
        _ subject: String, _ email: String, verified: Bool = true, more: String = ""
    ) async throws -> TestAnswer {
        try await hook(
            #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                + #""email_verified":\#(verified)\#(more)}"#)
    }

    static func event(
        _ trigger: String, userName: String, email: String, verified: String = "true",
        more: String = ""
    ) -> String {
        #"{"version":"1","triggerSource":"\#(trigger)","region":"eu-central-1","#
            + #""userPoolId":"\#(pool)","userName":"\#(userName)","#
            + #""callerContext":{"awsSdkVersion":"1","clientId":"c1"},"#
            + #""request":{"userAttributes":{"email":"\#(email)","#
            + #""email_verified":"\#(verified)"}\#(more)},"#
            + #""response":{"autoConfirmUser":true,"autoVerifyEmail":true},"later":1.50}"#
    }

    func cognito(_ event: String) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/hooks/pre-signup/cognito", json: event, as: .platformOwner)
    }
}
