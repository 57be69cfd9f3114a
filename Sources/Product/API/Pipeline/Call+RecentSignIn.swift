import Storage
import Text

extension Call {
    /// Seconds since the operator's sign-in within which the console does what is hard to take back.
    static let recentSeconds: Int64 = 600

    /// Throws 403 `step_up_required` if a console's session began longer ago. A key has no session, and
    /// passes.
    func requireRecentSignIn(for act: String) async throws {
        guard let session = principal.session else { return }
        guard let began = try await services.database.operatorSessionBegan(session),
            now < began.adding(seconds: Self.recentSeconds)
        else { throw Self.signInAgain(act) }
    }

    /// `act`: the subject of a sentence.
    static func signInAgain(_ act: String) -> Problem {
        Problem(
            .stepUpRequired,
            "\(act) needs a sign-in of the last 10 minutes: sign out and in again.")
    }
}
