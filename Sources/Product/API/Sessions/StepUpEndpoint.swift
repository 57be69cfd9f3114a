import Domain
import HTTP
import JSON
import Storage
import Text

/// `POST /v1/session/step-up`: proves, in an existing session, that the operator is present.
enum StepUpEndpoint {
    static let stepUp = Endpoint(
        .post, "/v1/session/step-up", id: "stepUp", tag: "Session",
        summary:
            "Proves again who uses the session, by one of the session's `methods` (step-up); for "
            + "`provider`, open `/v1/session/step-up/provider` instead. The proof is valid for 10 "
            + "minutes. The session gets a new cookie, and the old one is invalid at once.",
        access: .console,
        body: .json(
            ObjectShape(
                "StepUp",
                [
                    .optional(
                        "password", .string(min: 1, max: 1024),
                        "The operator's password, if `methods` of the session contains "
                            + "`password`."),
                    .optional(
                        "totp", .string(min: 6, max: 16),
                        "The current code of the authenticator app."),
                    .optional("passkey", .object(PasskeyInput.assertion), PasskeyInput.about),
                    .optional(
                        "recovery_code", .string(min: 8, max: 64),
                        "A recovery code, if `methods` of the `step_up_required` response contains "
                            + "`recovery_code`. The code only completes a sign-in at the "
                            + "provider that still lacks the second factor. It does not count as "
                            + "a step-up."),
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
            throw call.stepUpRequired(
                "This session can be stepped up only by one of `methods`; if there are none, see "
                    + "`remedies`.")
        }
        guard try await isProved(method, person, call) else {
            throw Problem.unauthorized("The proof is not valid.")
        }
        return try await ConsoleSession.stepUp(person, by: method, call)
    }

    /// Completes a sign-in with a recovery code, for a session that still lacks its second factor.
    /// A recovery code is no proof of presence, so any other session gets an error.
    private static func open(
        by code: String, _ person: OperatorRow, _ call: Call
    ) async throws -> Response {
        guard call.principal.lacksSecondFactor else {
            throw call.stepUpRequired("A recovery code is not accepted for a step-up.")
        }
        let attempt = try SignInAttempt(of: person.email, call)
        guard
            try await SecondFactor(person: person, attempt: attempt, call: call)
                .proveRecovery(code)
        else { throw Problem.unauthorized("The code is not valid.") }
        return try await ConsoleSession.open(by: .recoveryCode, call)
    }

    /// The method that the body uses. Throws 422 unless it has exactly one.
    private static func method(_ call: Call) throws -> StepUpMethod {
        let given = [StepUpMethod.password, .totp, .passkey].filter {
            call.input.has($0.rawValue)
        }
        guard let method = given.first, given.count == 1 else {
            throw Problem.invalid([
                FieldError(
                    "", .required, "must have exactly one of `password`, `totp` and `passkey`")
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

/// The second factor of an operator: the second step of a sign-in after the password, or a step-up
/// with the authenticator app.
struct SecondFactor {
    var person: OperatorRow
    var attempt: SignInAttempt
    var call: Call

    private static let missing =
        "The password is right, but the account also has a second factor: send `totp` or "
        + "`recovery_code` too, or sign in with a passkey; `methods` lists what the account has."

    private static let twoCodes =
        "The password is right; send only one of `totp` and `recovery_code`."

    /// Proves the second factor, and returns the method of the whole sign-in. Throws 401
    /// `second_factor_required`, and creates no session, if the operator has a second factor and
    /// the code is missing or wrong.
    func prove() async throws -> SignInMethod {
        guard person.factors.hasSecondFactor else { return .password }
        let totp = call.input.optionalString("totp")
        let recovery = call.input.optionalString("recovery_code")
        if let recovery, totp == nil {
            guard try await proveRecovery(recovery) else {
                throw refused("The code is not valid.")
            }
            return .recoveryCode
        }
        guard let totp, recovery == nil else {
            throw refused(
                person.factors.areUnusable
                    ? Call.unusableFactors
                    : recovery == nil ? Self.missing : Self.twoCodes)
        }
        guard try await proveTotp(totp) else { throw refused("The code is not valid.") }
        return .totp
    }

    func proveTotp(_ code: String) async throws -> Bool {
        let digits = String(decoding: code.utf8.filter { $0 != 0x20 }, as: UTF8.self)
        return try await counted {
            try await call.database.useTotp(digits, of: person.id)
        }
    }

    func proveRecovery(_ code: String) async throws -> Bool {
        try await counted {
            try await call.database.useRecoveryCode(code, of: person, by: actor)
        }
    }

    /// Whether `body` accepts the code. Each attempt is counted. A wrong code after a correct
    /// password suggests that the password was stolen, so it is recorded in the audit log, and the
    /// third wrong code causes a mail.
    private func counted(_ body: () async throws -> Bool) async throws -> Bool {
        let counter = try await attempt.claimFactorAttempt(of: person)
        if try await body() {
            try await call.database.endAttempt(counter, .account)
            return true
        }
        try await call.database.scope(person.tenant ?? .platform).change(by: actor) { change in
            try await change.audit(.operatorFactorRefused, person.target)
            try await change.tellOfRefusedFactor(
                "\(call.place), and before", counter: counter, to: person,
                publicURL: call.application.publicURL)
        }
        return false
    }

    /// The operator as an actor in the audit log. During a sign-in the call has no principal yet.
    private var actor: Actor { person.actor(call) }

    private func refused(_ detail: String) -> Problem {
        var methods: [String] = []
        if person.factors.passkeys > 0 { methods.append(SignInMethod.passkey.rawValue) }
        if person.factors.totp { methods.append(SignInMethod.totp.rawValue) }
        if person.factors.recoveryCodesLeft > 0 {
            methods.append(SignInMethod.recoveryCode.rawValue)
        }
        return Problem(
            .secondFactorRequired, detail, status: 401,
            fields: Problem.unauthorized().fields, members: [.init("methods", .strings(methods))])
    }
}
