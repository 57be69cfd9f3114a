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

    /// Places of an operator that are kept; the one that was used longest ago goes first.
    static let knownNetworks = 20

    /// Whether a sign-in to the account from this place was right within 90 days.
    package func isKnownNetwork(
        _ place: [UInt8], of account: [UInt8]
    ) async throws(PostgresError) -> Bool {
        try await !app.read(
            """
            SELECT 1 FROM operator_places WHERE account = \(account) AND place = \(place)
                AND last_at > \(clock().adding(seconds: -90 * 86_400))
            """
        ).isEmpty
    }

    /// A sign-in was right here: the place is known from now on, and nothing stands against it.
    package func rememberNetwork(
        _ place: [UInt8], of account: [UInt8]
    ) async throws(PostgresError) {
        _ = try await app.mark(
            """
            INSERT INTO operator_places (account, place, last_at)
            VALUES (\(account), \(place), \(clock()))
            ON CONFLICT (account, place) DO UPDATE SET last_at = excluded.last_at
            """)
        _ = try await app.mark(
            """
            DELETE FROM operator_places WHERE account = \(account) AND place IN (
                SELECT place FROM operator_places WHERE account = \(account)
                ORDER BY last_at DESC, place OFFSET \(Self.knownNetworks))
            """)
        try await clearSignInFailures(place)
    }
}
