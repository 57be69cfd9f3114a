import Postgres
import Synchronization
import Text

/// One use of an idempotency key as stored. It has digests only.
package struct IdempotencyRow: Sendable {
    /// The tenant of the path; the nil UUID if the path has none.
    package var tenant: UUID
    package var principal: String
    package var method: String
    package var path: String
    package var keyHash: [UInt8]
    package var bodyHash: [UInt8]
    /// The id of the claim. A request that has lost its claim stores nothing.
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
        /// The caller has claimed the key.
        case fresh
        case kept([UInt8])
        case inProgress
        /// The key was used with another body.
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
    /// Seconds after which a claim without a response may be taken over, because its server must be
    /// gone: every request is answered within half of that time.
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
                WHERE held.created_at <= \(now.adding(seconds: -options.retention.answers))
                    OR (held.answer IS NULL AND held.body_hash = excluded.body_hash
                        AND held.created_at <= \(now.adding(seconds: -Self.claimHolds)))
            RETURNING 1
            """)
        if !claimed.isEmpty { return .fresh }
        let found = try await app.read(
            "SELECT body_hash, answer FROM idempotency WHERE \(row.condition)")
        // The row was deleted between the two statements: the claim was just given up, so the
        // caller may retry.
        guard let held = found.first else { return .inProgress }
        if try held.get(0, as: [UInt8].self) != row.bodyHash { return .mismatch }
        return try held.get(1, as: [UInt8]?.self).map { .kept($0) } ?? .inProgress
    }

    /// Stores the response of a claim in the transaction of its change, and commits both. Throws
    /// 409 and stores nothing if another request has taken the claim over.
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
                    code: "conflict",
                    detail: "Another request has taken over this Idempotency-Key.",
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

/// How much one credential may store under its Idempotency-Keys. The database is counted once a
/// minute, and once a second above half of the limit; in between this replica adds what it stores.
/// So n replicas may exceed the limit by what they store within that interval.
package final class IdempotencyQuota: Sendable {
    /// The most stored responses of one credential.
    package static let answers = 100_000
    /// The most bytes of those responses, sealed or plain.
    package static let bytes = 64 << 20
    /// Seconds for Retry-After. Stored responses expire one by one.
    package static let retryAfter: Int64 = 600
    /// The most credentials that are counted at a time; beyond it all are counted again.
    private static let principals = 10_000

    private struct Kept {
        var answers: Int
        var bytes: Int
        /// When the database was counted.
        var at: Timestamp

        /// The greater used share of the two limits.
        var share: Double {
            max(
                Double(answers) / Double(IdempotencyQuota.answers),
                Double(bytes) / Double(IdempotencyQuota.bytes))
        }
    }

    private let kept = Mutex<[String: Kept]>([:])

    package init() {}

    /// Adds one response that was just stored.
    package func add(_ count: Int, of principal: String, at now: Timestamp) {
        kept.withLock {
            $0[principal]?.answers += 1
            $0[principal]?.bytes += count
        }
    }

    /// Whether the credential is over its limit; `nil` if the database must be counted again.
    fileprivate func isOver(_ principal: String, at now: Timestamp) -> Bool? {
        kept.withLock { all in
            guard let one = all[principal] else { return nil }
            let age = now.microseconds - one.at.microseconds
            let longest: Int64 = one.share < 0.5 ? 60_000_000 : 1_000_000
            return (0..<longest).contains(age) ? one.share >= 1 : nil
        }
    }

    fileprivate func set(
        _ answers: Int, _ bytes: Int, of principal: String, at now: Timestamp
    ) -> Bool {
        let one = Kept(answers: answers, bytes: bytes, at: now)
        kept.withLock { all in
            if all.count >= Self.principals { all = [:] }
            all[principal] = one
        }
        return one.share >= 1
    }
}

extension Database {
    /// Whether no more responses are stored for this credential.
    package func isOverStoredResponses(_ principal: String) async throws -> Bool {
        let now = clock()
        if let known = storedResponses.isOver(principal, at: now) { return known }
        let rows = try await platform.read(
            """
            SELECT count(*), coalesce(sum(octet_length(answer)), 0) FROM idempotency
            WHERE principal = \(principal) AND answer IS NOT NULL
                AND created_at > \(now.adding(seconds: -options.retention.answers))
            """)
        guard let row = rows.first else { return false }
        return storedResponses.set(
            try row.get(0), try row.get(1, as: Int.self), of: principal, at: now)
    }
}
