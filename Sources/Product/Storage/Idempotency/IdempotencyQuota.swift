import Postgres
import Synchronization
import Text

/// How much one credential may store under its Idempotency-Keys. Counted in the database once a
/// minute, from half the limit on once a second, and by this replica in between: n replicas may
/// exceed it by what they store within that interval.
package final class IdempotencyQuota: Sendable {
    /// Stored responses of one credential.
    package static let answers = 100_000
    /// Their bytes, sealed or plain.
    package static let bytes = 64 << 20
    /// Seconds for Retry-After: stored responses expire one by one.
    package static let retryAfter: Int64 = 600
    /// Credentials that are counted at a time; beyond it all are counted anew.
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

    /// Nil if it has to be counted again.
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
                AND created_at > \(now.adding(seconds: -retention.answers))
            """)
        guard let row = rows.first else { return false }
        return storedResponses.set(
            try row.get(0), try row.get(1, as: Int.self), of: principal, at: now)
    }
}
