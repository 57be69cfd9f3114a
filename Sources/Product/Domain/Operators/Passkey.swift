/// Limits and words of operators' passkeys.
package enum Passkey {
    /// Of one operator.
    package static let most = 20
    /// Seconds in which a challenge is answered.
    package static let challengeSeconds: Int64 = 300
    /// Challenges of one session that wait at once: one for each open page.
    package static let mostChallenges = 8

    /// What a challenge is for: none serves for another.
    package enum Purpose: String, Sendable, CaseIterable {
        case registration
        case signIn = "sign_in"
        case stepUp = "step_up"
    }
}
