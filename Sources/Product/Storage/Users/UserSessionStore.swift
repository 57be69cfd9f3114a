import Domain
import JSON
import Postgres
import Text

/// A user's session as stored, without its token's hash.
package struct UserSessionRow: ListedRow {
    /// The session's id; it does not reveal the token.
    package var id: UUID
    package var user: UUID
    package var client: String
    /// The app's own id of the device; `nil` if the app gives none.
    package var device: String?
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    package var ip: String?
    /// The `User-Agent` field; `nil` if there was none.
    package var userAgent: String?
    package var deviceType: String?
    package var deviceOS: String?
    /// How the user signed in: `password` or `oauth`.
    var method: String
    /// The time until which a PIN elevates the session.
    package var elevatedUntil: Timestamp?
    /// The end of the session, exclusive. From then on the session counts as unknown.
    package var expiresAt: Timestamp

    /// The columns of a session, for the row `s` of `sessions`.
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

    /// The name under which the device is shown: the app's own id of it, otherwise what the app
    /// reports about it.
    package var deviceName: String? {
        if let device { return device }
        let told = [deviceOS, deviceType].compactMap(\.self)
        return told.isEmpty ? nil : told.joined(separator: ", ")
    }

    package func isElevated(at now: Timestamp) -> Bool { elevatedUntil.map { now < $0 } ?? false }
}

extension TenantScope {
    /// One page of a user's active sessions, with their number.
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
    /// Records that the user was signed out everywhere: proofs from before, such as a provider's
    /// older tokens, no longer count. The user's row must be locked.
    func signOut(_ user: UserRow) async throws {
        try await query(
            """
            UPDATE users SET signed_out_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
            """)
        try await endEmailChange(of: user)
    }

    /// Ends one session of the user or, if `id` is nil, all of them. In the second case, older
    /// tokens of providers are refused too, and a pending change of the address is cancelled.
    /// Throws 404 if the session is not the user's.
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

/// When a provider's token was issued, for comparison with the time when all of the user's sessions
/// were ended.
package enum TokenTime: Sendable, Equatable {
    /// The time that the token itself gives, in whole seconds since 1970.
    case at(Int64)
    /// The token does not say when it was issued, so it may be too old.
    case unknown
    /// The token came through a sign-in at this server. The first value is when that sign-in began,
    /// by this server's clock. The second is when the provider last asked the person, in whole
    /// seconds since 1970, or nil if the provider does not say.
    case begun(Timestamp, authenticatedAt: Int64?)

    /// Seconds by which a provider's clock may be behind this server's.
    static let leeway: Int64 = 60

    /// Takes the time from `auth_time` or, without it, from `iat` (OpenID Connect Core section 2).
    /// With `auth_time`, a token that was renewed silently is as old as the sign-in behind it.
    package init(claims: JSONValue) {
        self =
            (Self.seconds(claims["auth_time"]) ?? Self.seconds(claims["iat"])).map(Self.at)
            ?? .unknown
    }

    /// Whether the token is older than the time at which all of the user's sessions were ended.
    /// Whole seconds are compared, and a token of the same second is refused. For a sign-in at this
    /// server, both the time when it began here and the time when the provider asked the person
    /// must be later.
    func isRefused(signedOutAt: Timestamp?) -> Bool {
        guard let signedOutAt else { return false }
        return switch self {
        case .at(let seconds): seconds <= signedOutAt.microseconds / 1_000_000
        case .unknown: true
        case .begun(let time, _): time < signedOutAt || isStale(signedOutAt: signedOutAt)
        }
    }

    /// Whether the token is refused only because the provider did not ask the person again.
    func isStale(signedOutAt: Timestamp) -> Bool {
        guard case .begun(let time, let asked?) = self, time >= signedOutAt else { return false }
        return asked + Self.leeway < signedOutAt.microseconds / 1_000_000
    }

    /// The seconds of a NumericDate (RFC 7519 section 2) without its fraction; `nil` if the value
    /// is not one.
    private static func seconds(_ value: JSONValue?) -> Int64? {
        guard case .number(let text) = value else { return nil }
        let whole = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        guard whole.count <= 12, let seconds = ASCII.number(whole, digits: 12) else { return nil }
        return Int64(seconds)
    }
}

/// Thrown if the provider's token is older than the time at which all of the user's sessions were
/// ended. Nothing was written.
package struct TokenOutdated: Error {
    /// Whether only the person's sign-in at the provider is too old, so that a new sign-in there
    /// helps.
    package var isStale = false
}
