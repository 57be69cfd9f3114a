import Postgres
import Text

/// Counters of failed attempts, shared by all replicas; `claimAttempt` counts them.
extension Database {
    /// The end of the counter's lockout; nil if it is not locked.
    package func signInLockedUntil(_ key: [UInt8]) async throws(PostgresError) -> Timestamp? {
        let rows = try await app.read(
            """
            SELECT locked_until FROM sign_in_failures
            WHERE key = \(key) AND locked_until > \(clock())
            """)
        return try rows.first?.get(0, as: Timestamp?.self) ?? nil
    }

    package func clearSignInFailures(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.mark("DELETE FROM sign_in_failures WHERE key = \(key)")
    }
}

/// Attempts at a secret. They are counted in advance, so that concurrent attempts count too. All
/// replicas share the counters.
extension Database {
    /// Claims one attempt. Returns nil, or the time until which attempts are locked out. After
    /// `free` attempts in a row without success, each further one doubles the wait, from 5 seconds
    /// up to 15 minutes.
    package func claimAttempt(_ key: [UInt8], free: Int) async throws(PostgresError) -> Timestamp? {
        let now = clock()
        let dayAgo = now.adding(seconds: -86_400)
        let claimed = try await app.mark(
            """
            INSERT INTO sign_in_failures AS f (key, failures, last_at) VALUES (\(key), 1, \(now))
            ON CONFLICT (key) DO UPDATE SET last_at = \(now),
                failures = CASE WHEN f.last_at < \(dayAgo) THEN 1 ELSE f.failures + 1 END,
                locked_until = CASE WHEN f.last_at >= \(dayAgo) AND f.failures >= \(free)
                    THEN \(now)::timestamptz + least(900, power(2, least(f.failures - \(free), 10)) * 5)
                        * interval '1 second' END
            WHERE f.locked_until IS NULL OR f.locked_until <= \(now)
            RETURNING 1
            """)
        if claimed.count == 1 { return nil }
        return try await signInLockedUntil(key) ?? now.adding(seconds: 1)
    }

    /// Takes back the count of an attempt that succeeded.
    package func forgiveAttempt(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.mark(
            """
            UPDATE sign_in_failures SET failures = failures - 1, locked_until = NULL
            WHERE key = \(key)
            """)
    }
}
