import Domain
import Postgres
import Text

extension Change {
    func named(_ call: ProvisioningCall) async throws(PostgresError) -> ResolvedAttempt {
        let found = try await found(call)
        var asked: [AskedTenant] = []
        if let caller = call.caller { asked.append(AskedTenant(.caller, caller)) }
        if let text = call.tenant {
            asked.append(AskedTenant(call.tenantSource, UUID(text) ?? found.asked))
        }
        let tokenHash = call.inviteHash ?? call.inviteToken.map(TenantToken.hash)
        let joinHash = call.joinHash ?? call.joinToken.map(TenantToken.hash)
        var tokenTenants = found.tokenTenants
        if let caller = call.caller { tokenTenants.removeAll { $0 != caller } }
        var provider = found.provider
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
        attempt.addressFault = call.addressFault
        attempt.isAddressOpen = call.isAddressOpen
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

    /// The callers whose reservations this call may use. A hook uses only its own. A person's token
    /// uses those of the provider's owner, then those of the requested tenant.
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

    /// The parts of a token that may be its tenant's locator: six characters at the start of the
    /// token or after a `_`.
    private static func locators(ofToken token: String?) -> [String] {
        let bytes = Array((token ?? "").utf8)
        var starts = [0]
        for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "_") {
            starts.append(index + 1)
        }
        return starts.prefix(4).filter { $0 + 6 <= bytes.count }
            .map { String(decoding: bytes[$0..<$0 + 6], as: UTF8.self) }
    }

    /// Finds the requested tenant, the tenants of the tokens and the provider of a call, in one
    /// statement. If the call names the provider by its kind, that means the requested tenant's own
    /// provider if the tenant has one, otherwise the platform's. An id or a pool finds only a
    /// provider that the caller may name.
    private func found(
        _ call: ProvisioningCall
    ) async throws(PostgresError) -> (asked: UUID?, tokenTenants: [UUID], provider: Provider?) {
        let id = call.tenant.flatMap { UUID($0) }
        let locators =
            Self.locators(ofToken: call.inviteToken) + Self.locators(ofToken: call.joinToken)
        let rows = try await query(
            """
            WITH near AS MATERIALIZED (
                SELECT directory_tenant_by_slug(\(id == nil ? call.tenant : nil)) AS asked,
                    ARRAY(SELECT tenant FROM (
                        SELECT directory_tenant_by_locator(locator) AS tenant, place
                        FROM unnest(\(locators)::text[]) WITH ORDINALITY AS t (locator, place)) AS named
                    WHERE tenant IS NOT NULL ORDER BY place) AS by_token)
            SELECT near.asked, near.by_token, \(ProviderRow.columns)
            FROM near LEFT JOIN providers ON \(Self.naming(call.provider, [call.caller, id]))
                AND \(Self.counting(for: call.caller))
            ORDER BY tenant_id NULLS LAST, created_at LIMIT 50
            """)
        guard let first = rows.first else { throw PostgresError(.decoding, "no row of names") }
        var named: [ProviderRow] = []
        for row in rows where try row.get(2, as: UUID?.self) != nil {
            named.append(try ProviderRow(row, from: 2))
        }
        return (try first.get(0, as: UUID?.self), try first.get(1), Self.chosen(of: named, call))
    }

    private static func chosen(of rows: [ProviderRow], _ call: ProvisioningCall) -> Provider? {
        if rows.isEmpty, case .attempt(ProviderKind.password.rawValue, _, _) = call.provider {
            return passwords
        }
        var found = rows.compactMap(\.provider)
        if let only = call.onlyProvider { found.removeAll { $0.id != only } }
        let own = found.filter { $0.tenantID != nil }
        let fitting = own.isEmpty ? found : own
        return fitting.count == 1 ? fitting.first : nil
    }

    /// The SQL condition for the providers that count for the caller. For a tenant's credential,
    /// the platform's providers and the tenant's own count; for the platform's credential, all
    /// confirmed ones count. So a pool that a tenant claims without proof counts only for that
    /// tenant's credentials. SQL checks this, since any number of tenants may claim one pool.
    private static func counting(for caller: UUID?) -> SQL {
        caller.map { "(tenant_id IS NULL OR tenant_id = \($0))" } ?? "confirmed"
    }

