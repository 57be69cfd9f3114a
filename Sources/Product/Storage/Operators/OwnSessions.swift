import Domain
import JSON
import Postgres
import Text

/// A console session in its operator's list.
package struct OwnSessionRow: Sendable {
    package var id: UUID
    package var method: String
    package var createdAt: Timestamp
    package var lastSeenAt: Timestamp
    package var ip: String?
    package var userAgent: String?

    init(_ row: Row) throws(PostgresError) {
        (id, method, createdAt, lastSeenAt, ip, userAgent) = try row.columns()
    }
}

/// A past sign-in of an operator, from the audit.
package struct OwnSignInRow: Sendable {
    package var at: Timestamp
    package var ip: String?
    /// nil before methods were recorded.
    package var method: String?

    init(_ row: Row) throws(PostgresError) { (at, ip, method) = try row.columns() }
}

extension Database {
    /// More are not listed; each lasts 12 hours at most.
    static let ownSessionsLimit = 100
    private static let signInsLimit = 20

    /// An operator's active sessions, newest first.
    package func sessions(
        ofOperator id: UUID
    ) async throws(PostgresError) -> [OwnSessionRow] {
        let now = clock()
        return try await app.read(
            """
            SELECT id, method, created_at, last_seen_at, ip, user_agent FROM operator_sessions
            WHERE operator_id = \(id) AND expires_at > \(now)
                AND last_seen_at > \(now.adding(seconds: -Self.sessionIdleSeconds))
            ORDER BY created_at DESC, id DESC LIMIT \(Self.ownSessionsLimit)
            """
        ).map(OwnSessionRow.init)
    }

    /// An operator's last sign-ins, newest first.
    package func signIns(of person: OperatorRow) async throws(PostgresError) -> [OwnSignInRow] {
        let tenant = person.tenant ?? .platform
        return try await scope(tenant).read(
            """
            SELECT occurred_at, ip, changes->'method'->>1 FROM audit_events
            WHERE tenant_id = \(tenant) AND target_id = \(person.id.description)
                AND action = 'operator.signed_in'
            ORDER BY occurred_at DESC, id DESC LIMIT \(Self.signInsLimit)
            """
        ).map(OwnSignInRow.init)
    }

    /// Ends one session of the operator, or all but `current`; 404 for one that is not theirs.
    package func endSessions(
        of person: OperatorRow, id: UUID? = nil, except current: UUID? = nil, by actor: Actor
    ) async throws {
        try await scope(person.tenant ?? .platform).change(by: actor) { change in
            let ended = try await change.endOperatorSessions(
                of: person.id, id: id, except: current)
            if id != nil, ended == 0 { throw StorageFailure.notFound("session") }
            guard ended > 0 else { return }
            var changes = AuditChanges()
            changes.add("sessions", .int(ended), .int(0))
            try await change.audit(.operatorSessionEnded, person.target, changes)
        }
    }
}

extension Change {
    /// How many ended.
    func endOperatorSessions(
        of person: UUID, id: UUID? = nil, except current: UUID? = nil
    ) async throws(PostgresError) -> Int {
        var sql: SQL = "DELETE FROM operator_sessions WHERE operator_id = \(person)"
        if let id { sql += " AND id = \(id)" }
        if let current { sql += " AND id <> \(current)" }
        return try await query(sql).affected
    }

    /// An operator's own new password: every other session and every link ends, and no other browser
    /// is known any more.
    package func setOwnPassword(
        _ hash: String, of person: OperatorRow, keeping session: UUID?, in device: [UInt8]?
    ) async throws {
        try await query(
            """
            UPDATE operators SET password_hash = \(hash), version = version + 1,
                proof_version = proof_version + 1, updated_at = \(now)
            WHERE id = \(person.id)
            """)
        _ = try await endOperatorSessions(of: person.id, except: session)
        try await endLinks(of: person.id, keeping: .aboutAnything)
        try await forgetDevices(of: person.id, except: device)
        try await audit(.operatorPasswordChanged, person.target)
    }
}
