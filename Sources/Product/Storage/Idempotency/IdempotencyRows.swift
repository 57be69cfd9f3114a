import Postgres
import Text

/// One use of an idempotency key as stored: digests only.
package struct IdempotencyRow: Sendable {
    /// The tenant of the path; the nil UUID if the path has none.
    package var tenant: UUID
    package var principal: String
    package var method: String
    package var path: String
    package var keyHash: [UInt8]
    package var bodyHash: [UInt8]
    /// The owner of the claim: a request that lost its claim stores nothing.
    package var claim: UUID

    package init(
        tenant: UUID, principal: String, method: String, path: String, keyHash: [UInt8],
        bodyHash: [UInt8], claim: UUID
    ) {
        self.tenant = tenant
        self.principal = principal
        self.method = method
        self.path = path
        self.keyHash = keyHash
        self.bodyHash = bodyHash
        self.claim = claim
    }

    package enum State: Sendable, Equatable {
        /// Claimed for the caller.
        case fresh
        case kept([UInt8])
        case inProgress
        /// Used with another body.
        case mismatch
    }

    fileprivate var condition: SQL {
        """
        tenant_id = \(tenant) AND principal = \(principal) AND method = \(method)
            AND path = \(path) AND key_hash = \(keyHash)
        """
    }
}

/// Stored responses, shared by all replicas.
extension Database {
    /// Seconds after which a claim without a response may be taken over: its server is gone. Every
    /// request is answered within half of it.
    package static let claimHolds: Int64 = 10

    /// Claims the key for one request, or finds the stored response of an earlier one.
    package func claimIdempotency(
        _ row: IdempotencyRow
    ) async throws(PostgresError) -> IdempotencyRow.State {
        let now = clock()
        let claimed = try await app.mark(
            """
            INSERT INTO idempotency AS held (tenant_id, principal, method, path, key_hash, body_hash,
                claim, created_at)
            VALUES (\(row.tenant), \(row.principal), \(row.method), \(row.path),
                \(row.keyHash), \(row.bodyHash), \(row.claim), \(now))
            ON CONFLICT ON CONSTRAINT idempotency_pkey DO UPDATE
                SET body_hash = excluded.body_hash, claim = excluded.claim, answer = NULL,
                    created_at = excluded.created_at
                WHERE held.created_at <= \(now.adding(seconds: -retention.answers))
                    OR (held.answer IS NULL AND held.body_hash = excluded.body_hash
                        AND held.created_at <= \(now.adding(seconds: -Self.claimHolds)))
            RETURNING 1
            """)
        if !claimed.isEmpty { return .fresh }
        let found = try await app.read(
            "SELECT body_hash, answer FROM idempotency WHERE \(row.condition)")
        // Deleted between the two: the claim was just given up, so the caller may retry.
        guard let held = found.first else { return .inProgress }
        if try held.get(0, as: [UInt8].self) != row.bodyHash { return .mismatch }
        return try held.get(1, as: [UInt8]?.self).map { .kept($0) } ?? .inProgress
    }

    /// Stores the response of a claim in the transaction of its change, and commits both. 409 and
    /// nothing stored if another request has taken the claim over.
    package func storeResponse(
        _ answer: [UInt8], of row: IdempotencyRow, with change: HeldChange = HeldChange()
    ) async throws {
        let sql: SQL = """
            UPDATE idempotency SET answer = \(answer)
            WHERE \(row.condition) AND claim = \(row.claim) AND answer IS NULL
            """
        let rows: Rows
        do {
            if let held = change.transaction {
                rows = try await held.query(sql)
            } else {
                rows = try await app.query(sql)
            }
            guard rows.affected == 1 else {
                throw StorageFailure.conflict(
                    code: "conflict", detail: "Another request took this Idempotency-Key over.",
                    id: nil)
            }
        } catch {
            await change.rollback()
            throw error
        }
        try await change.commit()
    }

    /// Gives the claim up, so that the key may be used again.
    package func dropClaim(_ row: IdempotencyRow) async throws(PostgresError) {
        _ = try await app.mark(
            """
            DELETE FROM idempotency
            WHERE \(row.condition) AND claim = \(row.claim) AND answer IS NULL
            """)
    }
}
