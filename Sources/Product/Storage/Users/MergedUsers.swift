import Domain
import Postgres
import Text

/// The ids of users who were merged into another user. Such an id now stands for that other user,
/// the winner.
enum MergedUsers {
    /// An SQL expression for the winner if the id is a merged user's, otherwise for the id itself.
    /// It is a SELECT of its own, since under row-level security PostgreSQL otherwise uses no index
    /// for a comparison with COALESCE.
    static func survivor(of id: UUID, in tenant: UUID) -> SQL {
        survivor(of: "\(id)::uuid", in: tenant)
    }

    /// Like the other `survivor`, but `id` is an SQL expression. If `id` contains a cast or
    /// COALESCE, it must be a SELECT of its own.
    static func survivor(of id: SQL, in tenant: UUID) -> SQL {
        """
        (SELECT coalesce((SELECT merged.user_id FROM merged_users merged
            WHERE merged.tenant_id = \(tenant) AND merged.id = \(id)), \(id)))
        """
    }

    /// A column for a row of `users`: the ids of the users who were merged into that user,
    /// separated by commas; NULL if there are none.
    static func ids(in tenant: UUID) -> SQL {
        """
        (SELECT string_agg(merged.id::text, ',' ORDER BY merged.id) FROM merged_users merged
            WHERE merged.tenant_id = \(tenant) AND merged.user_id = users.id)
        """
    }

    /// Decodes the column `ids`.
    static func list(_ text: String?) -> [UUID] {
        text?.split(separator: ",").compactMap { UUID(String($0)) } ?? []
    }
}

extension TenantScope {
    /// The user into whom this user was merged; `nil` if the id is not a merged user's.
    package func winner(over id: UUID) async throws(PostgresError) -> UUID? {
        let rows = try await read(
            "SELECT user_id FROM merged_users WHERE tenant_id = \(tenant) AND id = \(id)")
        return try rows.first?.get(0)
    }

    /// The same ids, in which each merged user's id is replaced by the winner's.
    package func survivors(of ids: [UUID]) async throws(PostgresError) -> [UUID] {
        let winners = try await winners(over: ids)
        return ids.map { winners[$0] ?? $0 }
    }

    /// For each of these ids that belongs to a merged user, the id of the winner.
    package func winners(over ids: [UUID]) async throws(PostgresError) -> [UUID: UUID] {
        let rows = try await read(
            """
            SELECT id, user_id FROM merged_users WHERE tenant_id = \(tenant) AND id = ANY (\(ids))
            """)
        var winners: [UUID: UUID] = [:]
        for row in rows { winners[try row.get(0)] = try row.get(1, as: UUID.self) }
        return winners
    }

    /// All ids by which past records may refer to this user.
    func everyID(of id: UUID) async throws(PostgresError) -> [UUID] {
        let rows = try await readLagging(
            """
            SELECT \(MergedUsers.survivor(of: id, in: tenant)) UNION SELECT m.id FROM merged_users m
            WHERE m.tenant_id = \(tenant) AND m.user_id = \(MergedUsers.survivor(of: id, in: tenant))
            """)
        return try rows.all { row throws(PostgresError) in try row.get(0) }
    }
}

extension Change {
    /// Does the same as `winner` in `TenantScope`, within this transaction.
    package func winner(over id: UUID) async throws -> UUID? {
        try await query(
            "SELECT user_id FROM merged_users WHERE tenant_id = \(tenant) AND id = \(id)"
        ).first?.get(0)
    }

    /// Runs `body`, whose statements can see the rows of merged users.
    func seeingMerged<Result>(_ body: () async throws -> Result) async throws -> Result {
        transaction.setLater("app.merged", "on")
        let result = try await body()
        transaction.setLater("app.merged", "off")
        return result
    }

    /// Purges the users who were merged into `row`, because `row` is being purged. Returns how many
    /// HMACs of those users are left as tombstones.
    func purgeMerged(
        into row: UserRow, isManual: Bool
    ) async throws -> Int {
        try await query(
            """
            UPDATE user_merges SET left_identities = '[]', left_aliases = '[]', addresses = '{}',
                winner_email_key = NULL
            WHERE tenant_id = \(tenant) AND (winner_id = \(row.id) OR loser_id = \(row.id))
            """)
        let merged = try await query(
            "SELECT id FROM merged_users WHERE tenant_id = \(tenant) AND user_id = \(row.id)")
        guard !merged.isEmpty else { return 0 }
        let losers = try await seeingMerged {
            try await query(
                """
                UPDATE users SET status = 'deleted', deleted_at = \(now)
                WHERE tenant_id = \(tenant) AND \(SQL.unindexed("status")) = 'merged' AND id IN (
                    SELECT m.id FROM merged_users m
                    WHERE m.tenant_id = \(tenant) AND m.user_id = \(row.id))
                RETURNING \(UserRow.columns(of: tenant))
                """
            ).all(UserRow.init)
        }
        var tombstones = 0
        for loser in losers {
            tombstones += try await purgeUser(loser, isManual: isManual)
                .count
        }
        return tombstones
    }
}
