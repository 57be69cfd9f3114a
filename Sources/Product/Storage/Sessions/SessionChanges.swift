import Domain
import Postgres
import Text

/// Sessions begun and ended, and the secrets that a user proves itself with.
extension Change {
    /// Begins a session. Refused (404) unless the user is active at that moment: the row is locked
    /// against a suspension that runs beside it.
    package func startSession(_ session: NewSession, of user: UUID) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET last_sign_in_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user) AND status = 'active'
            RETURNING \(UserRow.columns)
            """)
        guard let row = try rows.first.map(UserRow.init) else {
            throw StorageFailure.notFound("user")
        }
        try await query(
            """
            INSERT INTO sessions (tenant_id, id, user_id, client, device, device_type, device_os,
                method, token_hash, created_at, last_seen_at, ip, user_agent, expires_at)
            VALUES (\(tenant), \(session.id), \(user), \(session.client), \(session.device),
                \(session.deviceType), \(session.deviceOS), \(session.method.rawValue),
                \(session.tokenHash), \(now), \(now), \(actor.ip), \(session.userAgent),
                \(now.adding(seconds: session.seconds)))
            """)
        try await audit(.sessionStarted, row.target)
        return row
    }

    /// The device may from now on be wrong without being held back by strangers' guesses.
    package func rememberDevice(_ key: [UInt8], of user: UUID) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO known_devices (tenant_id, user_id, key, last_at)
            VALUES (\(tenant), \(user), \(key), \(now))
            ON CONFLICT (tenant_id, user_id, key) DO UPDATE SET last_at = \(now)
            """)
        // Devices that were not used for 90 days, and all but the newest 20, are strangers again.
        try await query(
            """
            DELETE FROM known_devices WHERE tenant_id = \(tenant) AND user_id = \(user)
                AND (last_at < \(now.adding(seconds: -90 * 86_400)) OR key NOT IN (
                    SELECT key FROM known_devices WHERE tenant_id = \(tenant)
                        AND user_id = \(user) ORDER BY last_at DESC, key LIMIT 20))
            """)
    }

    /// Which of a person's sessions outlive a change.
    package enum KeptSessions: Sendable {
        case none, all
        case only(UUID)
    }

    /// `hash`: a PHC string. Ends the user's sessions but those that are kept.
    package func setPassword(
        _ hash: String, of user: UUID, keeping kept: KeptSessions, mustChange: Bool = false
    ) async throws -> UserRow {
        let rows = try await query(
            """
            UPDATE users SET password_hash = \(hash), must_change_password = \(mustChange),
                password_changed_at = \(now), version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user) AND status <> 'deleted'
            RETURNING \(UserRow.columns)
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

    /// Sets, changes or, with nil, removes the PIN. False where it is no more what it was read as.
    package func setPin(_ hash: String?, of user: UserRow, was old: String?) async throws -> Bool {
        let changed = try await query(
            """
            UPDATE users SET pin_hash = \(hash)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
                AND pin_hash IS NOT DISTINCT FROM \(old)
            """)
        guard changed.affected == 1 else { return false }
        // A lifted session was lifted by the old PIN.
        try await query(
            """
            UPDATE sessions SET elevated_until = NULL
            WHERE tenant_id = \(tenant) AND user_id = \(user.id)
            """)
        try await audit(hash == nil ? .userPinRemoved : .userPinSet, user.target)
        return true
    }

    /// `until` nil lowers it again.
    package func elevate(_ session: UUID, until: Timestamp?) async throws(PostgresError) {
        try await query(
            """
            UPDATE sessions SET elevated_until = \(until)
            WHERE tenant_id = \(tenant) AND id = \(session)
            """)
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
