import Postgres
import Text

/// Failed tries by account key: from the fifth on each doubles the wait, up to 15 minutes.
extension Database {
    package func signInLockedUntil(_ key: [UInt8]) async throws(PostgresError) -> Timestamp? {
        let rows = try await app.read(
            """
            SELECT locked_until FROM sign_in_failures
            WHERE key = \(key) AND locked_until > \(clock())
            """)
        return try rows.first?.get(0, as: Timestamp?.self) ?? nil
    }

    package func countSignInFailure(_ key: [UInt8]) async throws(PostgresError) {
        let now = clock()
        let dayAgo = now.adding(seconds: -86_400)
        _ = try await app.query(
            """
            INSERT INTO sign_in_failures AS f (key, failures, last_at) VALUES (\(key), 1, \(now))
            ON CONFLICT (key) DO UPDATE SET last_at = \(now),
                failures = CASE WHEN f.last_at < \(dayAgo) THEN 1 ELSE f.failures + 1 END,
                locked_until = CASE WHEN f.last_at >= \(dayAgo) AND f.failures >= 4
                    THEN \(now) + least(900, power(2, least(f.failures - 4, 10)) * 5)
                        * interval '1 second' END
            """)
    }

    package func clearSignInFailures(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.query("DELETE FROM sign_in_failures WHERE key = \(key)")
    }
}
