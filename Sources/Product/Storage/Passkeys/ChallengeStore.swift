import Cryptography
import Domain
import Postgres
import Text

/// Challenges, each for one answer.
extension Database {
    /// A new one for this purpose and binding, in the place of the binding's oldest if it has too
    /// many; nil if too many browsers without a session have one.
    package func makeChallenge(
        for purpose: Passkey.Purpose, boundTo binding: [UInt8]
    ) async throws(PostgresError) -> [UInt8]? {
        let (challenge, now) = (RandomBytes.make(32), clock())
        let limit = purpose == .signIn ? Passkey.mostOpenChallenges : Int(Int32.max)
        let made = try await app.query(
            """
            WITH ended AS (
                DELETE FROM webauthn_challenges WHERE challenge IN (
                    SELECT challenge FROM webauthn_challenges WHERE binding = \(binding)
                    ORDER BY created_at DESC, challenge OFFSET \(Passkey.mostChallenges - 1)))
            INSERT INTO webauthn_challenges (challenge, purpose, binding, created_at, expires_at)
            SELECT \(challenge)::bytea, \(purpose.rawValue)::text, \(binding)::bytea,
                \(now)::timestamptz, \(now.adding(seconds: Passkey.challengeSeconds))::timestamptz
            WHERE (SELECT count(*) FROM (
                SELECT 1 FROM webauthn_challenges WHERE expires_at > \(now) LIMIT \(limit)) waiting)
                < \(limit)
            RETURNING 1
            """)
        return made.count == 1 ? challenge : nil
    }

    /// Uses a challenge up. False if it was not made for this purpose and binding, or is used or
    /// expired: of two answers at once one alone finds it.
    package func useChallenge(
        _ challenge: [UInt8], for purpose: Passkey.Purpose, boundTo binding: [UInt8]
    ) async throws(PostgresError) -> Bool {
        try await app.query(
            """
            DELETE FROM webauthn_challenges
            WHERE challenge = \(challenge) AND purpose = \(purpose.rawValue)
                AND binding = \(binding) AND expires_at > \(clock())
            RETURNING 1
            """
        ).count == 1
    }
}
