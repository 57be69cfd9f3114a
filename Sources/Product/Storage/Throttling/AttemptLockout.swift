import Postgres
import Text

/// The purpose of a counter of failed attempts at a secret, such as a password. The raw value is
/// the number of attempts in a row that may fail without causing a wait; each further failure
/// causes a wait.
package enum AttemptPolicy: Int, Sendable {
    /// Attempts at a password, a PIN or a second factor of one account. Attempts from each device
    /// that the account knows are counted separately; attempts from all other devices are counted
    /// together.
    case account = 4
    /// Attempts with a passkey. A sign-in on a known device is counted for this device, a step-up
    /// for the operator.
    case passkey = 9
    /// Attempts from one IP address, which many people share. So a success takes back only its own
    /// attempt and does not restart the counter.
    case address = 49

    fileprivate var free: Int { rawValue }
}

/// Thrown if too many attempts at a secret failed, so that none is accepted for a while.
package struct AttemptsLocked: Error, Sendable {
    /// How many attempts in a row are accepted without a wait.
    var limit: Int
    /// Seconds until the next attempt is accepted; at least 1.
    package var seconds: Int64
}

/// Limits attempts at a secret. An attempt is counted before it is checked, so that concurrent
/// attempts count too. All replicas share the counters.
extension Database {
    /// Counts one attempt that is about to be checked. `policy` says how many attempts in a row may
    /// fail without a wait. Each further attempt causes a wait, which doubles each time, from 5
    /// seconds up to 15 minutes. Throws `AttemptsLocked` during the wait.
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

    /// Records that a counted attempt succeeded: the counter restarts or, for an IP address, the
    /// attempt is taken back.
    package func endAttempt(
        _ key: [UInt8], _ policy: AttemptPolicy
    ) async throws(PostgresError) {
        if policy == .address { return try await forgiveAttempt(key) }
        _ = try await app.mark("DELETE FROM sign_in_failures WHERE key = \(key)")
    }

    /// Takes back one counted attempt that was no guess at the secret.
    package func forgiveAttempt(_ key: [UInt8]) async throws(PostgresError) {
        _ = try await app.mark(
            """
            UPDATE sign_in_failures SET failures = failures - 1, locked_until = NULL
            WHERE key = \(key)
            """)
    }
}
