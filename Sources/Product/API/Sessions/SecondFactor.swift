import Domain
import HTTP
import JSON
import Storage
import Text

/// The second step of a sign-in, after a right password, and the app's part of a step-up.
struct SecondFactor {
    var person: OperatorRow
    var attempt: SignInAttempt
    var call: Call

    /// How the sign-in is proved as a whole. Throws 401 `second_factor_required` without the code
    /// of an operator who has a second factor, and if it is wrong; makes no session.
    func prove() async throws -> SignInMethod {
        guard person.factors.hasSecondFactor else { return .password }
        let totp = call.input.optionalString("totp")
        let recovery = call.input.optionalString("recovery_code")
        if let recovery, totp == nil {
            guard try await proveRecovery(recovery) else {
                throw refused("That code does not fit.")
            }
            return .recoveryCode
        }
        guard let totp, recovery == nil else {
            throw refused(
                person.factors.areUnusable
                    ? Call.unusableFactors
                    : "The password is right; the second factor is missing.")
        }
        guard try await proveTotp(totp) else { throw refused("That code does not fit.") }
        return .totp
    }

    func proveTotp(_ code: String) async throws -> Bool {
        let digits = String(decoding: code.utf8.filter { $0 != 0x20 }, as: UTF8.self)
        return try await counted {
            try await call.services.database.useTotp(digits, of: person.id)
        }
    }

    func proveRecovery(_ code: String) async throws -> Bool {
        try await counted {
            try await call.services.database.useRecoveryCode(code, of: person, by: actor)
        }
    }

    /// A wrong code after a right password is a sign of a stolen one: it is in the audit, and the third
    /// one in a mail.
    private func counted(_ body: () async throws -> Bool) async throws -> Bool {
        let database = try call.services.database
        let counter = try await attempt.claimFactorAttempt(of: person)
        if try await body() {
            try await database.clearSignInFailures(counter)
            return true
        }
        try await database.scope(person.tenant ?? .platform).change(by: actor) { change in
            try await change.audit(.operatorFactorRefused, person.target)
            try await change.tellOfRefusedFactor(
                "\(call.place), and before", counter: counter, to: person,
                publicURL: call.services.publicURL, in: database)
        }
        return false
    }

    /// The sign-in has no principal yet.
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
