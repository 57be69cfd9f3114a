import Cryptography
import Domain
import Postgres
import Text

/// A new link grant, whose token is shown only once.
package struct IssuedLinkGrant: Sendable {
    /// The tenant's locator (6 characters) and 43 random characters.
    package var token: String
    /// When the grant expires: at most `LinkGrant.lifetime` seconds after its creation.
    package var expiresAt: Timestamp
}

extension Change {
    /// The earlier of `end` and `latest`; `end` if `latest` is nil.
    func earlier(_ end: Timestamp, _ latest: Timestamp?) -> Timestamp {
        latest.map { min($0, end) } ?? end
    }

    /// Creates a link grant, which ends at `latest` if that is before its normal end. The user's
    /// row must be locked.
    package func makeLinkGrant(
        for user: UserRow, until latest: Timestamp? = nil
    ) async throws -> IssuedLinkGrant {
        try require(user, user.status != .deleted && user.status != .suspended)
        let locator = try await query("SELECT locator FROM tenants WHERE id = \(tenant)")
            .only { row throws(PostgresError) in try row.get(0, as: String.self) }
        let grant = IssuedLinkGrant(
            token: TenantToken.make(locator: locator),
            expiresAt: earlier(now.adding(seconds: LinkGrant.lifetime), latest))
        try await query(
            """
            INSERT INTO link_grants (tenant_id, id, token_hash, user_id, created_at,
                expires_at, made_by_type, made_by_id)
            VALUES (\(tenant), \(UUID.random()), \(TenantToken.hash(grant.token)), \(user.id),
                \(now), \(grant.expiresAt), \(actor.type), \(actor.id))
            """)
        try await audit(.linkGrantCreated, user.target)
        return grant
    }

    /// The grant whose token has this hash, in any state, locked; `nil` if it is unknown.
    package func linkGrant(hash: [UInt8]) async throws(PostgresError) -> LinkGrant? {
        let rows = try await query(
            """
            SELECT id, user_id, expires_at, used_at FROM link_grants
            WHERE tenant_id = \(tenant) AND token_hash = \(hash)
            \(locking("FOR UPDATE"))
            """)
        guard let row = rows.first else { return nil }
        return LinkGrant(
            id: try row.get(0), userID: try row.get(1), expiresAt: try row.get(2),
            usedAt: try row.get(3))
    }

    /// Marks a grant as used. Returns false if it is unknown, used or expired. One statement
    /// decides which of several requests succeeds.
    package func consumeLinkGrant(_ id: UUID) async throws(PostgresError) -> Bool {
        try await query(
            """
            UPDATE link_grants SET used_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(id) AND used_at IS NULL
                AND expires_at > \(now)
            """
        ).affected == 1
    }
}

extension TenantScope {
    /// The user of a grant that can be used now. The grant's page shows this user before anything
    /// happens. `hash` is the hash of the grant's token. Returns `nil` if the grant is unknown,
    /// used or expired, or if the user is not active.
    package func grantedUser(_ hash: [UInt8]) async throws -> UserRow? {
        let rows = try await read(
            """
            SELECT user_id FROM link_grants
            WHERE tenant_id = \(tenant) AND token_hash = \(hash) AND used_at IS NULL
                AND expires_at > \(database.clock())
            """)
        guard let id = try rows.first?.get(0, as: UUID.self) else { return nil }
        let found = try await user(id)
        return found?.status == .active ? found : nil
    }
}

extension Database {
    /// Eight digits that the grant's page shows, and that an app may request in addition to the
    /// grant. A person who knows the digits has read on that page whose account it is. `hash` is
    /// the hash of the grant's token.
    package func challenge(ofGrant hash: [UInt8]) -> String {
        let code = directory.authenticate(Array("challenge of grant ".utf8) + hash)
        let number = code.prefix(7).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 100_000_000
        let digits = "\(number)"
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }
}

/// An identity that a provider proved, to be added to a user with a link grant.
package struct GrantedSignIn: Sendable {
    /// A `ProviderKind` raw value.
    var provider: String
    /// The issuer. Within a tenant, an identity is unique by provider, issuer and subject.
    var issuer: String
    var subject: String
    var email: String?
    /// Whether only the tenant's own provider proves the identity, so that it counts only in that
    /// tenant.
    var isAssertedByTenant: Bool

    /// `email` is nil if the provider gave none.
    package init(
        provider: String, issuer: String, subject: String, email: String?, isAssertedByTenant: Bool
    ) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
        self.email = email
        self.isAssertedByTenant = isAssertedByTenant
    }
}

/// What happened when a grant was presented.
package enum GrantUse: Sendable {
    case linked(UserRow)
    /// The identity is linked to the grant's user already, so nothing changed.
    case again(UserRow)
    case unknown, used, over
    /// The identity belongs to another user.
    case conflict
    /// The operator who created the grant presented it for their own address, or the user is not
    /// active.
    case refused
}

extension Change {
    /// Whether `address` is that of the operator who created the grant. Operators must not sign in
    /// with their own grants.
    func isMakers(_ address: String?, of grant: UUID) async throws(PostgresError) -> Bool {
        guard let address, let key = try? EmailAddress(address).key else { return false }
        let rows = try await query(
            """
            SELECT 1 FROM link_grants g JOIN operators o ON o.id::text = g.made_by_id
            WHERE g.tenant_id = \(tenant) AND g.id = \(grant) AND g.made_by_type = 'operator'
                AND o.email_key = \(key)
            """)
        return !rows.isEmpty
    }

    /// Audits that a grant was refused because its creator presented it.
    func auditRefusedGrant(_ grant: UUID) async throws {
        try await audit(.linkGrantRefused, AuditTarget("link_grant", grant, grant.description))
    }

    /// Adds a proved identity, whatever its address, to the user of a grant, and uses up the grant.
    /// One statement decides which of several requests succeeds. `hash` is the hash of the grant's
    /// token.
    package func useLinkGrant(
        _ hash: [UInt8], for signIn: GrantedSignIn
    ) async throws -> GrantUse {
        let owner = try await query(
            """
            SELECT user_id FROM link_grants
            WHERE tenant_id = \(tenant) AND token_hash = \(hash)
            """)
        guard let id = try owner.first?.get(0, as: UUID.self) else { return .unknown }
        // The user's row is locked first, as in every transaction.
        let user = try await lockUser(id)
        guard let grant = try await linkGrant(hash: hash) else { return .unknown }
        let isMine = user.identities.contains {
            sameBytes($0.provider, signIn.provider) && sameBytes($0.issuer, signIn.issuer)
                && sameBytes($0.subject, signIn.subject)
        }
        if grant.usedAt != nil { return isMine ? .again(user) : .used }
        guard now < grant.expiresAt else { return .over }
        guard user.status == .active else { return .refused }
        if try await isMakers(signIn.email, of: grant.id) {
            try await auditRefusedGrant(grant.id)
            return .refused
        }
        if isMine { return .again(user) }
        let holder = try await query(
            """
            SELECT 1 FROM identities WHERE tenant_id = \(tenant) AND provider = \(signIn.provider)
                AND issuer = \(signIn.issuer) AND subject = \(signIn.subject)
            """)
        guard holder.isEmpty else { return .conflict }
        guard try await consumeLinkGrant(grant.id) else { return .used }
        let (linked, _) = try await linkIdentity(
            user, provider: signIn.provider, issuer: signIn.issuer, subject: signIn.subject,
            email: signIn.email, isAssertedByTenant: signIn.isAssertedByTenant)
        try await audit(.linkGrantUsed, AuditTarget("link_grant", grant.id, grant.id.description))
        return .linked(linked)
    }
}
