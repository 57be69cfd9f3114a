import Cryptography
import Domain
import JSON
import Postgres
import Text

/// An API key as stored, with its creator and its version.
package struct APIKeyRow: ListedRow {
    package var key: APIKey
    /// The type of the actor who created the key: `operator`, `user` or `key`.
    package var createdByType: String
    /// The id of the actor who created the key, as text.
    package var createdByID: String
    /// The version, which increases with each change; the ETag is made from it.
    package var version: Int
    package var updatedAt: Timestamp
    /// The name in lower case; the list can be ordered by it.
    package var nameKey: String

    package var id: UUID { key.id }
    package var createdAt: Timestamp { key.createdAt }

    static let columns: SQL =
        """
        tenant_id, id, name, environment, hash, prefix, last4, previous_hash, previous_prefix,
        previous_last4, previous_until, previous_last_used_at, previous_uses, scopes, owner_type,
        owner_user_id, created_by_type, created_by_id, rate_limit, note, allowed_ips,
        allowed_origins, expires_at, last_used_at, last_used_ip, revoked_at, revocation_reason,
        version, created_at, updated_at, name_key, owner_deleted_at, limit_shared_with, given_before
        """

    init(_ row: Row) throws(PostgresError) {
        let tenant: UUID = try row.get(0)
        guard let environment = APIKeySecret.Environment(rawValue: try row.get(3)) else {
            throw PostgresError(.decoding, "environment")
        }
        let user: UUID? = try row.get(15)
        key = APIKey(
            id: try row.get(1), tenantID: tenant == .platform ? nil : tenant,
            owner: tenant == .platform ? .platform : user.map { .user($0) } ?? .tenant(tenant),
            name: try row.get(2), environment: environment,
            current: APIKey.Secret(
                hash: try row.get(4), prefix: try row.get(5), last4: try row.get(6)),
            previous: try Self.previous(row), scopes: try row.get(13),
            allowedIPs: try row.get(20), allowedOrigins: try row.get(21),
            ratePerMinute: try row.get(18), note: try row.get(19), createdAt: try row.get(28),
            expiresAt: try row.get(22), revokedAt: try row.get(25),
            revocationReason: try row.get(26), lastUsedAt: try row.get(23),
            lastUsedIP: try row.get(24))
        key.ownerDeletedAt = try row.get(31)
        key.limitSharedWith = try row.get(32)
        key.isGivenBefore = try row.get(33)
        createdByType = try row.get(16)
        createdByID = try row.get(17)
        version = try row.get(27)
        updatedAt = try row.get(29)
        nameKey = try row.get(30)
    }

    /// The row's value in a cursor: the name key, or `created_at` in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        sort == .name ? nameKey : "\(createdAt.microseconds)"
    }

    private static func previous(_ row: Row) throws(PostgresError) -> APIKey.Previous? {
        guard let hash = try row.get(7, as: [UInt8]?.self),
            let until = try row.get(10, as: Timestamp?.self)
        else { return nil }
        return APIKey.Previous(
            secret: APIKey.Secret(
                hash: hash, prefix: try row.get(8, as: String?.self) ?? "",
                last4: try row.get(9, as: String?.self) ?? ""),
            until: until, lastUsedAt: try row.get(11), uses: try row.get(12))
    }
}

/// API keys of one tenant, or of the platform under the nil tenant.
extension TenantScope {
    /// Returns one page of keys. First writes the uses that this process has counted for this
    /// tenant's keys.
    package func apiKeys(
        _ list: ListQuery, _ filter: APIKeyFilter, walking most: Int? = nil
    ) async throws(PostgresError) -> ListPage<APIKeyRow> {
        await database.writeKeyUses(of: tenant)
        return try await page(
            of: apiKeyList(filter), try await search(filter.text, in: .apiKeys), list,
            walking: most
        ) { rows throws(PostgresError) in try rows.all(APIKeyRow.init) }
    }

    func apiKeyList(_ filter: APIKeyFilter) -> SearchedList {
        SearchedList(
            .apiKeys, of: tenant, in: "name_key", of: APIKeyRow.columns,
            where: "tenant_id = \(tenant)\(filter.condition(at: database.clock()))",
            isWide: filter.isWide)
    }

    /// Returns the key; `nil` if the tenant has no such key. First writes the uses that this
    /// process has counted.
    package func apiKey(_ id: UUID) async throws(PostgresError) -> APIKeyRow? {
        await database.writeKeyUses(of: tenant)
        let rows = try await read(
            """
            SELECT \(APIKeyRow.columns) FROM api_keys WHERE tenant_id = \(tenant) AND id = \(id)
            """)
        return try rows.first.map(APIKeyRow.init)
    }

    /// When the key was last sent in a request's URL; `nil` if it never was.
    package func leakedAt(ofAPIKey id: UUID) async throws(PostgresError) -> Timestamp? {
        let rows = try await read(
            """
            SELECT occurred_at FROM audit_events WHERE tenant_id = \(tenant)
                AND target_id = \(id.description) AND action = \(AuditAction.apiKeyLeaked.rawValue)
            ORDER BY occurred_at DESC LIMIT 1
            """)
        return try rows.first?.get(0)
    }

