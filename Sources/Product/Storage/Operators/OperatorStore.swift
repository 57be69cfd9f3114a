import Cryptography
import Domain
import JSON
import Postgres
import Text

/// An operator as stored, without the password's hash.
package struct OperatorRow: ListedRow {
    package var id: UUID
    package var email: String
    /// The normalised address. It is unique within a tenant or the platform, and among all
    /// confirmed operators.
    package var emailKey: String
    package var name: String?
    package var role: Operator.Role
    package var tenant: UUID?
    /// The tenant's name; set only by `named`, since it is not stored in the operator's row.
    package var tenantName: String?
    package var status: Operator.Status
    /// Increases with each change; the ETag is made from it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var lastSignInAt: Timestamp?
    /// Whether the operator owns the address, because the mailbox was proved or the platform
    /// created the row.
    package var isConfirmed: Bool
    /// Increases with each change of the operator's factors; see `requireProof`.
    var proofVersion: Int
    /// What the operator can use as a proof of presence.
    package var factors: OperatorFactors
    /// The stored time from which the operator must have a second factor. It may be set even if the
    /// operator has a second factor.
    private var dueAt: Timestamp?

    static let columns: SQL =
        """
        o.id, o.email, o.email_key, o.name, o.role, o.tenant_id, o.status, o.version, o.created_at,
        o.updated_at, o.last_sign_in_at, o.confirmed, o.proof_version,
        o.second_factor_due_at,
        \(OperatorFactors.columns)
        """
    static let columnCount = 14 + OperatorFactors.columnCount

    init(_ row: Row) throws(PostgresError) {
        factors = OperatorFactors()
        (
            id, email, emailKey, name, role, tenant, status, version, createdAt, updatedAt,
            lastSignInAt, isConfirmed, proofVersion, dueAt, factors.hasPassword,
            factors.passkeys, factors.unusablePasskeys, factors.totp, factors.isAppDisowned,
            factors.recoveryCodesLeft, factors.providerKind, factors.mustUseProvider
        ) = try row.columns()
    }

    /// The time from which the operator must have a second factor; `nil` if they have one already,
    /// or need none.
    package var secondFactorDue: Timestamp? { factors.hasSecondFactor ? nil : dueAt }
}

