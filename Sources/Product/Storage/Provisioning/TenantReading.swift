import Domain
import Postgres
import Text

/// Reads one tenant's part of the facts. Locks each row that the decision may change.
extension Change {
    /// Sends the query that `tenantRead` decodes. It reads the tenant with its policy, the time at
    /// which `identity` was barred from the tenant, and the nearest verified domain among
    /// `suffixes`.
    func askTenant(barring identity: IdentityKey, covering suffixes: [String]) -> AskedRows {
        ask(
            """
            SELECT \(TenantRow.columns), (SELECT document::text FROM policies
                WHERE tenant_id = \(tenant) AND version = policy_version),
                (SELECT barred_at FROM barred_identities
                WHERE tenant_id = \(tenant) AND provider = \(identity.provider.rawValue)
                    AND issuer = \(identity.issuer) AND subject = \(identity.subject)),
                domain_id, domain, display, include_subdomains, claimed_at, proved_at, mode,
                domain_role
            FROM tenants LEFT JOIN LATERAL (
                SELECT d.id AS domain_id, d.domain, d.display, d.include_subdomains,
                    d.created_at AS claimed_at, d.verified_at AS proved_at, d.mode,
                    d.role AS domain_role
                FROM domains d
                WHERE d.tenant_id = \(tenant) AND d.domain = ANY(\(suffixes))
                    AND d.status = 'verified'
                    AND (d.include_subdomains OR d.domain = \(suffixes.first))
                ORDER BY length(d.domain) DESC LIMIT 1) AS covering ON true
            WHERE tenants.id = \(tenant)\(locking(" FOR SHARE OF tenants"))
            """)
    }

    private static let policyChanged = PostgresError(
        .server(sqlstate: "40001", message: "the policy changed meanwhile", constraint: nil))

    /// Decodes the rows of `askTenant`; `nil` if there is no such tenant.
    func tenantRead(_ rows: Rows) throws(PostgresError) -> TenantRead? {
        guard let row = rows.first else { return nil }
        let tenant = try TenantRow(row)
        let end = TenantRow.end
        // If the row has no policy, a new policy was published while the statement waited for the
        // tenant's lock, and the statement does not see it.
        if locksRows, try row.get(end, as: String?.self) == nil { throw Self.policyChanged }
        var read = TenantRead(
            row: tenant,
            policy: TenantPolicy(document: try row.json(end), version: tenant.policyVersion),
            barredSince: try row.get(end + 1, as: Timestamp?.self))
        if let id = try row.get(end + 2, as: UUID?.self) {
            read.domain = TenantDomain(
                id: id, tenantID: tenant.id, domain: try row.get(end + 3),
                display: try row.get(end + 4), status: .verified,
                includeSubdomains: try row.get(end + 5),
                mode: try row.get(end + 8, as: TenantDomain.Mode?.self),
                role: try row.get(end + 9, as: UserRole?.self), createdAt: try row.get(end + 6),
                verifiedAt: try row.get(end + 7, as: Timestamp?.self))
        }
        return read
    }

