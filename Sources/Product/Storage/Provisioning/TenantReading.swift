import Domain
import Postgres
import Text

/// One tenant's part of the facts; each row that a decision may change is locked.
extension Change {
    /// Includes when `identity` was barred here, if it was.
    func tenantWithPolicy(
        barring identity: IdentityKey
    ) async throws(PostgresError) -> (TenantRow, TenantPolicy, barredSince: Timestamp?)? {
        let rows = try await query(
            """
            SELECT \(TenantRow.columns), (SELECT document::text FROM policies
                WHERE tenant_id = \(tenant) AND version = policy_version),
                (SELECT barred_at FROM barred_identities
                WHERE tenant_id = \(tenant) AND provider = \(identity.provider.rawValue)
                    AND issuer = \(identity.issuer) AND subject = \(identity.subject))
            FROM tenants WHERE id = \(tenant)\(locking(" FOR SHARE"))
            """)
        guard let row = rows.first else { return nil }
        let tenant = try TenantRow(row)
        return (
            tenant,
            TenantPolicy(document: try row.json(TenantRow.end), version: tenant.policyVersion),
            try row.get(TenantRow.end + 1, as: Timestamp?.self)
        )
    }

    /// The live row and the deleted ones at an address, newest first.
    func usersAt(_ emailKey: String) async throws(PostgresError) -> [UserFacts] {
        let rows = try await query(
            """
            SELECT \(Self.userFacts(of: tenant)) FROM users u
            WHERE u.tenant_id = \(tenant) AND u.email_key = \(emailKey)
            ORDER BY u.deleted_at DESC NULLS FIRST, u.id LIMIT 3\(locking(" FOR UPDATE OF u"))
            """)
        var users: [UserFacts] = []
        for row in rows { users.append(try Self.user(row, from: 0)) }
        return users
    }

    /// The user who recently had the address: no other user has it or gets it. The proved address of a
    /// user who was merged into this one is this one's own.
    func formerHolder(of emailKey: String) async throws(PostgresError) -> UserFacts? {
        let rows = try await query(
            """
            SELECT \(Self.userFacts(of: tenant)), EXISTS (SELECT 1 FROM users l
                WHERE l.tenant_id = \(tenant) AND l.email_key = f.email_key
                    AND l.status = 'merged' AND l.email_verified_at IS NOT NULL)
            FROM former_addresses f
            JOIN users u ON u.tenant_id = \(tenant) AND u.id = f.user_id
            WHERE f.tenant_id = \(tenant) AND f.email_key = \(emailKey)
                AND f.expires_at > \(now) AND u.status <> 'deleted'
            \(locking("FOR UPDATE OF u"))
            """)
        return try rows.first.map { row throws(PostgresError) in
            var user = try Self.user(row, from: 0)
            user.isByFormerAddress = try !row.get(9, as: Bool.self)
            return user
        }
    }

