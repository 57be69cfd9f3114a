import Domain
import Postgres
import Text

/// A user's session as stored, without its token's hash.
package struct UserSessionRow: ListedRow {
    package var id: UUID
    package var user: UUID
    package var client: String
    package var device: String?
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    package var ip: String?
    package var userAgent: String?

    init(_ row: Row) throws(PostgresError) {
        id = try row.get(0)
        user = try row.get(1)
        client = try row.get(2)
        device = try row.get(3)
        createdAt = try row.get(4)
        lastSeenAt = try row.get(5)
        ip = try row.get(6)
        userAgent = try row.get(7)
    }
}

extension TenantScope {
    /// The living sessions of a user, one row more than the page, and how many there are.
    package func sessions(
        of user: UUID, _ list: ListQuery
    ) async throws(PostgresError) -> ListPage<UserSessionRow> {
        let statement = ListStatement(
            columns: "id, user_id, client, device, created_at, last_seen_at, ip, user_agent",
            source: """
                sessions WHERE tenant_id = \(tenant) AND user_id = \(user)
                    AND expires_at > \(database.clock())
                """)
        return try await read(statement.page(list)).page(list, UserSessionRow.init)
    }
}

extension Change {
    /// Ends one session, or all of them for `id` nil. 404 where the one is not the user's.
    package func endSessions(of user: UserRow, id: UUID? = nil) async throws {
        var sql: SQL = "DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)"
        if let id { sql += " AND id = \(id)" }
        let ended = try await query(sql).affected
        if id != nil, ended == 0 { throw StorageFailure.notFound("session") }
        if ended > 0 { try await audit("session.ended", user.target) }
    }
}
