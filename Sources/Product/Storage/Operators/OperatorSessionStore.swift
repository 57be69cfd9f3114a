import Domain
import JSON
import Postgres
import Text

/// A console session with its operator.
package struct OperatorSession: Sendable {
    package var id: UUID
    package var `operator`: OperatorRow
    /// When the operator last proved presence in this session, with `method`; `nil` if never.
    private var steppedUpAt: Timestamp?
    private var method: SignInMethod

    /// Whether the operator has a second factor here but signed in through the provider without
    /// one. The console first requires a step-up of such a session.
    package var lacksSecondFactor: Bool {
        method == .provider && `operator`.factors.hasSecondFactor
    }

    /// Whether the provider reported that the sign-in of this session used a second factor.
    package private(set) var hasProvidersFactor: Bool

    /// Seconds for which a proof of presence counts as recent. Actions that are hard to undo
    /// require a recent one.
    package static let recentSeconds: Int64 = 600

    /// The time until which the operator counts as present; `nil` without a proof. A proof by
    /// password does not count once the operator has a second factor, even if another session set
    /// up that factor.
    package var stepUpUntil: Timestamp? {
        guard `operator`.factors.isStepUp(method) else { return nil }
        return steppedUpAt?.adding(seconds: Self.recentSeconds)
    }

    static let columns: SQL = "s.id, s.stepped_up_at, s.method, s.provider_factor"
    static let columnCount = 4

    /// Decodes the columns of `OperatorRow`, followed by the columns of the session.
    init(_ row: Row) throws(PostgresError) {
        `operator` = try OperatorRow(row)
        id = try row.get(OperatorRow.columnCount)
        steppedUpAt = try row.get(OperatorRow.columnCount + 1)
        let name = try row.get(OperatorRow.columnCount + 2, as: String?.self)
        method = name.flatMap { SignInMethod(rawValue: $0) } ?? .password
        hasProvidersFactor = try row.get(OperatorRow.columnCount + 3)
    }
}

/// The content of a mail about a sign-in. The mail is sent only if the browser is new.
package struct NewDeviceMail: Sendable {
    /// When, where and with what the sign-in happened.
    var words: String
    var publicURL: String

    package init(words: String, publicURL: String) {
        self.words = words
        self.publicURL = publicURL
    }
}

/// Console sessions, which end after 30 minutes without use or 12 hours in all. Only the hashes of
/// their tokens are stored.
extension Database {
    /// Seconds after which a console session ends even if it is used.
    static let sessionSeconds: Int64 = 12 * 3600
    /// Seconds without use after which a console session ends.
    static let sessionIdleSeconds: Int64 = 30 * 60

    /// The active session whose cookie has this hash, with its operator; `nil` if there is none.
    package func operatorSession(
        tokenHash: [UInt8]
    ) async throws(PostgresError) -> OperatorSession? {
        let now = clock()
        let rows = try await app.read(
            """
            SELECT \(OperatorRow.columns), \(OperatorSession.columns), s.last_seen_at
            FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
            WHERE s.token_hash = \(tokenHash) AND s.expires_at > \(now)
                AND s.last_seen_at > \(now.adding(seconds: -Self.sessionIdleSeconds))
            """)
        guard let row = rows.first else { return nil }
        let session = try OperatorSession(row)
        let seen: Timestamp = try row.get(
            OperatorRow.columnCount + OperatorSession.columnCount)
        if seen < now.adding(seconds: -60) { await noteUse(of: session.id, at: now) }
        return session
    }

    /// Records that a session was used, at most once a minute. A failure is ignored, so that
    /// requests are answered even while the database refuses writes. Skips a row that another
    /// request is writing.
    private func noteUse(of session: UUID, at now: Timestamp) async {
        _ = try? await app.mark(
            """
            UPDATE operator_sessions SET last_seen_at = \(now)
            WHERE id = (SELECT id FROM operator_sessions
                WHERE id = \(session) AND last_seen_at < \(now.adding(seconds: -60))
                FOR UPDATE SKIP LOCKED)
            """)
    }