    /// The identity of a key. A native user name is its user's choice and may be reused, so a
    /// `sub`, which the pool asserts, takes precedence: another `sub` than the name's is another
    /// person, and a known `sub` is its user, whatever the name. An upstream's users are known by
    /// its subject alone.
    func known(
        _ key: IdentityKey, alias: PoolAlias?
    ) async throws(PostgresError) -> (known: [KnownIdentity], former: [KnownIdentity]) {
        let isByAlias: SQL =
            """
            EXISTS (SELECT 1 FROM identity_aliases a WHERE a.tenant_id = \(tenant)
                AND a.pool = \(alias?.pool) AND a.alias = \(alias?.sub) AND a.identity_id = i.id)
            """
        var ids: SQL =
            """
            SELECT id FROM identities WHERE tenant_id = \(tenant)
                AND provider = \(key.provider.rawValue) AND issuer = \(key.issuer)
                AND subject = \(key.subject)
            """
        if let alias, key.isNativeName {
            ids += """
                 UNION ALL SELECT identity_id FROM identity_aliases WHERE tenant_id = \(tenant)
                    AND pool = \(alias.pool) AND alias = \(alias.sub)
                """
        }
        let rows = try await query(
            """
            SELECT \(Self.userFacts(of: tenant)), i.id, u.email_key, i.tenants_word, \(isByAlias),
                i.alias_count, i.linked_by_type IS NOT NULL
            FROM identities i JOIN users u ON u.tenant_id = \(tenant) AND u.id = i.user_id
            WHERE i.tenant_id = \(tenant) AND i.id IN (\(ids))
            ORDER BY 13 DESC LIMIT 2\(locking(" FOR UPDATE OF u"))
            """)
        guard let row = rows.first else { return ([], []) }
        var found: [KnownIdentity] = []
        for row in rows {
            found.append(
                KnownIdentity(
                    identityID: try row.get(9), tenantID: tenant, user: try Self.user(row, from: 0),
                    isAssertedByTenant: try row.get(11), hasThisSub: try row.get(12),
                    isLinkedManually: try row.get(14)))
        }
        if key.isNativeName, alias != nil, !found[0].hasThisSub, try row.get(13, as: Int.self) > 0 {
            return ([], [found[0]])
        }
        let address: String = try row.get(10)
        found[0].invite = try await invite(
            where: "email_key = \(address) AND status = 'pending'", row: found[0].user)
        return ([found[0]], [])
    }

    /// Identities of a row that was never pending were linked by a rule or an operator: proved.
    /// What an operator linked manually is never wiped.
    private static func userFacts(of tenant: UUID) -> SQL {
        """
        u.id, u.status, u.role, u.source, u.deleted_at,
        (u.password_hash IS NOT NULL AND u.email_verified_at IS NOT NULL) OR EXISTS (
            SELECT 1 FROM identities c WHERE c.tenant_id = \(tenant) AND c.user_id = u.id
                AND (c.email_verified OR u.status <> 'pending')),
        (u.password_hash IS NOT NULL AND u.email_verified_at IS NULL) OR EXISTS (
            SELECT 1 FROM identities c WHERE c.tenant_id = \(tenant) AND c.user_id = u.id
                AND NOT c.email_verified AND u.status = 'pending'
                AND c.linked_by_type IS NULL),
        u.email_verified_at IS NOT NULL, u.declined_at IS NOT NULL
        """
    }

    private static func user(_ row: Row, from at: Int) throws(PostgresError) -> UserFacts {
        UserFacts(
            id: try row.get(at), status: try row.get(at + 1), role: try row.get(at + 2),
            source: try row.get(at + 3), hasProvedCredential: try row.get(at + 5),
            hasUnprovedCredential: try row.get(at + 6), isAddressProved: try row.get(at + 7),
            deletedAt: try row.get(at + 4, as: Timestamp?.self),
            isDeclined: try row.get(at + 8))
    }

    func invite(
        where condition: SQL, row user: UserFacts?
    ) async throws(PostgresError) -> InviteFacts? {
        let rows = try await query(
            """
            SELECT id, email, email_key, role, status, delivery, expires_at, accepted_at,
                accepted_user_id, updated_at, coalesce(role_by_type, inviter_type),
                coalesce(role_by_id, inviter_id), coalesce(sent_at, created_at)
            FROM invites WHERE tenant_id = \(tenant) AND \(condition)
            ORDER BY created_at DESC, id LIMIT 1\(locking(" FOR UPDATE"))
            """)
        guard let row = rows.first else { return nil }
        let key: String = try row.get(2)
        let domain = key.split(separator: "@").last.map(String.init) ?? ""
        let invite = Invite(
            id: try row.get(0), tenantID: tenant,
            email: Email(key: key, display: try row.get(1), domain: domain),
            role: try row.get(3), expiresAt: try row.get(6),
            delivery: try row.get(5),
            revokedAt: try row.get(4, as: String.self) == "revoked" ? try row.get(9) : nil,
            acceptedAt: try row.get(7, as: Timestamp?.self),
            acceptedUserID: try row.get(8, as: UUID?.self))
        return InviteFacts(
            invite: invite, inviter: try await inviter(try row.get(10), try row.get(11)),
            row: user, sentAt: try row.get(12))
    }

