import Postgres
import Text

/// Counters of failed tries that all replicas share; `claimTry` counts them.
extension Database {
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

    /// Whether there was a success under this key.
    package func hasSignedIn(_ key: [UInt8]) async throws(PostgresError) -> Bool {
        try await !app.read("SELECT 1 FROM sign_in_failures WHERE key = \(key)").isEmpty
    }

    /// A success: nothing stands against this key any more, and it is known from now on.
    package func settleSignIn(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.mark(
            """
            INSERT INTO sign_in_failures (key, failures, last_at) VALUES (\(key), 0, \(clock()))
            ON CONFLICT (key) DO UPDATE
            SET failures = 0, locked_until = NULL, last_at = excluded.last_at
            """)
    }
}
