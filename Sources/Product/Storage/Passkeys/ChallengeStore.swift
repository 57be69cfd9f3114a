import Cryptography
import Domain
import Postgres
import Text

/// Challenges, each for one answer.
extension Database {
    /// A new one for this purpose and binding, in the place of the binding's oldest if it has too
    /// many.
    package func makeChallenge(
        for purpose: Passkey.Purpose, boundTo binding: [UInt8]
    ) async throws(PostgresError) -> [UInt8] {
        let (challenge, now) = (RandomBytes.make(32), clock())
        _ = try await app.query(
            """
            WITH ended AS (
                DELETE FROM webauthn_challenges WHERE challenge IN (
                    SELECT challenge FROM webauthn_challenges WHERE binding = \(binding)
                    ORDER BY created_at DESC, challenge OFFSET \(Passkey.mostChallenges - 1)))
            INSERT INTO webauthn_challenges (challenge, purpose, binding, created_at, expires_at)
            VALUES (\(challenge), \(purpose.rawValue), \(binding), \(now),
                \(now.adding(seconds: Passkey.challengeSeconds)))
            """)
        return challenge
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

    /// One for a browser without a session. It carries its time and a code of ours, and has no row
    /// before its answer: anyone may ask for it, so that rows could be filled up, and a limit of them
    /// would shut everybody out.
    package func makeOpenChallenge(boundTo binding: [UInt8]) -> [UInt8] {
        let body = Self.bytes(clock().microseconds) + RandomBytes.make(16)
        return body + openChallengeCode(body, binding)
    }

    /// Uses such a challenge up. False if it was not made here for this binding, or is used or
    /// expired.
    package func useOpenChallenge(
        _ challenge: [UInt8], boundTo binding: [UInt8]
    ) async throws(PostgresError) -> Bool {
        guard challenge.count == 56 else { return false }
        let body = Array(challenge[..<24])
        guard constantTimeEqual(openChallengeCode(body, binding), Array(challenge[24...])) else {
            return false
        }
        let made = Timestamp(microseconds: body[..<8].reduce(0) { $0 << 8 | Int64($1) })
        let end = made.adding(seconds: Passkey.challengeSeconds)
        guard clock() < end else { return false }
        return try await app.query(
            """
            INSERT INTO answered_challenges (challenge_hash, expires_at)
            VALUES (\(SHA256.hash(challenge)), \(end)) ON CONFLICT DO NOTHING RETURNING 1
            """
        ).count == 1
    }

    private func openChallengeCode(_ body: [UInt8], _ binding: [UInt8]) -> [UInt8] {
        SHA256.authenticate(
            Array("passkey challenge".utf8) + binding + body, key: directoryKey)
    }

    private static func bytes(_ number: Int64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