    /// Returns the number of uses on each of the last `days` days (in UTC), the oldest first; today
    /// is the last.
    package func uses(
        ofAPIKey id: UUID, days: Int
    ) async throws(PostgresError) -> [(at: Timestamp, uses: Int)] {
        await database.writeKeyUses(of: tenant)
        let today = database.clock().microseconds / KeyUses.day
        let starts = (0..<Int64(days)).map {
            Timestamp(microseconds: (today - Int64(days) + 1 + $0) * KeyUses.day)
        }
        let rows = try await read(
            """
            SELECT day, uses FROM api_key_uses
            WHERE tenant_id = \(tenant) AND key_id = \(id) AND day = ANY (\(starts))
            """)
        var counted: [Timestamp: Int] = [:]
        for row in rows { counted[try row.get(0)] = try row.get(1) }
        return starts.map { ($0, counted[$0] ?? 0) }
    }

    /// Returns the scopes that the tenant's own product defines, from the policy in force.
    package func scopeCatalogue() async throws -> [String] {
        let rows = try await read(
            """
            SELECT p.document FROM policies p
            JOIN tenants t ON t.id = p.tenant_id AND t.policy_version = p.version
            WHERE p.tenant_id = \(tenant)
            """)
        guard let row = rows.first else { return TenantPolicy().scopeCatalogue }
        let document = try JSONValue(parsing: Array(row.get(0, as: String.self).utf8))
        return document["scope_catalogue"]?.array?.compactMap(\.string)
            ?? TenantPolicy().scopeCatalogue
    }

    /// Returns the locator that the secrets of this tenant's keys contain; `nil` if there is no
    /// such tenant.
    package func keyLocator() async throws(PostgresError) -> String? {
        tenant == .platform ? APIKeySecret.platformLocator : try await tenantRow()?.locator
    }

    /// Whether the user may own a key: the user exists and is not deleted.
    package func mayOwnKeys(_ user: UUID) async throws(PostgresError) -> Bool {
        let rows = try await read(
            """
            SELECT 1 FROM users
            WHERE tenant_id = \(tenant) AND id = \(user) AND status <> 'deleted'
            """)
        return rows.first != nil
    }
}

extension APIKeySecret {
    /// The stored form of the secret: its hash, its prefix and its last four characters.
    package var stored: APIKey.Secret {
        APIKey.Secret(hash: SHA256.hash(Array(text.utf8)), prefix: prefix, last4: last4)
    }
}

/// The filters of a list of keys.
package struct APIKeyFilter: Sendable {
    var status: APIKey.Status?
    package var owner: UUID?
    var environment: String?
    /// If set, the list contains only active keys that expire within this number of days.
    package var endsWithin: Int?
    /// If set, the list contains only active keys that break the rule for admin-equivalent scopes
    /// (see `givenBefore`). The value lists the ids of the operators who may give such a scope. A
    /// key that one of these operators created can break the rule only by its bounds.
    package var givenBeforeBut: [String]?
    /// A part of the name. A text of fewer than three characters must be the beginning of a word of
    /// the name. The text is looked up before the other filters apply.
    var text: String?

    package init(
        status: APIKey.Status? = nil, owner: UUID? = nil, environment: String? = nil,
        text: String? = nil
    ) {
        self.status = status
        self.owner = owner
        self.environment = environment
        self.text = text
    }

    /// Whether no filter besides the text is set.
    var isWide: Bool {
        status == nil && owner == nil && environment == nil && endsWithin == nil
            && givenBeforeBut == nil
    }

    static func ending(within days: Int, at now: Timestamp) -> SQL {
        let end = now.adding(seconds: Int64(days) * 86_400)
        return """
             AND revoked_at IS NULL AND owner_deleted_at IS NULL AND expires_at > \(now)
                AND expires_at <= \(end)
            """
    }

    /// The condition for active keys that break the rule for admin-equivalent scopes, because they
    /// got such a scope before the rule existed. The rule has two parts: the giver of the scope
    /// must have all rights of an admin, and the key must not be bound to addresses, origins or a
    /// rate if the scope excludes bounds. `covering` lists the ids of the givers who have all these
    /// rights: operators, and the command line.
    static func givenBefore(but covering: [String], at now: Timestamp) -> SQL {
        func overlaps(_ scopes: [ManagementScope]) -> SQL {
            let list = scopes.map(\.rawValue).joined(separator: ",")
            return "scopes && '{\(raw: list)}'::text[]"
        }
        let leading = ManagementScope.allCases.filter(\.isAdminEquivalent)
        return """
             AND given_before AND revoked_at IS NULL AND \(overlaps(leading))
                AND owner_deleted_at IS NULL AND (expires_at IS NULL OR expires_at > \(now))
                AND (created_by_type IN ('key', 'user')
                    OR created_by_type = 'operator' AND created_by_id <> ALL (\(covering)::text[])
                    OR \(overlaps(leading.filter { !$0.mayBeBound }))
                        AND (allowed_ips <> '{}' OR allowed_origins <> '{}' OR rate_limit IS NOT NULL))
            """
    }

    func condition(at now: Timestamp) -> SQL {
        var sql: SQL = ""
        if let owner { sql += " AND owner_user_id = \(owner)" }
        if let environment { sql += " AND environment = \(environment)" }
        if let endsWithin { sql += Self.ending(within: endsWithin, at: now) }
        if let givenBeforeBut { sql += Self.givenBefore(but: givenBeforeBut, at: now) }
        guard let status else { return sql }
        if status == .revoked {
            return sql + " AND (revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL)"
        }
        sql += " AND revoked_at IS NULL AND owner_deleted_at IS NULL"
        if status == .expired { return sql + " AND expires_at <= \(now)" }
        sql += " AND (expires_at IS NULL OR expires_at > \(now))"
        return sql
            + (status == .grace
                ? " AND previous_until > \(now)"
                : " AND (previous_until IS NULL OR previous_until <= \(now))")
    }
}
