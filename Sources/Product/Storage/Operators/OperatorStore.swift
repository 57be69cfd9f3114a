import Domain
import Postgres
import Text

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

    /// The operators with the names of their tenants, which none is seen by outside of a tenant's
    /// transaction: by one query for all.
    package func named(_ rows: [OperatorRow]) async throws(PostgresError) -> [OperatorRow] {
        let names = try await tenantNames(rows.compactMap(\.tenant), to: nil)
        return rows.map { row in
            var row = row
            row.tenantName = row.tenant.flatMap { names[$0] }
            return row
        }
    }

    /// The operators with the address: the confirmed one first, then the unproved claims. With the
    /// PHC string of the password, nil if none is set.
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

    /// The one operator who confirmed the address.
    package func confirmedOperator(emailKey: String) async throws(PostgresError) -> OperatorRow? {
        try await app.read(
            """
            SELECT \(OperatorRow.columns) FROM operators o
            WHERE o.email_key = \(emailKey) AND o.confirmed
            """
        ).first.map(OperatorRow.init)
    }

    /// Owners and admins, not suspended, without a second factor: at most 100.
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

    /// `scope` nil: every operator; a tenant: only its own.
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

    /// Creates an operator that the platform confirms; 409 `email_taken` if the address has a
    /// confirmed one.
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