extension Database {
    package func hasOperator() async throws(PostgresError) -> Bool {
        let rows = try await app.read("SELECT EXISTS (SELECT 1 FROM operators)")
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    package func operatorRow(_ id: UUID) async throws(PostgresError) -> OperatorRow? {
        let rows = try await app.read(
            "SELECT \(OperatorRow.columns) FROM operators o WHERE o.id = \(id)")
        return try await named(rows.map(OperatorRow.init)).first
    }

    /// The same operators with `tenantName` set. One query reads all names, since a tenant's name
    /// is visible only within its own transactions.
    func named(_ rows: [OperatorRow]) async throws(PostgresError) -> [OperatorRow] {
        let names = try await tenantNames(rows.compactMap(\.tenant), to: nil)
        return rows.map { row in
            var row = row
            row.tenantName = row.tenant.flatMap { names[$0] }
            return row
        }
    }

    /// The operators with the address, each with the PHC string of the operator's password, or nil
    /// if no password is set. The confirmed operator comes first, then the operators who have not
    /// proved the address.
    package func operatorsWithPassword(
        emailKey: String
    ) async throws(PostgresError) -> [(OperatorRow, String?)] {
        let rows = try await app.read(
            """
            SELECT \(OperatorRow.columns), o.password_hash FROM operators o
            WHERE o.email_key = \(emailKey) ORDER BY o.confirmed DESC, o.created_at, o.id
            """)
        return try rows.map { row throws(PostgresError) in
            (try OperatorRow(row), try row.get(OperatorRow.columnCount))
        }
    }

    /// The only operator who has confirmed the address; `nil` if there is none.
    package func confirmedOperator(emailKey: String) async throws(PostgresError) -> OperatorRow? {
        try await app.read(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.email_key = \(emailKey) AND o.confirmed
            """
        ).first.map(OperatorRow.init)
    }

    /// Owners and admins without a second factor who are not suspended; at most 100.
    package static func operatorsWithoutSecondFactor(
        _ app: Postgres
    ) async throws(PostgresError) -> [OperatorRow] {
        try await app.read(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.role IN ('owner', 'admin') AND o.status <> 'suspended'
                AND NOT (\(OperatorFactors.hasSecondFactor))
            ORDER BY o.created_at, o.id LIMIT 100
            """
        ).map(OperatorRow.init)
    }

    /// One page of operators. If `scope` is nil, the list has every operator; otherwise it has only
    /// the tenant's own operators.
    package func operators(
        _ list: ListQuery, scope: UUID?, matching text: String? = nil
    ) async throws(PostgresError) -> ListPage<OperatorRow> {
        let statement = ListStatement(
            columns: OperatorRow.columns,
            source: "operators o WHERE true\(Self.operatorFilter(scope, text))")
        var page = try await app.read(statement.page(list)).page(list, OperatorRow.init)
        page.rows = try await named(page.rows)
        return page
    }

    /// Creates an operator whose address the platform confirms. Throws 409 `email_taken` if another
    /// confirmed operator has the address.
    package func createOperator(
        email: String, emailKey: String, name: String?, role: Operator.Role, tenant: UUID?,
        passwordHash: String?, by actor: Actor
    ) async throws -> OperatorRow {
        try await scope(tenant ?? .platform).change(by: actor) { change in
            guard
                let row = try await change.insertOperator(
                    email: email, emailKey: emailKey, name: name, role: role, tenant: tenant,
                    passwordHash: passwordHash, isConfirmed: true)
            else {
                throw StorageFailure.conflict(
                    code: "email_taken", detail: "An operator with this address exists.", id: nil)
            }
            return row
        }
    }
}

/// The values of an operator's fields after a PATCH.
package struct OperatorChange: Sendable {
    package var name: String?
    package var role: Operator.Role
    package var status: Operator.Status

    package init(name: String?, role: Operator.Role, status: Operator.Status) {
        self.name = name
        self.role = role
        self.status = status
    }
}

extension Database {
    static func operatorFilter(_ scope: UUID?, _ text: String?) -> SQL {
        var sql: SQL = ""
        if let scope { sql += " AND o.tenant_id = \(scope)" }
        if let text {
            sql += " AND concat_ws(' ', o.email, o.name) ILIKE ALL (\(patterns(of: text)))"
        }
        return sql
    }
}

extension Change {
    /// Creates an operator. Returns nil if the tenant or platform already has one with the address.
    /// If `isConfirmed`, also returns nil if any confirmed operator has the address.
    package func insertOperator(
        email: String, emailKey: String, name: String?, role: Operator.Role, tenant: UUID?,
        passwordHash: String?, isConfirmed: Bool
    ) async throws -> OperatorRow? {
        let id = UUID.random()
        let status = passwordHash == nil ? Operator.Status.pending : .active
        let rows = try await query(
            """
            INSERT INTO operators AS o (id, email, email_key, name, role, tenant_id, status,
                password_hash, created_at, updated_at, confirmed)
            VALUES (\(id), \(email), \(emailKey), \(name), \(role), \(tenant), \(status),
                \(passwordHash), \(now), \(now), \(isConfirmed))
            ON CONFLICT DO NOTHING RETURNING \(OperatorRow.columns)
            """)
        guard let row = rows.first else { return nil }
        var changes = AuditChanges()
        changes.add("role", nil, role)
        try await audit(.operatorCreated, AuditTarget("operator", id, email), changes)
        return try OperatorRow(row)
    }

    /// What a one-time link permits its operator to do.
    package enum LinkPurpose: String, Sendable {
        case signIn = "sign_in"
        case passwordReset = "password_reset"
        /// The operator may report a change or a sign-in that another person made; see `disown`.
        case notMe = "not_me"
    }

