import Domain
import Postgres
import Text

/// A user's session as stored, without its token's hash.
package struct UserSessionRow: ListedRow {
    /// The session's id; its token cannot be derived from it.
    package var id: UUID
    package var user: UUID
    package var client: String
    /// The app's own id of the device; nil if it names none.
    package var device: String?
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    package var ip: String?
    /// The `User-Agent` field; nil if there was none.
    package var userAgent: String?
    package var deviceType: String?
    package var deviceOS: String?
    /// `password` or `oauth`.
    package var method: String
    /// Until when the session is elevated by a PIN.
    package var elevatedUntil: Timestamp?
    /// Exclusive: from then on the session is unknown.
    package var expiresAt: Timestamp

    /// Columns of `sessions s`.
    static let columns: SQL =
        """
        s.id, s.user_id, s.client, s.device, s.created_at, s.last_seen_at, s.ip, s.user_agent,
        s.device_type, s.device_os, s.method, s.elevated_until, s.expires_at
        """
    static let count = 13

    init(_ row: Row, from start: Int = 0) throws(PostgresError) {
        id = try row.get(start)
        user = try row.get(start + 1)
        client = try row.get(start + 2)
        device = try row.get(start + 3)
        createdAt = try row.get(start + 4)
        lastSeenAt = try row.get(start + 5)
        ip = try row.get(start + 6)
        userAgent = try row.get(start + 7)
        deviceType = try row.get(start + 8)
        deviceOS = try row.get(start + 9)
        method = try row.get(start + 10)
        elevatedUntil = try row.get(start + 11)
        expiresAt = try row.get(start + 12)
    }

    /// The device's display name: the app's own id of it, else what the app reports about it.
    package var deviceName: String? {
        if let device { return device }
        let told = [deviceOS, deviceType].compactMap(\.self)
        return told.isEmpty ? nil : told.joined(separator: ", ")
    }

    package func isElevated(at now: Timestamp) -> Bool { elevatedUntil.map { now < $0 } ?? false }
}

extension TenantScope {
    /// The active sessions of a user, one row more than the page, and their count.
    package func sessions(
        of user: UUID, _ list: ListQuery
    ) async throws(PostgresError) -> ListPage<UserSessionRow> {
        let statement = ListStatement(
            columns: UserSessionRow.columns,
            source: """
                sessions s WHERE s.tenant_id = \(tenant) AND s.user_id = \(user)
                    AND s.expires_at > \(database.clock())
                """)
        return try await read(statement.page(list)).page(list) { row throws(PostgresError) in
            try UserSessionRow(row)
        }
    }
}

extension Change {
    /// Proofs of the user from before this moment no longer count. The row is locked.
    func signOut(_ user: UserRow) async throws {
        try await query(
            """
            UPDATE users SET signed_out_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
            """)
        try await endEmailChange(of: user)
    }

    /// Ends one session, or all of them if `id` is nil: then older tokens of providers are refused
    /// as well, and pending links become invalid. 404 if the session is not the user's.
    package func endSessions(
        of user: UserRow, id: UUID? = nil, reason: String? = nil
    ) async throws {
        var sql: SQL = "DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)"
        if let id { sql += " AND id = \(id)" }
        let ended = try await query(sql).affected
        if id != nil, ended == 0 { throw StorageFailure.notFound("session") }
        if id == nil { try await signOut(user) }
        var changes = AuditChanges()
        changes.add("reason", nil, reason)
        if ended > 0 || id == nil { try await audit(.sessionEnded, user.target, changes) }
    }
}