    /// The SQL condition for the provider that a call names. A kind can mean a provider of the
    /// platform, of the requested tenant, of a token's tenant, or of one of `tenants`.
    private static func naming(_ name: ProvisioningCall.ProviderName, _ tenants: [UUID?]) -> SQL {
        switch name {
        case .pool(let pool, _, _), .federated(let pool, _):
            return "kind = 'cognito' AND issuer = \(pool)"
        case .attempt(let text, var issuer, _):
            if let id = UUID(text) { return "id = \(id)" }
            // The issuer in a call may include a pool's upstream. Compare only the pool, since
            // upstreams are not registered.
            if sameBytes(text, ProviderKind.cognito.rawValue) {
                issuer = issuer.map { CognitoMapping.parts(ofIssuer: $0).pool }
            }
            // Without an issuer the call means the only provider of that kind.
            return """
                kind = \(text) AND (\(issuer)::text IS NULL OR issuer = \(issuer))
                    AND (tenant_id IS NULL OR tenant_id = near.asked
                        OR tenant_id = ANY(near.by_token || \(tenants.compactMap(\.self))::uuid[]))
                """
        }
    }

    /// The built-in provider of password identities.
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

    /// The identity that a reservation of a native sign-up has for this `sub`; `nil` if there is
    /// none.
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

extension Database {
    /// Chooses the address that the decision uses. Changes nothing unless the provider verified
    /// several addresses and a tenant is requested. If the call's invite is to one of the
    /// addresses, that address is chosen. Without such an invite, the candidates are the addresses
    /// that have an invite or a pending user in the tenant. The primary address is chosen if it is
    /// a candidate or if there are no candidates. If it is not a candidate, the only candidate is
    /// chosen or, if there are several, `isAddressOpen` is set. The choice is made once, before
    /// anything is locked.
    func choosingAddress(_ call: ProvisioningCall) async throws -> ProvisioningCall {
        guard !call.otherEmails.isEmpty, let text = call.tenant else { return call }
        var asked = UUID(text)
        if asked == nil { asked = try await tenant(text)?.id }
        guard let asked else { return call }
        let primary = call.emailVerified == true ? call.email : nil
        var candidates: [String: String] = [:]
        for email in [primary].compactMap(\.self) + call.otherEmails {
            guard let key = try? EmailAddress(email).key, candidates[key] == nil else { continue }
            candidates[key] = email
        }
        let hash = call.inviteHash ?? call.inviteToken.map(TenantToken.hash)
        let keys = Array(candidates.keys)
        let rows = try await app.tenantRead(
            asked,
            """
            SELECT invited.email_key, invited.is_asked FROM unnest(\(keys)::text[]) AS address, LATERAL (
                SELECT email_key, token_hash = \(hash)::bytea AS is_asked FROM invites
                WHERE tenant_id = \(asked) AND email_key = address
                    AND (\(SQL.unindexed("status")) = 'pending' AND expires_at > \(clock())
                        OR token_hash = \(hash)::bytea) OFFSET 0) AS invited
            UNION SELECT waiting.email_key, false FROM unnest(\(keys)::text[]) AS address, LATERAL (
                SELECT email_key FROM users WHERE tenant_id = \(asked) AND email_key = address
                    AND \(SQL.unindexed("status")) = 'pending' OFFSET 0) AS waiting
            """)
        var invited: Set<String> = []
        for row in rows {
            let key: String = try row.get(0)
            if try row.get(1, as: Bool?.self) == true { return call.decided(by: candidates[key]) }
            invited.insert(key)
        }
        let primaryKey = primary.flatMap { try? EmailAddress($0).key }
        if invited.isEmpty || primaryKey.map({ invited.contains($0) }) ?? false { return call }
        if invited.count == 1 { return call.decided(by: invited.first.flatMap { candidates[$0] }) }
        var open = call
        open.isAddressOpen = true
        return open
    }
}

extension ProvisioningCall {
    /// The same attempt with `chosen`, a verified address, as its main address. The earlier main
    /// address becomes one of the other addresses if it is verified too, since each verified
    /// address proves something about the person.
    fileprivate func decided(by chosen: String?) -> ProvisioningCall {
        guard let chosen, email.map({ !sameBytes($0, chosen) }) ?? true else { return self }
        var call = self
        call.otherEmails =
            otherEmails.filter { !sameBytes($0, chosen) }
            + (emailVerified == true ? [email].compactMap(\.self) : [])
        call.email = chosen
        call.emailVerified = true
        return call
    }
}