    /// The widest role that the inviter may give now.
    func inviter(
        _ type: String, _ id: String
    ) async throws(PostgresError) -> InviteFacts.Inviter {
        guard let id = UUID(id) else { return .key }
        switch type {
        case "operator":
            let rows = try await query(
                """
                SELECT role FROM operators WHERE id = \(id) AND status = 'active'
                    AND (tenant_id IS NULL OR tenant_id = \(tenant))
                """)
            switch try rows.first?.get(0, as: String.self) {
            case "owner", "admin": return .person(mayGive: .admin)
            case "support": return .person(mayGive: .member)
            default: return .person(mayGive: nil)
            }
        case "user": return .person(mayGive: try await widest(ofUser: id))
        case "key":
            // A person's own key acts as that person.
            let rows = try await query(
                """
                SELECT owner_user_id FROM api_keys
                WHERE tenant_id = \(tenant) AND id = \(id) AND owner_type = 'user'
                """)
            guard let owner: UUID = try rows.first?.get(0) else { return .key }
            return .person(mayGive: try await widest(ofUser: owner))
        default: return .key
        }
    }

    private func widest(ofUser id: UUID) async throws(PostgresError) -> UserRole? {
        let rows = try await query(
            """
            SELECT role FROM users WHERE tenant_id = \(tenant)
                AND id = \(MergedUsers.survivor(of: id, in: tenant)) AND status = 'active'
            """)
        let role = try rows.first?.get(0, as: String.self)
        return role.flatMap(UserRole.init).flatMap { $0 > .member ? $0 : nil }
    }

    /// The user who accepted an invite.
    func accepted(
        _ user: UUID, _ invite: UUID
    ) async throws(PostgresError) -> (UserFacts?, IdentityKey?) {
        let rows = try await query(
            """
            SELECT \(Self.userFacts(of: tenant)), i.provider, i.issuer, i.subject
            FROM invites v JOIN users u ON u.tenant_id = \(tenant) AND u.id = v.accepted_user_id
            LEFT JOIN identities i ON i.tenant_id = \(tenant) AND i.id = v.accepted_identity_id
            WHERE v.tenant_id = \(tenant) AND v.id = \(invite) AND u.id = \(user)
            """)
        guard let row = rows.first else { return (nil, nil) }
        let facts = try Self.user(row, from: 0)
        guard let kind = try row.get(9, as: String?.self).flatMap(ProviderKind.init) else {
            return (facts, nil)
        }
        return (
            facts, IdentityKey(provider: kind, issuer: try row.get(10), subject: try row.get(11))
        )
    }

    /// The verified domain nearest to an address.
    func domain(covering suffixes: [String]) async throws(PostgresError) -> TenantDomain? {
        let rows = try await query(
            """
            SELECT id, domain, display, include_subdomains, created_at, verified_at, mode, role
            FROM domains
            WHERE tenant_id = \(tenant) AND domain = ANY(\(suffixes)) AND status = 'verified'
                AND (include_subdomains OR domain = \(suffixes.first))
            ORDER BY length(domain) DESC LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        return TenantDomain(
            id: try row.get(0), tenantID: tenant, domain: try row.get(1), display: try row.get(2),
            status: .verified, includeSubdomains: try row.get(3),
            mode: try row.get(6, as: TenantDomain.Mode?.self),
            role: try row.get(7, as: UserRole?.self), createdAt: try row.get(4),
            verifiedAt: try row.get(5, as: Timestamp?.self))
    }
}
