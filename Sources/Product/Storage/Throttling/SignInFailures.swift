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

    /// Known networks kept per operator; the least recently used is deleted first.
    static let knownNetworks = 20

    /// Whether a sign-in to the account from this network succeeded within 90 days.
    package func isKnownNetwork(
        _ network: [UInt8], of account: [UInt8]
    ) async throws(PostgresError) -> Bool {
        try await !app.read(
            """
            SELECT 1 FROM operator_places WHERE account = \(account) AND place = \(network)
                AND last_at > \(clock().adding(seconds: -90 * 86_400))
            """
        ).isEmpty
    }

    /// A sign-in succeeded: the network is known from now on, and its failures are cleared.
    package func rememberNetwork(
        _ network: [UInt8], of account: [UInt8]
    ) async throws(PostgresError) {
        _ = try await app.mark(
            """
            INSERT INTO operator_places (account, place, last_at)
            VALUES (\(account), \(network), \(clock()))
            ON CONFLICT (account, place) DO UPDATE SET last_at = excluded.last_at
            """)
        _ = try await app.mark(
            """
            DELETE FROM operator_places WHERE account = \(account) AND place IN (
                SELECT place FROM operator_places WHERE account = \(account)
                ORDER BY last_at DESC, place OFFSET \(Self.knownNetworks))
            """)
        try await clearSignInFailures(network)
    }
}