    /// Sends the query that `people` decodes. It reads and locks the users of an identity and those
    /// at an address. A native user chooses the user name, and another user may have the same name
    /// later. So the `sub`, which the pool asserts, decides: a stored `sub` leads to its user, and
    /// a `sub` that differs from the one stored for the name means another person. A user from an
    /// upstream is identified by the subject alone.
    func askPeople(
        of key: IdentityKey? = nil, alias: PoolAlias? = nil, at emailKey: String?
    ) -> AskedRows {
        var ids: SQL =
            """
            SELECT id FROM identities WHERE tenant_id = \(tenant)
                AND provider = \(key?.provider.rawValue) AND issuer = \(key?.issuer)
                AND subject = \(key?.subject)
            """
        if let alias, key?.isNativeName == true {
            ids += """
                 UNION ALL SELECT identity_id FROM identity_aliases WHERE tenant_id = \(tenant)
                    AND pool = \(alias.pool) AND alias = \(alias.sub)
                """
        }
        return ask(
            """
            WITH known AS (
                SELECT i.id, i.user_id, i.tenants_word, i.alias_count,
                    i.linked_by_type IS NOT NULL AS by_hand,
                    EXISTS (SELECT 1 FROM identity_aliases a WHERE a.tenant_id = \(tenant)
                        AND a.pool = \(alias?.pool) AND a.alias = \(alias?.sub)
                        AND a.identity_id = i.id) AS has_sub
                FROM identities i WHERE i.tenant_id = \(tenant) AND i.id IN (\(ids)))
            SELECT \(Self.userFacts(of: tenant)), u.email_key, k.id, k.tenants_word, k.has_sub,
                k.alias_count, k.by_hand
            FROM (
                SELECT id, min(place) AS place FROM (
                    SELECT user_id AS id, 0 AS place FROM known UNION ALL
                    SELECT id, 1 FROM (
                        SELECT id FROM users WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                        ORDER BY deleted_at DESC NULLS FIRST, id LIMIT 3) AS addressed) AS named
                GROUP BY id ORDER BY place, id) AS wanted
            CROSS JOIN LATERAL (
                SELECT * FROM users WHERE users.tenant_id = \(tenant) AND users.id = wanted.id
                LIMIT 1\(locking(" FOR UPDATE"))) AS u
            LEFT JOIN known k ON k.user_id = u.id
            ORDER BY k.id IS NULL, k.has_sub DESC, u.deleted_at DESC NULLS FIRST, u.id
            """)
    }

    /// Decodes the rows of `askPeople`, which was called with the same arguments. A user whose
    /// address changed before the row was locked does not count as a user at the address.
    func people(
        _ rows: Rows, of key: IdentityKey? = nil, alias: PoolAlias? = nil, at emailKey: String?
    ) throws(PostgresError) -> People {
        var people = People()
        var aliasCounts: [Int] = []
        for row in rows {
            let user = try Self.user(row, from: 0)
            let address: String = try row.get(9)
            if let id = try row.get(10, as: UUID?.self), people.known.count < 2 {
                people.known.append(
                    KnownIdentity(
                        identityID: id, tenantID: tenant, user: user,
                        isAssertedByTenant: try row.get(11), hasThisSub: try row.get(12),
                        isLinkedManually: try row.get(14)))
                aliasCounts.append(try row.get(13))
                people.knownAddress = people.knownAddress ?? address
            }
            guard let emailKey, sameBytes(address, emailKey) else { continue }
            if user.status != .deleted {
                people.live = user
            } else if people.deleted.flatMap(\.deletedAt).map({ $0 < user.deletedAt ?? $0 }) ?? true
            {
                people.deleted = user
            }
        }
        guard let first = people.known.first else { return people }
        people.known = [first]
        if key?.isNativeName == true, alias != nil, !first.hasThisSub, aliasCounts[0] > 0 {
            (people.known, people.former) = ([], [first])
        }
        return people
    }

    /// The user who had the address until recently, if no other user has it now; `nil` if there is
    /// none. If a user who was merged into this one had proved the address, the address counts as
    /// this user's own.
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

    /// The columns that `user` decodes. The identities of a user who is not pending count as
    /// proved, since a rule or an operator linked them. An identity that an operator linked does
    /// not count as unproved, so it is never removed.
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

    /// Sends the query that `invite` decodes. It locks the invite, and reads what determines the
    /// role that its inviter may give.
    func askInvite(where condition: SQL) -> AskedRows {
        let (type, id): (SQL, SQL) = (
            "coalesce(v.role_by_type, v.inviter_type)", "coalesce(v.role_by_id, v.inviter_id)"
        )
        return ask(
            """
            SELECT v.id, v.email, v.email_key, v.role, v.status, v.delivery, v.expires_at,
                v.accepted_at, v.accepted_user_id, v.updated_at,
                coalesce(v.sent_at, v.created_at), \(inviterColumns(type, id))
            FROM invites v WHERE v.tenant_id = \(tenant) AND \(condition)
            ORDER BY v.created_at DESC, v.id LIMIT 1\(locking(" FOR UPDATE OF v"))
            """)
    }

