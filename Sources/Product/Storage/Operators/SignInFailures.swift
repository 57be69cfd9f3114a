import Postgres
import Text

/// A counter of failed tries that all replicas share. From the last free one on each failure
/// doubles the wait, up to 15 minutes.
package struct SignInCounter: Sendable {
    /// An HMAC of whose tries these are.
    package var key: [UInt8]
    /// Tries before the first wait.
    package var free: Int
    /// Seconds after the last failure at which all of them are forgotten.
    package var memory: Int64

    package init(key: [UInt8], free: Int, memory: Int64) {
        self.key = key
        self.free = free
        self.memory = memory
    }
}

extension Database {
    /// Counts a try as failed before it is looked at, so that tries side by side cannot pass each
    /// other. Answers until when the counter is locked, in which case nothing was counted.
    package func countSignInTry(
        _ counter: SignInCounter
    ) async throws(PostgresError) -> Timestamp? {
        let now = clock()
        let forgotten = now.adding(seconds: -counter.memory)
        let counted = try await app.query(
            """
            INSERT INTO sign_in_failures AS f (key, failures, last_at)
            VALUES (\(counter.key), 1, \(now))
            ON CONFLICT (key) DO UPDATE SET last_at = \(now),
                failures = CASE WHEN f.last_at < \(forgotten) THEN 1 ELSE f.failures + 1 END,
                locked_until = CASE WHEN f.last_at >= \(forgotten)
                        AND f.failures + 1 >= \(counter.free)
                    THEN \(now) + least(900,
                        power(2, least(f.failures + 1 - \(counter.free), 10)) * 5)
                        * interval '1 second' END
            WHERE f.locked_until IS NULL OR f.locked_until <= \(now)
            RETURNING 1
            """)
        if !counted.isEmpty { return nil }
        let rows = try await app.query(
            "SELECT locked_until FROM sign_in_failures WHERE key = \(counter.key)")
        return try rows.first?.get(0, as: Timestamp?.self) ?? now
    }

    /// Whether this counter was settled by a success before.
    package func hasSignedIn(_ counter: SignInCounter) async throws(PostgresError) -> Bool {
        try await !app.read("SELECT 1 FROM sign_in_failures WHERE key = \(counter.key)").isEmpty
    }

    /// A success: nothing stands against this counter any more, and it is known from now on.
    package func settleSignIn(_ counter: SignInCounter) async throws(PostgresError) {
        let now = clock()
        _ = try await app.query(
            """
            INSERT INTO sign_in_failures (key, failures, last_at) VALUES (\(counter.key), 0, \(now))
            ON CONFLICT (key) DO UPDATE
            SET failures = 0, locked_until = NULL, last_at = excluded.last_at
            """)
    }

    /// Takes one counted try back: it was no failure.
    package func forgiveSignInTry(_ counter: SignInCounter) async throws(PostgresError) {
        _ = try await app.query(
            """
            UPDATE sign_in_failures SET failures = greatest(failures - 1, 0), locked_until = NULL
            WHERE key = \(counter.key)
            """)
    }
}
