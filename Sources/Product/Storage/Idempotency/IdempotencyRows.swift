import Postgres
import Text

/// One use of an idempotency key as stored: digests only.
package struct IdempotencyRow: Sendable {
    package var principal: String
    package var method: String
    package var path: String
    package var keyHash: [UInt8]
    package var bodyHash: [UInt8]

    package init(
        principal: String, method: String, path: String, keyHash: [UInt8], bodyHash: [UInt8]
    ) {
        self.principal = principal
        self.method = method
        self.path = path
        self.keyHash = keyHash
        self.bodyHash = bodyHash
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
        principal = \(principal) AND method = \(method) AND path = \(path)
            AND key_hash = \(keyHash)
        """
    }
}

/// Kept answers, for every replica.
extension Database {
    /// Seconds for which an answer is kept.
    package static let answersKept: Int64 = 86_400
    /// Seconds after which a claim without an answer may be taken over: its server is gone.
    package static let claimHolds: Int64 = 60

    package func claimIdempotency(
        _ row: IdempotencyRow
    ) async throws(PostgresError) -> IdempotencyRow.State {
        let now = clock()
        let claimed = try await app.query(
            """
            INSERT INTO idempotency AS held (principal, method, path, key_hash, body_hash,
                created_at)
            VALUES (\(row.principal), \(row.method), \(row.path), \(row.keyHash),
                \(row.bodyHash), \(now))
            ON CONFLICT (principal, method, path, key_hash) DO UPDATE
                SET body_hash = excluded.body_hash, answer = NULL, created_at = excluded.created_at
                WHERE held.created_at <= \(now.adding(seconds: -Self.answersKept))
                    OR (held.answer IS NULL AND held.body_hash = excluded.body_hash
                        AND held.created_at <= \(now.adding(seconds: -Self.claimHolds)))
            RETURNING 1
            """)
        if !claimed.isEmpty { return .fresh }
        let found = try await app.read(
            "SELECT body_hash, answer FROM idempotency WHERE \(row.condition)")
        // Gone between the two: given up just now, so the caller may try again.
        guard let held = found.first else { return .inProgress }
        if try held.get(0, as: [UInt8].self) != row.bodyHash { return .mismatch }
        guard let answer = try held.get(1, as: [UInt8]?.self) else { return .inProgress }
        return .kept(answer)
    }

    /// Keeps the answer of a claim; the first one stays.
    package func keepAnswer(
        _ answer: [UInt8], of row: IdempotencyRow
    ) async throws(PostgresError) {
        _ = try await app.query(
            """
            UPDATE idempotency SET answer = \(answer) WHERE \(row.condition) AND answer IS NULL
            """)
    }

    /// Gives the claim up, so that the key may be used again.
    package func dropClaim(_ row: IdempotencyRow) async throws(PostgresError) {
        _ = try await app.query(
            "DELETE FROM idempotency WHERE \(row.condition) AND answer IS NULL")
    }

    /// Removes what is past its time. Answers how many rows.
    package func sweepIdempotency() async throws(PostgresError) -> Int {
        let end = clock().adding(seconds: -Self.answersKept)
        return try await app.query("DELETE FROM idempotency WHERE created_at <= \(end)").affected
    }
}
