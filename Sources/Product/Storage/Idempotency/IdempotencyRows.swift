import Postgres
import Synchronization
import Text

/// A request with an Idempotency-Key, as stored. The key and the body are stored only as digests.
package struct IdempotencyRow: Sendable {
    /// The tenant in the request's path; the nil UUID if the path has none.
    package var tenant: UUID
    var principal: String
    var method: String
    var path: String
    var keyHash: [UInt8]
    var bodyHash: [UInt8]
    /// The id of this request's claim on the key. If another request has taken over the key, this
    /// request stores no response.
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
        /// This request has now claimed the key, and may be handled.
        case fresh
        case kept([UInt8])
        case inProgress
        /// The key was used before with another body.
        case mismatch
    }

    fileprivate var condition: SQL {
        """
        tenant_id = \(tenant) AND principal = \(principal) AND method = \(method)
            AND path = \(path) AND key_hash = \(keyHash)
        """
    }
}

/// Responses stored under Idempotency-Keys, shared by all replicas.
extension Database {
    /// Seconds after which another request may take over a claim without a response. Almost every
    /// request is answered within half of that time. One that takes longer, such as a list of
    /// invites, then finds its claim taken, and its transaction changes nothing.
    static let claimHolds: Int64 = 10

    /// Claims the key for this request, or returns the state of an earlier request with the same
    /// key.
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
        // The row was deleted between the two statements, because its request gave the claim up. So
        // the caller may try again.
        guard let held = found.first else { return .inProgress }
        if try held.get(0, as: [UInt8].self) != row.bodyHash { return .mismatch }
        return try held.get(1, as: [UInt8]?.self).map { .kept($0) } ?? .inProgress
    }

    /// Stores the response of a claim in the transaction of the delayed change, and commits both.
    /// Throws 409 and stores nothing if another request has taken over the claim.
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
                    detail: "Another request took over this Idempotency-Key, so nothing was "
                        + "stored. Repeat the request.",
                    id: nil)
            }
        } catch {
            await change.rollback()
            throw error
        }
        try await change.commit()
    }

    /// Deletes the claim if it has no response, so that the key may be used again.
    package func dropClaim(_ row: IdempotencyRow) async throws(PostgresError) {
        _ = try await app.mark(
            """
            DELETE FROM idempotency
            WHERE \(row.condition) AND claim = \(row.claim) AND answer IS NULL
            """)
    }
}

/// How many responses, and how many bytes, each credential has stored under its Idempotency-Keys.
/// They are counted in the database once a minute, or once a second if the credential has used at
/// least half of a limit. Between two counts this replica adds only what it stores itself, so
/// several replicas may together exceed the limit a little.
package final class IdempotencyQuota: Sendable {
    /// The maximum number of responses that one credential may have stored.
    package static let answers = 100_000
    /// The maximum size of the stored responses of one credential, in bytes. What counts is their
    /// stored form, encrypted or plain.
    package static let bytes = 64 << 20
    /// Seconds for the Retry-After header. Stored responses expire one by one, so some room appears
    /// soon.
    package static let retryAfter: Int64 = 600
    /// The maximum number of credentials whose counts are held in memory. If there would be more,
    /// all counts are dropped and made again.
    private static let principals = 10_000

    private struct Kept {
        var answers: Int
        var bytes: Int
        /// The time of the count in the database.
        var at: Timestamp

        /// How much of its limits the credential has used, as a fraction: the greater of the
        /// fractions for responses and for bytes.
        var share: Double {
            max(
                Double(answers) / Double(IdempotencyQuota.answers),
                Double(bytes) / Double(IdempotencyQuota.bytes))
        }
    }

    private let kept = Mutex<[String: Kept]>([:])

    init() {}

    /// Adds one response of `count` bytes that was just stored.
    package func add(_ count: Int, of principal: String, at now: Timestamp) {
        kept.withLock {
            $0[principal]?.answers += 1
            $0[principal]?.bytes += count
        }
    }

    /// Whether the credential has reached a limit; `nil` if there is no recent count, so that the
    /// database must be asked.
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
    /// Whether the credential has reached a limit, so that none of its responses may be stored.
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