    /// Records that the operator's mailbox was proved. The operator then owns the address, if no
    /// other operator owned it before.
    func confirmOperator(_ id: UUID) async throws {
        let rows = try await query(
            """
            UPDATE operators AS o SET confirmed = true, version = version + 1, updated_at = \(now)
            WHERE o.id = \(id) AND NOT o.confirmed AND NOT EXISTS (
                SELECT 1 FROM operators x WHERE x.email_key = o.email_key AND x.confirmed)
            RETURNING o.email
            """)
        guard let email: String = try rows.first?.get(0) else { return }
        var changes = AuditChanges()
        changes.add("confirmed", .bool(false), .bool(true))
        try await audit(.operatorConfirmed, AuditTarget("operator", id, email), changes)
    }

    /// Creates a one-time link. `isMailed` means that it goes only to the operator's address, so
    /// that its use proves the mailbox.
    package func addOperatorLink(
        _ tokenHash: [UInt8], for person: UUID, to purpose: LinkPurpose = .signIn, seconds: Int64,
        isMailed: Bool, about factor: AddedFactor? = nil
    ) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO operator_links (token_hash, operator_id, purpose, created_at, expires_at,
                mailed, factor, factor_id)
            VALUES (\(tokenHash), \(person), \(purpose.rawValue), \(now),
                \(now.adding(seconds: seconds)), \(isMailed), \(factor?.name), \(factor?.id))
            """)
    }

    /// Locks the operator, and all owners of the scope, so that two owners cannot remove each
    /// other. `others` is 1 if the scope has another active owner who has signed in, otherwise 0.
    package func lockOperator(
        _ id: UUID, scope: UUID?
    ) async throws -> (row: OperatorRow, others: Int)? {
        let place = scope ?? .platform
        try await query(
            "SELECT pg_advisory_xact_lock(hashtextextended(\("operators \(place)"), 0))")
        let found = try await query(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.id = \(id) AND o.tenant_id IS NOT DISTINCT FROM \(scope) FOR UPDATE
            """
        ).first.map(OperatorRow.init)
        guard let found else { return nil }
        let others = try await query(
            """
            SELECT 1 FROM operators o
            WHERE coalesce(o.tenant_id, '00000000-0000-0000-0000-000000000000') = \(place)
                AND o.role = 'owner' AND o.status = 'active' AND o.last_sign_in_at IS NOT NULL
                AND o.id <> \(id) LIMIT 1
            """)
        return (found, others.count)
    }

    /// Writes and audits the fields that differ from the row. If no field differs, nothing changes.
    package func updateOperator(
        _ row: OperatorRow, to next: OperatorChange
    ) async throws -> OperatorRow {
        var changes = AuditChanges()
        changes.add("name", row.name, next.name)
        changes.add("role", row.role, next.role)
        changes.add("status", row.status, next.status)
        if changes.isEmpty { return row }
        let rows = try await query(
            """
            UPDATE operators AS o SET name = \(next.name), role = \(next.role),
                status = \(next.status), version = version + 1, updated_at = \(now),
                proof_version = proof_version
                    + CASE WHEN \(next.status)::text = 'suspended' THEN 1 ELSE 0 END
            WHERE o.id = \(row.id) RETURNING \(OperatorRow.columns)
            """)
        if next.status == .suspended {
            try await query("DELETE FROM operator_sessions WHERE operator_id = \(row.id)")
            try await query("DELETE FROM operator_links WHERE operator_id = \(row.id)")
        }
        try await audit(.operatorUpdated, AuditTarget("operator", row.id, row.email), changes)
        return try rows.only(OperatorRow.init)
    }

    /// Deletes the operator's row, and so also their sessions and links.
    package func deleteOperator(_ row: OperatorRow) async throws {
        try await query("DELETE FROM operators WHERE id = \(row.id)")
        try await audit(.operatorDeleted, AuditTarget("operator", row.id, row.email))
    }
}