    /// Signs an operator in: creates the session, stores the time of the sign-in, and writes the
    /// audit row. The sign-in counts as a step-up if `method` proves as much as a step-up and
    /// `isFresh` is true. `isFresh` is false if the provider says that its user signed in there
    /// long ago. `provider` is the provider at which the operator signed in. `device` identifies
    /// the browser, which is known from now on. If the browser was not known before, `mail` is
    /// sent, except at the operator's first sign-in.
    package func startOperatorSession(
        _ person: OperatorRow, tokenHash: [UInt8], userAgent: String?, method: SignInMethod,
        at provider: UUID? = nil, isFresh: Bool = true, by actor: Actor,
        in device: [UInt8]? = nil, mailing mail: NewDeviceMail? = nil
    ) async throws {
        try await scope(person.tenant ?? .platform).change(by: actor) { change in
            // Locks the row first: a concurrent suspension must neither be lifted nor miss the new
            // session, and the factors must still be those with which the operator proved presence.
            let alive = try await change.query(
                """
                UPDATE operators SET last_sign_in_at = \(change.now), status = 'active',
                    second_factor_due_at = \(secondFactorDue(at: change.now))
                WHERE id = \(person.id) AND status <> 'suspended'
                    AND proof_version = \(person.proofVersion)
                RETURNING 1
                """)
            guard !alive.isEmpty else {
                try await change.requireProof(of: person)
                throw StorageFailure.notFound("operator")
            }
            let proved = isFresh && person.factors.isStepUp(method) ? change.now : nil
            try await change.query(
                """
                INSERT INTO operator_sessions (id, token_hash, operator_id, ip, user_agent, method,
                    provider_id, provider_factor, stepped_up_at, created_at, last_seen_at,
                    expires_at)
                VALUES (\(UUID.random()), \(tokenHash), \(person.id), \(actor.ip), \(userAgent),
                    \(method.rawValue), \(provider), \(method == .providerMFA), \(proved), \(change.now), \(change.now),
                    \(change.now.adding(seconds: Self.sessionSeconds)))
                """)
            if let device, try await change.rememberDevice(device, of: person.id),
                let mail, person.lastSignInAt != nil
            {
                // There is no mail about an operator's first sign-in, since every browser is new
                // then.
                try await change.tellOfSignIn(mail, to: person)
            }
            var changes = AuditChanges()
            changes.add("method", nil, method)
            try await change.audit(
                .operatorSignedIn, AuditTarget("operator", person.id, person.email), changes)
        }
    }

    /// An expression for the time from which an operator needs a second factor. Owners and admins
    /// have some days, counted from their first sign-in after a second factor became required.
    private func secondFactorDue(at now: Timestamp) -> SQL {
        guard let secondFactorDays = options.secondFactorDays else { return "NULL" }
        let due = now.adding(seconds: Int64(secondFactorDays) * 86_400)
        return """
            CASE WHEN role IN ('owner', 'admin') THEN coalesce(second_factor_due_at, \(due)) END
            """
    }

    /// Records a new proof of presence in the session. The session gets a new id and a new token,
    /// and the old ones become invalid. Returns nil if the session has ended, for example by a
    /// concurrent step-up. `provider` is the provider at which presence was proved. A recovery code
    /// does not prove presence: it only lets the session be used.
    package func stepUp(
        _ session: UUID, of person: OperatorRow, tokenHash: [UInt8], method: SignInMethod,
        at provider: UUID? = nil, by actor: Actor
    ) async throws -> UUID? {
        try await scope(person.tenant ?? .platform).change(by: actor) { change -> UUID? in
            try await change.requireProof(of: person)
            let id = UUID.random()
            let proved = method == .recoveryCode ? nil : change.now
            let rows = try await change.query(
                """
                UPDATE operator_sessions SET id = \(id), token_hash = \(tokenHash),
                    method = \(method.rawValue),
                    provider_id = coalesce(\(provider), provider_id),
                    provider_factor = provider_factor OR \(method == .providerMFA),
                    stepped_up_at = \(proved), last_seen_at = \(change.now)
                WHERE id = \(session) AND operator_id = \(person.id)
                    AND expires_at > \(change.now)
                RETURNING 1
                """)
            if rows.isEmpty { return nil }
            var changes = AuditChanges()
            changes.add("method", nil, method)
            try await change.audit(
                .operatorSteppedUp, AuditTarget("operator", person.id, person.email), changes)
            return id
        }
    }

    /// Makes the operator count as one who has never signed in. It is for an operator in whose name
    /// only a program has signed in.
    package func forgetSignIns(of person: OperatorRow) async throws {
        _ = try await scope(person.tenant ?? .platform).change(by: .system) { change in
            try await change.query(
                "UPDATE operators SET last_sign_in_at = NULL WHERE id = \(person.id)")
        }
    }

