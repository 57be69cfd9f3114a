import Domain
import Postgres
import Text

/// An active session and its user, as currently stored.
package struct SignedIn: Sendable {
    /// The user, who may be suspended; see `isAdmitted`.
    package var user: UserRow
    /// The hashes of the password and the PIN, which are read together with the user.
    package var secrets: UserSecrets
    /// The session, which had not expired when it was read.
    package var session: UserSessionRow
    var tenantStatus: Tenant.Status

    package var standing: Standing { Standing(tenant: tenantStatus, user: user.status) }
}

/// A session to begin.
package struct NewSession: Sendable {
    package enum Method: String, Sendable { case password, oauth }

    /// A random id, which does not depend on the token.
    package var id = UUID.random()
    /// The hash of the opaque token, or of the access token's `jti`.
    var tokenHash: [UInt8]
    /// The name of the client to which the session belongs.
    var client: String
    var method: Method
    /// The app's own id of the device; `nil` if the app gives none.
    var device: String?
    var deviceType: String?
    var deviceOS: String?
    /// The `User-Agent` field; `nil` if there was none.
    var userAgent: String?
    /// Seconds until the session expires.
    var seconds: Int64

    /// `tokenHash` is a SHA-256 hash; `seconds` is the lifetime.
    package init(
        tokenHash: [UInt8], client: String, method: Method, device: String? = nil,
        deviceType: String? = nil, deviceOS: String? = nil, userAgent: String? = nil,
        seconds: Int64
    ) {
        self.tokenHash = tokenHash
        self.client = client
        self.method = method
        self.device = device
        self.deviceType = deviceType
        self.deviceOS = deviceOS
        self.userAgent = userAgent
        self.seconds = seconds
    }
}

/// Look-ups of a user's session. The end of a session, or a refusal of its user, takes effect with
/// the next request on any replica.
extension TenantScope {
    /// What identifies one session of the tenant.
    package enum SessionName: Sendable {
        case tokenHash([UInt8])
        case id(UUID)
    }

    /// The session and its user; `nil` if there is no such session, or if it has expired.
    package func signedIn(_ name: SessionName) async throws -> SignedIn? {
        let condition: SQL =
            switch name {
            case .tokenHash(let hash): "s.token_hash = \(hash)"
            case .id(let id): "s.id = \(id)"
            }
        let now = database.clock()
        let rows = try await read(
            """
            SELECT \(UserRow.columns(of: tenant)), \(UserSecrets.columns), \(UserSessionRow.columns), t.status
            FROM sessions s
            JOIN users ON users.tenant_id = \(tenant) AND users.id = s.user_id
            JOIN tenants t ON t.id = \(tenant)
            WHERE s.tenant_id = \(tenant) AND \(condition) AND s.expires_at > \(now)
            """)
        guard let row = rows.first else { return nil }
        let found = SignedIn(
            user: try UserRow(row), secrets: try UserSecrets(row),
            session: try UserSessionRow(row, from: UserSecrets.end),
            tenantStatus: try row.get(UserSecrets.end + UserSessionRow.count))
        await noteUse(of: found.session, at: now)
        return found
    }

    /// Records that a session was used, at most once a minute. Ignores a failure, and skips a row
    /// that another request is writing.
    private func noteUse(of session: UserSessionRow, at now: Timestamp) async {
        guard session.lastSeenAt.adding(seconds: 60) <= now else { return }
        _ = try? await write(
            """
            UPDATE sessions SET last_seen_at = \(now)
            WHERE tenant_id = \(tenant) AND id = (SELECT id FROM sessions
                WHERE tenant_id = \(tenant) AND id = \(session.id)
                    AND last_seen_at <= \(now.adding(seconds: -60))
                FOR UPDATE SKIP LOCKED)
            """)
    }

    /// Whether the user has signed in on the device with this key before.
    package func isKnownDevice(_ key: [UInt8], of user: UUID) async throws(PostgresError) -> Bool {
        let rows = try await read(
            """
            SELECT 1 FROM known_devices
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND key = \(key)
            """)
        return !rows.isEmpty
    }

