import Postgres
import Text

/// How many attempts at a secret may fail in a row before each further one has to wait.
package enum AttemptPolicy: Int, Sendable {
    /// For a password, a PIN or a second factor of one account, from everywhere or from one device
    /// that the account knows.
    case account = 4
    /// For the passkeys of one account, from everywhere or from one device.
    case passkey = 9
    /// For one network address, which many people share: a success takes back only its own attempt.
    case address = 49

    fileprivate var free: Int { rawValue }
}

/// Too many attempts at a secret failed; none is let through for a while.
package struct AttemptsLocked: Error, Sendable {
    /// How many attempts in a row are let through.
    package var limit: Int
    /// Until the next one is let through; at least 1.
    package var seconds: Int64
}

/// Attempts at a secret. They are counted in advance, so that concurrent attempts count too. All
/// replicas share the counters.
extension Database {
    /// Claims one attempt. After the free attempts in a row without success, each further one
    /// doubles the wait, from 5 seconds up to 15 minutes. Throws `AttemptsLocked` during the wait.
    package func claimAttempt(_ key: [UInt8], _ policy: AttemptPolicy) async throws {
        let (now, free) = (clock(), policy.free)
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
        if claimed.count == 1 { return }
        let rows = try await app.read(
            """
            SELECT locked_until FROM sign_in_failures
            WHERE key = \(key) AND locked_until > \(now)
            """)
        let until = try rows.first?.get(0, as: Timestamp.self) ?? now
        throw AttemptsLocked(
            limit: free + 1, seconds: max(1, (until.microseconds - now.microseconds) / 1_000_000))
    }

    /// Ends a claimed attempt that succeeded: the counter starts again.
    package func endAttempt(
        _ key: [UInt8], _ policy: AttemptPolicy
    ) async throws(PostgresError) {
        if policy == .address { return try await forgiveAttempt(key) }
        _ = try await app.mark("DELETE FROM sign_in_failures WHERE key = \(key)")
    }

    /// Takes back one attempt, which was no guess.
    package func forgiveAttempt(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.mark(
            """
            UPDATE sign_in_failures SET failures = failures - 1, locked_until = NULL
            WHERE key = \(key)
            """)
    }
}