    package func endOperatorSession(_ id: UUID, of person: OperatorRow, by actor: Actor)
        async throws
    {
        try await scope(person.tenant ?? .platform).change(by: actor) { change in
            try await change.query("DELETE FROM operator_sessions WHERE id = \(id)")
            try await change.audit(
                .operatorSignedOut, AuditTarget("operator", person.id, person.email))
        }
    }

    /// Stores the hash of a sign-in link, which can be used once.
    package func storeOperatorLink(
        _ tokenHash: [UInt8], for person: UUID, seconds: Int64
    ) async throws(PostgresError) {
        let now = clock()
        _ = try await app.query(
            """
            INSERT INTO operator_links (token_hash, operator_id, purpose, created_at, expires_at)
            VALUES (\(tokenHash), \(person), 'sign_in', \(now), \(now.adding(seconds: seconds)))
            """)
    }

    /// Marks a link as used. Returns nil if it is unknown, used or expired. One statement enforces
    /// single use. The caller must then check `isProviderRequired`, since a link must not sign in
    /// an operator who may sign in only at the provider. That check must come after this call,
    /// since using a mailed link may have confirmed the address.
    package func consumeOperatorLink(_ tokenHash: [UInt8]) async throws -> OperatorRow? {
        let now = clock()
        let rows = try await app.query(
            """
            UPDATE operator_links l SET used_at = \(now) FROM operators o
            WHERE l.token_hash = \(tokenHash) AND l.purpose = 'sign_in' AND l.used_at IS NULL AND l.expires_at > \(now)
                AND o.id = l.operator_id RETURNING \(OperatorRow.columns), l.mailed
            """)
        guard let row = rows.first else { return nil }
        let person = try OperatorRow(row)
        if try row.get(OperatorRow.columnCount, as: Bool.self) { try await confirm(person) }
        return person
    }

    /// Confirms the operator's address, because a link that was mailed to it was used. From now on
    /// this operator owns the address, if no other operator with the same address was confirmed
    /// earlier.
    private func confirm(_ person: OperatorRow) async throws {
        if person.isConfirmed { return }
        do {
            try await scope(person.tenant ?? .platform).change(by: .system) { change in
                try await change.confirmOperator(person.id)
            }
        } catch let error as PostgresError where error.isUniqueViolation {
            // Another operator with this address was confirmed concurrently. Both operators can
            // sign in, but only the other operator owns the address.
        }
    }
}

extension Change {
    /// Records that the operator proved presence by setting up a second factor. This proof counts
    /// only in this session.
    package func provePresence(in session: UUID?, by method: SignInMethod) async throws {
        guard let session else { return }
        try await query(
            """
            UPDATE operator_sessions SET method = \(method.rawValue), stepped_up_at = \(now)
            WHERE id = \(session)
            """)
    }
}

/// A console session as its own operator sees it in a list.
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

/// A past sign-in of an operator, from the audit trail.
package struct OwnSignInRow: Sendable {
    package var at: Timestamp
    package var ip: String?
    /// How the operator signed in; `nil` for sign-ins from before methods were recorded.
    package var method: String?

    init(_ row: Row) throws(PostgresError) { (at, ip, method) = try row.columns() }
}

extension Database {
    /// The maximum number of sessions in the list. Each session lasts at most 12 hours.
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

    /// An operator's latest sign-ins, newest first.
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

    /// Ends one session of the operator or, if `id` is nil, all except `current`. Throws 404 if the
    /// operator has no such session.
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
    /// Ends one session of the operator or, if `id` is nil, all except `current`. Does not check
    /// that there is such a session, and writes no audit row. Returns how many sessions ended.
    func endOperatorSessions(
        of person: UUID, id: UUID? = nil, except current: UUID? = nil
    ) async throws(PostgresError) -> Int {
        var sql: SQL = "DELETE FROM operator_sessions WHERE operator_id = \(person)"
        if let id { sql += " AND id = \(id)" }
        if let current { sql += " AND id <> \(current)" }
        return try await query(sql).affected
    }

    /// Sets a new password that the operator chose. Ends every session except `session`,
    /// invalidates every link, and forgets every browser except `device`.
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
