import Domain
import HTTP
import JSON
import Storage

/// `POST /v1/session/step-up`: proves within a session that its operator is present.
enum StepUpEndpoint {
    static let stepUp = Endpoint(
        .post, "/v1/session/step-up", id: "stepUp", tag: "Session",
        summary: "Proves that the session's operator is present, by one of `methods`; for 10 "
            + "minutes. The session gets another cookie, and the old one ends at once.",
        access: .console,
        body: .json(
            ObjectShape(
                "StepUp",
                [
                    .optional("password", .string(min: 1, max: 1024)),
                    .optional(
                        "totp", .string(min: 6, max: 16), "The authenticator app's code of now."),
                    .optional("passkey", .object(PasskeyInput.assertion), PasskeyInput.about),
                    .optional(
                        "recovery_code", .string(min: 8, max: 64),
                        "In the place of the second factor after a sign-in at the provider, where "
                            + "`methods` names it. It opens the session, and steps nothing up."),
                ])),
        answers: [.ok(ConsoleSession.shape)], problems: [.stepUpRequired, .conflict],
        maxBody: 1 << 15
    ) { call in
        let person = try await call.operator
        if let code = call.input.optionalString("recovery_code") {
            return try await open(by: code, person, call)
        }
        let method = try method(call)
        guard person.factors.stepUpMethods.contains(method) else {
            throw call.stepUpRequired("This session is stepped up by one of `methods` alone.")
        }
        guard try await isProved(method, person, call) else {
            throw Problem.unauthorized("That does not fit.")
        }
        return try await ConsoleSession.stepUp(person, by: method, call)
    }

    /// A recovery code signs in, as it does beside a password, and proves no presence.
    private static func open(
        by code: String, _ person: OperatorRow, _ call: Call
    ) async throws -> Response {
        guard call.principal.lacksSecondFactor else {
            throw call.stepUpRequired("A recovery code steps nothing up.")
        }
        let attempt = try SignInAttempt(of: person.email, call)
        guard
            try await SecondFactor(person: person, attempt: attempt, call: call)
                .proveRecovery(code)
        else { throw Problem.unauthorized("That code does not fit.") }
        return try await ConsoleSession.open(by: .recoveryCode, call)
    }

    /// The one that is given.
    private static func method(_ call: Call) throws -> StepUpMethod {
        let given = [StepUpMethod.password, .totp, .passkey].filter {
            call.input.has($0.rawValue)
        }
        guard let method = given.first, given.count == 1 else {
            throw Problem.invalid([
                FieldError("", .required, "must have one of `methods`, and one alone")
            ])
        }
        return method
    }

    private static func isProved(
        _ method: StepUpMethod, _ person: OperatorRow, _ call: Call
    ) async throws -> Bool {
        let attempt = try SignInAttempt(of: person.email, call)
        switch method {
        case .password:
            return try await attempt.prove(Array(call.input.string("password").utf8), of: person)
        case .totp:
            return try await SecondFactor(person: person, attempt: attempt, call: call)
                .proveTotp(call.input.string("totp"))
        case .passkey:
            try await PasskeyProof(call).stepUp()
            return true
        case .provider: return false
        }
    }
}
