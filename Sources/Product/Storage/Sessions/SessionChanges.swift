import Domain
import Postgres
import Text

/// Begins and ends sessions, and changes a user's password and PIN.
extension Change {
    /// Begins a session. Refused (404) unless the user is active at that moment: the row is locked
    /// against a concurrent suspension.
    package func startSession(_ session: NewSession, of user: UUID) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET last_sign_in_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(MergedUsers.survivor(of: user, in: tenant))
                AND status = 'active'
            RETURNING \(UserRow.columns(of: tenant))
            """)
        guard let row = try rows.first.map(UserRow.init) else {
            throw StorageFailure.notFound("user")
        }
        try await query(
            """
            INSERT INTO sessions (tenant_id, id, user_id, client, device, device_type, device_os,
                method, token_hash, created_at, last_seen_at, ip, user_agent, expires_at)
            VALUES (\(tenant), \(session.id), \(row.id), \(session.client), \(session.device),
                \(session.deviceType), \(session.deviceOS), \(session.method.rawValue),
                \(session.tokenHash), \(now), \(now), \(actor.ip), \(session.userAgent),
                \(now.adding(seconds: session.seconds)))
            """)
        try await audit(.sessionStarted, row.target)
        return row
    }

    /// From now on failures elsewhere no longer lock attempts from this device out.
    package func rememberDevice(_ key: [UInt8], of user: UUID) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO known_devices (tenant_id, user_id, key, last_at)
            VALUES (\(tenant), \(user), \(key), \(now))
            ON CONFLICT (tenant_id, user_id, key) DO UPDATE SET last_at = \(now)
            """)
        // Devices unused for 90 days, and all but the newest 20, are unknown again.
        try await query(
            """
            DELETE FROM known_devices WHERE tenant_id = \(tenant) AND user_id = \(user)
                AND (last_at < \(now.adding(seconds: -90 * 86_400)) OR key NOT IN (
                    SELECT key FROM known_devices WHERE tenant_id = \(tenant)
                        AND user_id = \(user) ORDER BY last_at DESC, key LIMIT 20))
            """)
    }

    /// Which of a user's sessions outlast a change.
    package enum KeptSessions: Sendable {
        case none, all
        case only(UUID)
    }

    /// `hash`: a PHC string. Ends the user's sessions except the kept ones.
    package func setPassword(
        _ hash: String, of user: UUID, keeping kept: KeptSessions, mustChange: Bool = false
    ) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET password_hash = \(hash), password_awaited = false,
                must_change_password = \(mustChange), password_changed_at = \(now),
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user) AND status <> 'deleted'
            RETURNING \(UserRow.columns(of: tenant))
            """)
        guard let row = try rows.first.map(UserRow.init) else {
            throw StorageFailure.notFound("user")
        }
        try await endResets(of: user)
        switch kept {
        case .none: try await endSessions(of: row, except: nil)
        case .only(let session): try await endSessions(of: row, except: session)
        case .all: break
        }
        try await audit(.userPasswordChanged, row.target)
        return row
    }

    /// Sets, changes or, with nil, removes the PIN. False if it is no longer the one that was read.
    package func setPin(_ hash: String?, of user: UserRow, was old: String?) async throws -> Bool {
        let changed = try await query(
            """
            UPDATE users SET pin_hash = \(hash)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
                AND pin_hash IS NOT DISTINCT FROM \(old)
            """)
        guard changed.affected == 1 else { return false }
        // An elevated session was elevated by the old PIN.
        try await query(
            """
            UPDATE sessions SET elevated_until = NULL
            WHERE tenant_id = \(tenant) AND user_id = \(user.id)
            """)
        try await audit(hash == nil ? .userPinRemoved : .userPinSet, user.target)
        return true
    }

    /// `until` nil ends the elevation.
    package func elevate(_ session: UUID, until: Timestamp?) async throws(PostgresError) {
        try await query(
            """
            UPDATE sessions SET elevated_until = \(until)
            WHERE tenant_id = \(tenant) AND id = \(session)
            """)
    }

    /// Ends the user's sessions at one client: that one, or all but `kept` if `id` is nil. 404 if there
    /// is no such session.
    package func endSessions(
        of user: UserRow, at client: String, id: UUID? = nil, except kept: UUID? = nil
    ) async throws {
        var sql: SQL =
            """
            DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)
                AND client = \(client) AND id IS DISTINCT FROM \(kept)
            """
        if let id { sql += " AND id = \(id)" }
        let ended = try await query(sql).affected
        if id != nil, ended == 0 { throw StorageFailure.notFound("session") }
        if ended > 0 { try await audit(.sessionEnded, user.target) }
    }

    /// Ends all of a user's sessions but one.
    package func endSessions(of user: UserRow, except kept: UUID?) async throws {
        let ended = try await query(
            """
            DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)
                AND id IS DISTINCT FROM \(kept)
            """)
        if ended.affected > 0 { try await audit(.sessionEnded, user.target) }
    }
}
