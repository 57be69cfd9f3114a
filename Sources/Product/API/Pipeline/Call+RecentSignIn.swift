import Domain
import HTTP
import JSON
import Storage
import Text

extension Call {
    /// Throws 403 `step_up_required` if the console's operator was last proved to be present longer
    /// ago, by a sign-in or a step-up. A key has no session, nor has a user's access token one of
    /// the console, and both pass.
    func requireRecentSignIn(for act: String) throws {
        guard principal.isConsoleSession else { return }
        guard let until = principal.stepUpUntil, now < until else { throw signInAgain(act) }
    }

    /// What to do where no second factor can be used.
    static let unusableFactors =
        "Your passkeys were made for another name of this server, or what you had was disowned by its "
        + "mail. The server's administrator gives you a way back by `gatehouse operator reset`."

    /// `act`: the subject of a sentence.
    func signInAgain(_ act: String) -> Problem {
        let methods = principal.stepUpMethods
        guard methods.isEmpty else {
            return stepUpRequired("\(act) needs a proof of the last 10 minutes that it is you.")
        }
        return stepUpRequired(
            principal.hasUnusableFactors
                ? "\(act) needs a second factor. \(Self.unusableFactors)"
                : "\(act) needs a sign-in of the last 10 minutes: sign out and in again.")
    }

    func stepUpRequired(_ detail: String) -> Problem {
        .stepUpRequired(detail, by: principal.stepUpMethods.map(\.rawValue))
    }
}

extension Problem {
    package static func stepUpRequired(_ detail: String, by methods: [String]) -> Problem {
        Problem(
            .stepUpRequired, detail,
            members: [
                .init("max_age", .int(Int(OperatorSession.recentSeconds))),
                .init("methods", .strings(methods)),
            ])
    }
}

extension Dispatcher {
    /// After the body's faults, so that no proof is asked for a call that fails; before the
    /// idempotency key, so that the refusal is not its answer.
    func stepUp(_ exchange: inout Exchange) throws -> Response? {
        let call = exchange.call
        switch exchange.endpoint?.recentAct {
        case .always(let act): try call.requireRecentSignIn(for: act)
        case .asked(let act, let isAct):
            if isAct(call) { try call.requireRecentSignIn(for: act) }
        case .stored, nil: break
        }
        return nil
    }
}
