import Postgres
import Text

/// A sign-in at a client that failed before the rules were asked, so that no decision explains it.
package struct FailedSignIn: ListedRow {
    package var id = UUID.random()
    package var client: String
    /// The route below the client's mount: `POST /auth/token`.
    package var operation: String
    /// For operators: `id token: nonce_mismatch`.
    package var reason: String
    package var requestID: String
    package var ip: String?
    package var userAgent: String?
    package var createdAt: Timestamp

    static let columns: SQL =
        "id, client, operation, reason, request_id, ip, user_agent, created_at"

    package init(
        client: String, operation: String, reason: String, requestID: String, ip: String?,
        userAgent: String?, at time: Timestamp
    ) {
        self.client = client
        self.operation = operation
        self.reason = reason
        self.requestID = requestID
        self.ip = ip
        self.userAgent = userAgent
        createdAt = time
    }

    init(_ row: Row) throws(PostgresError) {
        (id, client, operation, reason, requestID, ip, userAgent, createdAt) = try row.columns()
    }

    /// Rows kept per tenant and minute: anyone can cause one.
    package static let mostInAMinute = 30
    /// Rows kept per tenant; the oldest are deleted first.
    package static let most = 1000
}

extension TenantScope {
    /// Stores the failure within the limits; beyond them it is dropped.
    package func keep(_ failed: FailedSignIn) async throws {
        let name = "failed sign-ins of \(tenant)"
        guard try await database.counted(name) < FailedSignIn.mostInAMinute,
            try await database.count(name) <= FailedSignIn.mostInAMinute
        else { return }
        _ = try await write(
            """
            WITH old AS (
                DELETE FROM failed_sign_ins WHERE tenant_id = \(tenant) AND id IN (
                    SELECT id FROM failed_sign_ins WHERE tenant_id = \(tenant)
                    ORDER BY created_at DESC, id DESC OFFSET \(FailedSignIn.most - 1)))
            INSERT INTO failed_sign_ins (tenant_id, \(FailedSignIn.columns))
            VALUES (\(tenant), \(failed.id), \(failed.client), \(failed.operation),
                \(failed.reason), \(failed.requestID), \(failed.ip), \(failed.userAgent),
                \(failed.createdAt))
            """)
    }

    /// `client`, `requestID`: filter by this one; nil: all.
    package func failedSignIns(
        _ list: ListQuery, client: String?, requestID: String?
    ) async throws(PostgresError) -> ListPage<FailedSignIn> {
        var source: SQL = "failed_sign_ins WHERE tenant_id = \(tenant)"
        if let client { source += " AND client = \(client)" }
        if let requestID { source += " AND request_id = \(requestID)" }
        let statement = ListStatement(columns: FailedSignIn.columns, source: source)
        return try await readLagging(statement.page(list)).page(list, FailedSignIn.init)
    }
}