/// The set-up of a new server. The server writes a token to its log. A person who has this token
/// can create the first owner.
extension Database {
    /// Whether the set-up is open when the server starts.
    package enum OpenSetup: Sendable {
        /// The set-up is closed: there is or was an operator.
        case closed
        case token(String)
        /// The set-up is open, with a token that this server cannot show again.
        case hidden
    }

    /// Returns the token of the set-up. A token that an earlier start of the server made stays
    /// valid. If there is none, makes a new token.
    package func openSetup() async throws -> OpenSetup {
        try await storeSetup(RandomBytes.make(32), "DO NOTHING")
        let rows = try await app.query(
            """
            SELECT salt, token_hash FROM setup
            WHERE completed_at IS NULL AND NOT EXISTS (SELECT 1 FROM operators)
            """)
        guard let row = rows.first else { return .closed }
        let (salt, hash): ([UInt8]?, [UInt8]?) = try row.columns()
        // A token that was made with another server key cannot be computed again from its salt, so
        // it cannot be shown.
        guard let salt, TokenSecret.hash(setupToken(salt)) == hash else { return .hidden }
        return .token(setupToken(salt))
    }

    /// Makes a new token, which replaces the earlier one. Returns nil if there is or was an
    /// operator.
    package func renewSetup() async throws(PostgresError) -> String? {
        let salt = RandomBytes.make(32)
        let rows = try await storeSetup(
            salt,
            """
            DO UPDATE SET token_hash = excluded.token_hash, salt = excluded.salt
                WHERE s.completed_at IS NULL
            """)
        return rows.first == nil ? nil : setupToken(salt)
    }

    @discardableResult
    private func storeSetup(_ salt: [UInt8], _ conflict: SQL) async throws(PostgresError) -> Rows {
        try await app.query(
            """
            INSERT INTO setup AS s (single, token_hash, salt)
            SELECT true, \(TokenSecret.hash(setupToken(salt))), \(salt)
            WHERE NOT EXISTS (SELECT 1 FROM operators)
            ON CONFLICT (single) \(conflict)
            RETURNING single
            """)
    }

    /// The token for a salt. Only a process with the server's key can compute it.
    private func setupToken(_ salt: [UInt8]) -> String {
        Base64URL.encode(SHA256.authenticate(Array("set-up".utf8) + salt, key: directoryKey))
    }

    package enum SetupState: Sendable {
        case closed, wrongToken, open
    }

    /// Whether the set-up is open and the token is right. Does not use up the token.
    package func setupState(tokenHash: [UInt8]) async throws(PostgresError) -> SetupState {
        let rows = try await app.read(Self.setupQuery(tokenHash, locking: false))
        return try Self.setupState(rows)
    }

    /// Creates the first owner and closes the set-up in one transaction. Returns nil if it is
    /// already closed.
    package func completeSetup(
        tokenHash: [UInt8], email: String, emailKey: String, name: String, passwordHash: String,
        by actor: Actor
    ) async throws -> OperatorRow? {
        try await platformScope.change(by: actor) { change in
            let rows = try await change.query(Self.setupQuery(tokenHash, locking: true))
            guard case .open = try Self.setupState(rows) else { return nil }
            try await change.query(
                "UPDATE setup SET token_hash = NULL, completed_at = \(change.now) WHERE single")
            return try await change.insertOperator(
                email: email, emailKey: emailKey, name: name, role: .owner, tenant: nil,
                passwordHash: passwordHash, isConfirmed: true)
        }
    }

    private static func setupQuery(_ tokenHash: [UInt8], locking: Bool) -> SQL {
        let sql: SQL =
            """
            SELECT completed_at IS NULL AND token_hash IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM operators),
                coalesce(token_hash = \(tokenHash), false)
            FROM setup WHERE single
            """
        return locking ? "\(sql) FOR UPDATE" : sql
    }

    private static func setupState(_ rows: Rows) throws(PostgresError) -> SetupState {
        guard let row = rows.first, try row.get(0, as: Bool.self) else { return .closed }
        return try row.get(1, as: Bool.self) ? .open : .wrongToken
    }
}
