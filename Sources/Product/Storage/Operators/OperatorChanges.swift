import Domain
import JSON
import Postgres
import Text

/// What a PATCH may change of an operator.
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
    /// Creates an operator; nil if the scope has one with the address, or, for a confirmed one, if
    /// any confirmed one has it.
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

    /// What a one-time link lets its operator do.
    package enum LinkPurpose: String, Sendable {
        case signIn = "sign_in"
        case passwordReset = "password_reset"
        /// In a mail about the account; see `disown`.
        case notMe = "not_me"
    }

    /// The operator's mailbox is proved: the row owns the address, unless another row already does.
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

    /// Creates a one-time link in this transaction. `isMailed`: it goes only to the operator's
    /// address, so that following it proves the mailbox.
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

    /// Locks the operator, and the scope until the transaction ends, so that two owners cannot remove each
    /// other. `others`: 1 if the scope has another active owner who has signed in, else 0.
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

    /// Writes and audits the fields that differ; changes nothing if none does.
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

    /// Sessions and links end with the row.
    package func deleteOperator(_ row: OperatorRow) async throws {
        try await query("DELETE FROM operators WHERE id = \(row.id)")
        try await audit(.operatorDeleted, AuditTarget("operator", row.id, row.email))
    }
}
