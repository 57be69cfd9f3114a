import Domain
import Postgres
import Text

extension Change {
    func named(_ call: ProvisioningCall) async throws(PostgresError) -> ResolvedAttempt {
        var asked: [AskedTenant] = []
        if let caller = call.caller { asked.append(AskedTenant(.caller, caller)) }
        if let text = call.tenant {
            asked.append(AskedTenant(call.tenantSource, try await tenantID(text)))
        }
        let tokenHash = call.inviteHash ?? call.inviteToken.map(TenantToken.hash)
        let joinHash = call.joinHash ?? call.joinToken.map(TenantToken.hash)
        var tokenTenants = try await tenants(ofToken: call.inviteToken)
        tokenTenants += try await tenants(ofToken: call.joinToken)
        if let caller = call.caller { tokenTenants.removeAll { $0 != caller } }
        var provider = try await provider(call, near: asked.compactMap(\.tenantID) + tokenTenants)
        var (identity, upstream) = Self.person(call, provider)
        if let named = provider, call.misnames(named, upstream: upstream) { provider = nil }
        if let alias = call.alias, identity.isNativeName, sameBytes(alias.sub, identity.subject) {
            identity =
                try await reserved(alias, identity, callers(call, provider, asked)) ?? identity
        }
        var attempt = Attempt(
            trigger: call.trigger, identity: identity, upstream: upstream,
            address: Self.address(call.email), emailVerified: call.emailVerified,
            clientID: call.clientID, hasInviteToken: tokenHash != nil)
        attempt.hasJoinToken = joinHash != nil
        if identity.provider == .google {
            attempt.hostedDomain = call.hostedDomain.flatMap {
                try? DomainName($0, allowSingleLabel: true).ascii
            }
        }
        if let owner = provider?.tenantID { asked.append(AskedTenant(.provider, owner)) }
        if let client = call.clientID, let tenant = provider?.clientTenant(client) {
            asked.append(AskedTenant(.client, tenant))
        }
        return ResolvedAttempt(
            attempt: attempt, provider: provider, asked: asked, tokenTenants: tokenTenants,
            tokenHash: tokenHash, joinHash: joinHash, reservers: callers(call, provider, asked))
    }

    /// The callers whose reservations count: a hook's own; for a person's token the provider's
    /// owner, before the credentials of the asked tenant.
    private func callers(
        _ call: ProvisioningCall, _ provider: Provider?, _ asked: [AskedTenant]
    ) -> [UUID] {
        guard call.isInPerson else { return [call.caller ?? .platform] }
        let tenants = asked.filter { $0.source == call.tenantSource }.compactMap(\.tenantID)
        return [provider?.tenantID ?? .platform] + tenants
    }

    func tenantID(_ text: String) async throws(PostgresError) -> UUID? {
        if let id = UUID(text) { return id }
        let rows = try await query("SELECT directory_tenant_by_slug(\(text))")
        return try rows.first?.get(0, as: UUID?.self)
    }

