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

    /// Asks for a recent sign-in where the invite that is made or shown makes an admin.
    func requireRecentSignIn(forInvite role: UserRole) throws {
        if role == .admin { try requireRecentSignIn(for: "An invite of an admin") }
    }

    /// Asks for a recent sign-in where an admin is let in: by a restore, a resume or an approval.
    func requireRecentSignIn(forAdmin user: UserRow) throws {
        if user.role == .admin { try requireRecentSignIn(for: "Letting an admin in") }
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
        if principal.hasUnusableFactors {
            return stepUpRequired("\(act) needs a second factor. \(Self.unusableFactors)")
        }
        guard !principal.canReturn else {
            return stepUpRequired(
                "\(act) needs a sign-in of the last 10 minutes: sign out and in again.")
        }
        return stepUpRequired(
            "\(act) needs a proof of the last 10 minutes that it is you, and your account has neither a "
                + "password nor a passkey.")
    }

    func stepUpRequired(_ detail: String) -> Problem {
        .stepUpRequired(
            detail, by: principal.stepUpMethods.map(\.rawValue), else: stepUpRemedies)
    }

    /// Of the caller; empty where there is a method.
    var stepUpRemedies: [StepUpRemedy] {
        principal.stepUpMethods.isEmpty
            ? StepUpRemedy.all(
                isUnusable: principal.hasUnusableFactors, canReturn: principal.canReturn,
                isOpen: principal.stepUpUntil.map { now < $0 } ?? false,
                sendsMail: services.sendsMail)
            : []
    }
}

extension StepUpRemedy {
    /// What leads on where there is no method, the nearest first. `isUnusable`: there are second
    /// factors, of which none can be used; `isOpen`: the proof of a sign-in by a link still counts.
    static func all(
        isUnusable: Bool, canReturn: Bool, isOpen: Bool, sendsMail: Bool
    ) -> [StepUpRemedy] {
        if isUnusable { return [.operatorReset] }
        if canReturn { return [.signInAgain] }
        return (isOpen ? [.setUp] : []) + (sendsMail ? [.mailLink] : []) + [.operatorReset]
    }
}

extension Problem {
    /// `remedies`: what leads on where there is no method.
    package static func stepUpRequired(
        _ detail: String, by methods: [String], else remedies: [StepUpRemedy]
    ) -> Problem {
        Problem(
            .stepUpRequired, detail,
            members: [
                .init("max_age", .int(Int(OperatorSession.recentSeconds))),
                .init("methods", .strings(methods)),
                .init("remedies", .strings(remedies.map(\.rawValue))),
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
        case .asked(let act, let isAct), .askedOrStored(let act, let isAct):
            if isAct(call) { try call.requireRecentSignIn(for: act) }
        case .stored, nil: break
        }
        return nil
    }
}
