import Postgres
import Text

/// A sign-in at a client that failed before the rules were asked, so that no decision explains it.
package struct FailedSignIn: ListedRow {
    package var id = UUID.random()
    package var client: String
    /// The tenant at whose client it failed; the platform's id: at no tenant's. Set by the store.
    package var tenant = UUID.platform
    /// The route below the client's mount: `POST /auth/token`.
    package var operation: String
    /// For operators: `id token: nonce_mismatch`.
    package var reason: String
    package var requestID: String
    /// The six characters that the page showed; nil for attempts that were stored before pages showed any.
    package var reference: String?
    package var ip: String?
    package var userAgent: String?
    package var createdAt: Timestamp
    /// Of wrong passwords and PINs: how many within the minute; nil: another failure.
    package var tries: Int?
    /// Whose password it was; both nil: of no account, or another failure.
    package var user: UUID?
    package var `operator`: UUID?

    static let columns: SQL =
        """
        id, tenant_id, client, operation, reason, request_id, reference, ip, user_agent, created_at,
        tries, user_id, operator_id
        """

    package init(
        client: String, operation: String, reason: String, requestID: String, reference: String,
        ip: String?, userAgent: String?, at time: Timestamp
    ) {
        self.client = client
        self.operation = operation
        self.reason = reason
        self.requestID = requestID
        self.reference = reference
        self.ip = ip
        self.userAgent = userAgent
        createdAt = time
    }

    init(_ row: Row) throws(PostgresError) {
        (id, tenant, client, operation, reason, requestID, reference, ip, userAgent, createdAt) =
            try row.columns()
        (tries, user, `operator`) = (try row.get(10), try row.get(11), try row.get(12))
    }

    /// Rows kept per tenant and minute: anyone can cause one.
    package static let mostInAMinute = 30
    /// Rows kept per tenant, and as many of wrong passwords; the oldest are deleted first.
    package static let most = 10_000

    /// Rows of a tenant that are numbered and limited together.
    enum Kind {
        case failures, wrongPasswords

        var condition: SQL { self == .failures ? "tries IS NULL" : "tries IS NOT NULL" }
    }

    /// The number of the newest row; 0: there is none.
    static func newest(
        _ kind: Kind, of tenant: UUID, in transaction: Transaction
    ) async throws -> Int {
        let rows = try await transaction.query(
            """
            SELECT number FROM failed_sign_ins WHERE tenant_id = \(tenant) AND \(kind.condition)
                AND number > 0 ORDER BY number DESC LIMIT 1
            """)
        return try rows.first?.get(0) ?? 0
    }

    /// Deletes the oldest rows beyond the most that are kept. `newest`: the newest row's number.
    static func trim(
        _ kind: Kind, of tenant: UUID, newest: Int, in transaction: Transaction
    ) async throws {
        try await transaction.query(
            """
            DELETE FROM failed_sign_ins WHERE tenant_id = \(tenant) AND \(kind.condition)
                AND number <= \(newest - most)
            """)
    }
}

extension TenantScope {
    /// Stores the failure within the limits; beyond them it is dropped.
    package func keep(_ failed: FailedSignIn) async throws {
        let name = "failed sign-ins of \(tenant)"
        guard try await database.counted(name) < FailedSignIn.mostInAMinute,
            try await database.count(name) <= FailedSignIn.mostInAMinute
        else { return }
        try await database.app.tenantTransaction(tenant) { transaction in
            // Two at once may get the same number; both are then trimmed together.
            let number =
                try await FailedSignIn.newest(.failures, of: tenant, in: transaction) + 1
            try await transaction.query(
                """
                INSERT INTO failed_sign_ins (tenant_id, id, client, operation, reason, request_id,
                    reference, ip, user_agent, created_at, number)
                VALUES (\(tenant), \(failed.id), \(failed.client), \(failed.operation),
                    \(failed.reason), \(failed.requestID), \(failed.reference), \(failed.ip),
                    \(failed.userAgent), \(failed.createdAt), \(number))
                """)
            try await FailedSignIn.trim(
                .failures, of: tenant, newest: number, in: transaction)
        }
    }
}

/// Which lines a list has; nil: whatever they say.
package struct FailedSignInFilter: Sendable {
    package var client: String?
    package var requestID: String?
    package var reference: String?

    package init(client: String? = nil, requestID: String? = nil, reference: String? = nil) {
        self.client = client
        self.requestID = requestID
        self.reference = reference
    }
}

extension Database {
    /// `tenant` nil: of every tenant and of the platform's own pages, for the platform.
    package func failedSignIns(
        _ list: ListQuery, tenant: UUID?, _ filter: FailedSignInFilter
    ) async throws(PostgresError) -> ListPage<FailedSignIn> {
        await writeWrongPasswords(of: tenant)
        var source: SQL = "failed_sign_ins WHERE "
        if let tenant { source += "tenant_id = \(tenant)" } else { source += "true" }
        if let client = filter.client { source += " AND client = \(client)" }
        if let requestID = filter.requestID { source += " AND request_id = \(requestID)" }
        if let reference = filter.reference { source += " AND reference = \(reference)" }
        let statement = ListStatement(
            columns: FailedSignIn.columns, source: source,
            isWide: tenant != nil && filter.client == nil && filter.requestID == nil
                && filter.reference == nil)
        return try await readLagging(statement.page(list), in: tenant).page(
            list, FailedSignIn.init)
    }
}