    /// A token carries its tenant's locator: the six characters after its prefix.
    private func tenants(ofToken token: String?) async throws(PostgresError) -> [UUID] {
        guard let token else { return [] }
        let bytes = Array(token.utf8)
        var starts = [0]
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "_") {
            starts.append(index + 1)
        }
        var found: [UUID] = []
        for start in starts.prefix(4) where start + 6 <= bytes.count {
            let locator = String(decoding: bytes[start..<start + 6], as: UTF8.self)
            let rows = try await query("SELECT directory_tenant_by_locator(\(locator))")
            if let id = try rows.first?.get(0, as: UUID?.self), !found.contains(id) {
                found.append(id)
            }
        }
        return found
    }

    /// A kind means the asked tenant's own provider if it has one, else the platform's; an id or a
    /// pool only one that the caller may name.
    private func provider(
        _ call: ProvisioningCall, near tenants: [UUID]
    ) async throws(PostgresError) -> Provider? {
        let rows: Rows
        switch call.provider {
        case .pool(let pool, _, _), .federated(let pool, _):
            rows = try await query(
                """
                SELECT \(ProviderRow.columns) FROM providers
                WHERE kind = 'cognito' AND issuer = \(pool)
                """)
        case .attempt(let text, var issuer, _):
            // For a pool's upstream the pool is what is registered.
            if sameBytes(text, ProviderKind.cognito.rawValue) {
                issuer = issuer.map { CognitoMapping.parts(ofIssuer: $0).pool }
            }
            if let id = UUID(text) {
                rows = try await query(
                    "SELECT \(ProviderRow.columns) FROM providers WHERE id = \(id)")
            } else {
                // A missing issuer means the only one of that kind.
                rows = try await query(
                    """
                    SELECT \(ProviderRow.columns) FROM providers
                    WHERE kind = \(text) AND (\(issuer)::text IS NULL OR issuer = \(issuer))
                        AND (tenant_id IS NULL OR tenant_id = ANY(\(tenants)))
                    ORDER BY tenant_id NULLS LAST, created_at LIMIT 50
                    """)
                if rows.isEmpty, text == ProviderKind.password.rawValue { return Self.passwords }
            }
        }
        var found: [Provider] = []
        for row in rows {
            let row = try ProviderRow(row)
            // A pool asserted by one tenant counts only for that tenant's credentials.
            guard row.isConfirmed || call.caller != nil else { continue }
            if let provider = row.provider { found.append(provider) }
        }
        if let only = call.onlyProvider { found.removeAll { $0.id != only } }
        if let caller = call.caller {
            found.removeAll { $0.tenantID != nil && $0.tenantID != caller }
        }
        let own = found.filter { $0.tenantID != nil }
        let fitting = own.isEmpty ? found : own
        return fitting.count == 1 ? fitting.first : nil
    }

    /// Passwords are built in.
    private static let passwords = Provider(
        id: .platform, kind: .password, name: "Password", issuer: Self.passwordIssuer)

    private static func person(
        _ call: ProvisioningCall, _ provider: Provider?
    ) -> (IdentityKey, upstream: String?) {
        switch call.provider {
        case .attempt(let text, let issuer, let subject):
            let kind = provider?.kind ?? ProviderKind(rawValue: text) ?? .oidc
            if kind == .cognito, let issuer,
                let upstream = CognitoMapping.parts(ofIssuer: issuer).upstream
            {
                return ofUpstream(upstream, subject, provider, issuer: issuer)
            }
            return (
                IdentityKey(
                    provider: kind, issuer: provider?.issuer ?? issuer ?? text, subject: subject),
                nil
            )
        case .pool(let pool, let trigger, let userName):
            if let provider,
                let person = CognitoMapping.person(
                    pool: provider, trigger: trigger, userName: userName)
            {
                return (person.identity, person.upstream)
            }
            return (IdentityKey(provider: .cognito, issuer: pool, subject: userName), nil)
        case .federated(let pool, let name):
            return ofUpstream(
                name.upstream, name.subject, provider, issuer: "\(pool)/\(name.upstream)")
        }
    }

    private static func ofUpstream(
        _ upstream: String, _ subject: String, _ provider: Provider?, issuer: String
    ) -> (IdentityKey, upstream: String?) {
        let person = provider.flatMap {
            CognitoMapping.federated(pool: $0, upstream: upstream, subject: subject)
        }
        if let person { return (person.identity, person.upstream) }
        let issuer = CognitoMapping.canonical(issuer: issuer)
        return (IdentityKey(provider: .cognito, issuer: issuer, subject: subject), nil)
    }

    /// The identity of a native sign-up that this `sub` was bound to.
    private func reserved(
        _ alias: PoolAlias, _ key: IdentityKey, _ callers: [UUID]
    ) async throws(PostgresError) -> IdentityKey? {
        let rows = try await query(
            """
            SELECT subject FROM reservations
            WHERE caller = ANY(\(callers)) AND provider = \(key.provider.rawValue)
                AND issuer = \(key.issuer) AND alias = \(alias.sub) AND expires_at > \(now)
            ORDER BY array_position(\(callers)::uuid[], caller) LIMIT 1
            """)
        return try rows.first.map { (row) throws(PostgresError) in
            IdentityKey(provider: key.provider, issuer: key.issuer, subject: try row.get(0))
        }
    }

    static func address(_ text: String?) -> Attempt.Address {
        guard let text, !text.utf8.allSatisfy({ $0 == 0x20 }) else { return .missing }
        guard let email = try? EmailAddress(text) else { return .malformed }
        return .parsed(Email(key: email.key, display: email.original, domain: email.domain.ascii))
    }
}
