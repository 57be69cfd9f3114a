import Postgres
import Text

/// Counters of failed attempts that all replicas share; `claimAttempt` counts them.
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
