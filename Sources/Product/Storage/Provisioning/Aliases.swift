import Domain
import Postgres
import Text

/// Aliases of identities in a Cognito pool: each user's `sub`, in addition to the user name or
/// subject that is the key of the identity.
extension Change {
    /// The most `sub`s that are stored for one federated identity; the oldest is deleted first.
    private static let aliasLimit = 10

    /// Stores the `sub` of a native user with the reservation of their sign-up. A `sub` that the
    /// reservation already has is not replaced.
    func bind(_ alias: PoolAlias, toReservationOf key: IdentityKey, caller: UUID) async throws {
        let rows = try await query(
            """
            UPDATE reservations SET alias = \(alias.sub)
            WHERE caller = \(caller) AND provider = \(key.provider.rawValue)
                AND issuer = \(key.issuer) AND subject = \(key.subject) AND expires_at > \(now)
                AND alias IS NULL
            RETURNING tenant_id
            """)
        guard let row = rows.first else { return }
        let tenant = try row.get(0, as: UUID?.self) ?? .platform
        let tenantChange = try await switching(to: tenant)
        try await tenantChange.audit(
            .signUpBound, AuditTarget("identity", tenant, key.provider.rawValue))
    }

    /// Stores a `sub` as an alias of an identity of this tenant. The identity of a native user gets
    /// only its first `sub`; the identity of an upstream's user gets each new `sub`. A `sub` that
    /// is an alias of another identity is not moved.
    func bind(_ alias: PoolAlias, to identity: UUID, _ key: IdentityKey) async throws {
        let unbound: SQL =
            key.isNativeName
            ? """
             AND NOT EXISTS (SELECT 1 FROM identity_aliases
                WHERE tenant_id = \(tenant) AND identity_id = \(identity))
            """ : ""
        let made = try await query(
            """
            INSERT INTO identity_aliases (tenant_id, pool, alias, identity_id, created_at)
            SELECT anchor.id, \(alias.pool)::text, \(alias.sub)::text, \(identity), \(now)
            FROM \(SQL.anchor(of: tenant)) WHERE anchor.id = \(tenant)\(unbound)
            ON CONFLICT DO NOTHING
            """)
        guard made.affected == 1 else { return }
        try await query(
            """
            DELETE FROM identity_aliases WHERE tenant_id = \(tenant) AND (pool, alias) IN (
                SELECT pool, alias FROM identity_aliases
                WHERE tenant_id = \(tenant) AND identity_id = \(identity)
                ORDER BY created_at DESC, alias OFFSET \(raw: "\(Self.aliasLimit)"))
            """)
        try await query(
            """
            UPDATE identities SET alias_count = (SELECT count(*) FROM identity_aliases
                WHERE tenant_id = \(tenant) AND identity_id = \(identity))
            WHERE tenant_id = \(tenant) AND id = \(identity)
            """)
        try await audit(.identityBound, AuditTarget("identity", identity, key.provider.rawValue))
    }
}

extension Database {
    /// The identity that a call names, whether or not it is stored; `nil` if the provider is
    /// unknown.
    package func identity(of call: ProvisioningCall) async throws -> IdentityKey? {
        try await platformScope.change(by: .system) { change in
            let named = try await preferringKnown(change.named(call), call, change)
            return named.provider == nil ? nil : named.attempt.identity
        }
    }
}

extension Database {
    /// The attempt itself or, if the user has several federated names, the same attempt with the
    /// first name whose identity is stored.
    func preferringKnown(
        _ named: ResolvedAttempt, _ call: ProvisioningCall, _ change: Change
    ) async throws -> ResolvedAttempt {
        guard !call.otherNames.isEmpty, let provider = named.provider,
            case .federated(_, let first) = call.provider
        else { return named }
        for name in [first] + call.otherNames {
            guard
                let person = CognitoMapping.federated(
                    pool: provider, upstream: name.upstream, subject: name.subject)
            else { continue }
            let identity = person.identity
            let key = personKey(
                provider: identity.provider.rawValue, issuer: identity.issuer,
                subject: identity.subject)
            guard try await !change.query("SELECT directory_tenants_of(\(key))").isEmpty else {
                continue
            }
            var named = named
            named.attempt.identity = identity
            named.attempt.upstream = person.upstream
            return named
        }
        return named
    }
}