    /// The user with this address, and whether the user has signed in on this device before. A
    /// deleted user is not found. This is always one query, so that its time does not reveal
    /// whether the address is known.
    package func userWithPassword(
        emailKey: String, device: [UInt8]
    ) async throws(PostgresError) -> (user: UserRow, secrets: UserSecrets, isKnown: Bool)? {
        let rows = try await read(
            """
            SELECT \(UserRow.columns(of: tenant)), \(UserSecrets.columns), EXISTS (
                SELECT 1 FROM known_devices d WHERE d.tenant_id = \(tenant)
                    AND d.user_id = users.id AND d.key = \(device))
            FROM users WHERE users.tenant_id = \(tenant) AND users.email_key = \(emailKey)
                AND users.status <> 'deleted'
            """)
        guard let row = rows.first else { return nil }
        return (try UserRow(row), try UserSecrets(row), try row.get(UserSecrets.end))
    }
}

/// Begins and ends sessions, and changes a user's password and PIN.
extension Change {
    /// Starts a session. Throws 404 unless the user is active. The user's row is locked, so that a
    /// concurrent suspension does not miss the session.
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

    /// Records that the user signed in on the device. From then on, failed attempts elsewhere do
    /// not lock out attempts from this device.
    package func rememberDevice(_ key: [UInt8], of user: UUID) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO known_devices (tenant_id, user_id, key, last_at)
            VALUES (\(tenant), \(user), \(key), \(now))
            ON CONFLICT (tenant_id, user_id, key) DO UPDATE SET last_at = \(now)
            """)
        // Forgets devices that were not used for 90 days, and all but the newest 20.
        try await query(
            """
            DELETE FROM known_devices WHERE tenant_id = \(tenant) AND user_id = \(user)
                AND (last_at < \(now.adding(seconds: -90 * 86_400)) OR key NOT IN (
                    SELECT key FROM known_devices WHERE tenant_id = \(tenant)
                        AND user_id = \(user) ORDER BY last_at DESC, key LIMIT 20))
            """)
    }

    /// Which of a user's sessions continue after a change.
    package enum KeptSessions: Sendable {
        case none, all
        case only(UUID)
    }

    /// Sets the user's password; `hash` is a PHC string. Ends the user's sessions, except those
    /// that `kept` names.
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

    /// Sets the PIN, or removes it if `hash` is nil. `old` is the hash that was read before;
    /// returns false if another hash is stored by now.
    package func setPin(_ hash: String?, of user: UserRow, was old: String?) async throws -> Bool {
        let changed = try await query(
            """
            UPDATE users SET pin_hash = \(hash)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
                AND pin_hash IS NOT DISTINCT FROM \(old)
            """)
        guard changed.affected == 1 else { return false }
        // Ends every elevation of the user's sessions, since these sessions were elevated with the
        // old PIN.
        try await query(
            """
            UPDATE sessions SET elevated_until = NULL
            WHERE tenant_id = \(tenant) AND user_id = \(user.id)
            """)
        try await audit(hash == nil ? .userPinRemoved : .userPinSet, user.target)
        return true
    }

    /// Elevates a session until the given time; nil ends the elevation.
    package func elevate(_ session: UUID, until: Timestamp?) async throws(PostgresError) {
        try await query(
            """
            UPDATE sessions SET elevated_until = \(until)
            WHERE tenant_id = \(tenant) AND id = \(session)
            """)
    }

    /// Ends the user's sessions at one client: the one with `id` or, if `id` is nil, all but
    /// `kept`. Throws 404 if there is no such session.
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

    /// Ends all of a user's sessions except `kept`.
    func endSessions(of user: UserRow, except kept: UUID?) async throws {
        let ended = try await query(
            """
            DELETE FROM sessions WHERE tenant_id = \(tenant) AND user_id = \(user.id)
                AND id IS DISTINCT FROM \(kept)
            """)
        if ended.affected > 0 { try await audit(.sessionEnded, user.target) }
    }
}