    func askPendingInvite(to emailKey: String) -> AskedRows {
        askInvite(where: "v.email_key = \(emailKey) AND \(SQL.unindexed("v.status")) = 'pending'")
    }

    /// Decodes the rows of `askInvite`; `nil` if there is no invite. `user` is the user at the
    /// invited address.
    func invite(_ rows: Rows, row user: UserFacts?) async throws(PostgresError) -> InviteFacts? {
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
            invite: invite, inviter: try await inviter(row, from: 11), row: user,
            sentAt: try row.get(10))
    }

    /// The columns that `inviter` decodes. The first says whether an operator or a user sent the
    /// invite; it is NULL for other actors, such as a key without an owner. The second is the
    /// operator's id or the user's current role. `type` and `id` name the actor who sent the
    /// invite. If a key has an owner, the owner counts as the inviter.
    func inviterColumns(_ type: SQL, _ id: SQL) -> SQL {
        let isID: SQL = "\(id) ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'"
        let key: SQL =
            """
            (SELECT k.owner_user_id FROM api_keys k WHERE k.tenant_id = \(tenant)
                AND k.id = (SELECT (\(id))::uuid) AND k.owner_type = 'user')
            """
        func role(of user: SQL) -> SQL {
            """
            (SELECT u.role FROM users u WHERE u.tenant_id = \(tenant) AND u.status = 'active'
                AND u.id = \(MergedUsers.survivor(of: user, in: tenant)))
            """
        }
        return """
            CASE WHEN \(isID) THEN CASE \(type)
                WHEN 'operator' THEN 'operator' WHEN 'user' THEN 'user'
                WHEN 'key' THEN CASE WHEN \(key) IS NOT NULL THEN 'user' END END END,
            CASE WHEN \(isID) THEN CASE \(type)
                WHEN 'operator' THEN \(id)
                WHEN 'user' THEN \(role(of: "(SELECT (\(id))::uuid)"))
                WHEN 'key' THEN CASE WHEN \(key) IS NOT NULL THEN \(role(of: key)) END END END
            """
    }

    /// Decodes `inviterColumns`: the highest role that the inviter may give at present.
    func inviter(_ row: Row, from at: Int) async throws(PostgresError) -> InviteFacts.Inviter {
        let role = try row.get(at + 1, as: String?.self)
        switch try row.get(at, as: String?.self) {
        case "operator":
            switch try await operatorRole(role.flatMap(UUID.init)) {
            case "owner", "admin": return .person(mayGive: .admin)
            case "support": return .person(mayGive: .member)
            default: return .person(mayGive: nil)
            }
        case "user":
            let widest = role.flatMap(UserRole.init)
            return .person(mayGive: widest.flatMap { $0 > .member ? $0 : nil })
        default: return .key
        }
    }

    /// The role of an operator who may act for the tenant; `nil` if there is none. Operators are
    /// not stored with the tenant, so this is a separate statement.
    private func operatorRole(_ id: UUID?) async throws(PostgresError) -> String? {
        try await query(
            """
            SELECT role FROM operators WHERE id = \(id) AND status = 'active'
                AND (tenant_id IS NULL OR tenant_id = \(tenant))
            """
        ).first?.get(0)
    }

    /// The user who accepted an invite, and the identity that they used for it.
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
}

/// One tenant's row as a decision reads it.
struct TenantRead: Sendable {
    var row: TenantRow
    var policy: TenantPolicy
    /// When the identity was barred from this tenant; `nil` if it was not.
    var barredSince: Timestamp?
    /// The nearest verified domain for the address; `nil` if there is none.
    var domain: TenantDomain?
}

/// The users of one tenant who may be the person of an attempt.
struct People: Sendable {
    /// The user to whom the identity belongs; at most one.
    var known: [KnownIdentity] = []
    /// Earlier owners of the user name, if the `sub` shows that the name now belongs to another
    /// person.
    var former: [KnownIdentity] = []
    /// The email key of the known user.
    var knownAddress: String?
    /// The user at the address who is not deleted; `nil` if there is none.
    var live: UserFacts?
    /// The most recently deleted user at the address; `nil` if there is none.
    var deleted: UserFacts?
}
