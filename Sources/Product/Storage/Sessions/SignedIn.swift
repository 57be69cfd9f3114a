import Domain
import Postgres
import Text

/// An active session and its user, as they are now.
package struct SignedIn: Sendable {
    /// May be suspended: see `isAdmitted`.
    package var user: UserRow
    /// Read with the user, for checks of a password or PIN.
    package var secrets: UserSecrets
    /// Not expired when it was read.
    package var session: UserSessionRow
    package var tenantStatus: Tenant.Status

    package var standing: Standing { Standing(tenant: tenantStatus, user: user.status) }
}

/// A session to begin.
package struct NewSession: Sendable {
    package enum Method: String, Sendable { case password, oauth }

    /// Random; the token cannot be derived from it.
    package var id = UUID.random()
    /// The hash of the opaque token, or of the access token's `jti`.
    package var tokenHash: [UInt8]
    /// Names the client that the session belongs to.
    package var client: String
    package var method: Method
    /// The app's own id of the device; nil if it names none.
    package var device: String?
    package var deviceType: String?
    package var deviceOS: String?
    /// The `User-Agent` field; nil if there was none.
    package var userAgent: String?
    /// Seconds until the session expires.
    package var seconds: Int64

    /// `tokenHash` is a SHA-256; `seconds` is the lifetime.
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

/// Every look-up of a user's session: the end of a session, or a refusal of its user, takes effect
/// with the next request on any replica.
extension TenantScope {
    /// Either name leads to one session of the tenant.
    package enum SessionName: Sendable {
        case tokenHash([UInt8])
        case id(UUID)
    }

    /// nil if there is none, or if it has expired.
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

    /// At most once a minute. A failure is ignored, and a row that another request is writing is skipped.
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

    /// Whether a sign-in of the user succeeded on that device before.
    package func isKnownDevice(_ key: [UInt8], of user: UUID) async throws(PostgresError) -> Bool {
        let rows = try await read(
            """
            SELECT 1 FROM known_devices
            WHERE tenant_id = \(tenant) AND user_id = \(user) AND key = \(key)
            """)
        return !rows.isEmpty
    }

    /// The live user with this address, and whether the device is known. One query for a known and
    /// for an unknown address.
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
