import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/me/password`, `/v1/me/totp` and `/v1/me/recovery-codes`: the operator's own credentials.
enum OwnFactorEndpoints {
    static let all: [Endpoint] = [setPassword, offerTotp, confirmTotp, removeTotp, recoveryCodes]

    private static let setPassword = Endpoint(
        .put, "/v1/me/password", id: "setOwnPassword", tag: "Session",
        summary: "Sets the operator's own password. All other sessions of the account end.",
        access: .console,
        body: .json(
            ObjectShape(
                "OwnPassword",
                [
                    .required(
                        "password", .string(max: 1024),
                        "The new password: at least 15 characters and at most 1,024 bytes. A "
                            + "password that is easy to guess is refused.")
                ])),
        answers: [.noContent], problems: [.rateLimited], maxBody: 1 << 14
    ) { call in
        let person = try await call.operator
        let hash = try await NewPassword(
            text: call.input.string("password"),
            about: [person.email, person.name].compactMap { $0 }
        ).hashed(call)
        try await change(person, call, "a new password was set") {
            try await $0.setOwnPassword(
                hash, of: person, keeping: call.principal.session,
                in: TokenCookie.device.hash(in: call.request))
        }
        return .noContent
    }

    private static let seedShape = ObjectShape(
        "TotpSeed",
        [
            .readOnly(
                "seed", .string(max: 64),
                "The seed in Base32, to type into the app. It is shown only once."),
            .readOnly("otpauth_url", .string(max: 2048), "The URL that the QR code contains."),
            .readOnly("qr_svg", .string(max: 1 << 17), "The QR code as an SVG image."),
            .readOnly(
                "expires_at", .timestamp,
                "Until when the seed must be confirmed with a code."),
        ])

    private static let offerTotp = Endpoint(
        .post, "/v1/me/totp", id: "offerTotp", tag: "Session",
        summary:
            "Creates a seed for a new authenticator app. When `/v1/me/totp/confirm` gets a code of "
            + "the new app, this app replaces the earlier one.",
        access: .console, answers: [.issued(seedShape)], secret: true
    ) { call in
        let person = try await call.operator
        let seed = TOTP.makeSeed()
        try await call.database.scope(person.tenant ?? .platform).change(by: call.actor) {
            try await $0.offerTotp(seed, to: person)
        }
        let url = otpauth(seed, person)
        guard let code = QRCode(Array(url.utf8)) else { throw Problem.internalError }
        let body = JSONValue.object([
            .init("seed", .string(Base32.encode(seed))), .init("otpauth_url", .string(url)),
            .init("qr_svg", .string(code.svg)),
            .init("expires_at", .time(call.now.adding(seconds: Database.totpSetupSeconds))),
        ])
        return noStore(.json(201, bytes: body.encoded()))
    }

    /// The key URI (`otpauth:`) that authenticator apps read. The label is short, since some apps
    /// show only its beginning.
    private static func otpauth(_ seed: [UInt8], _ person: OperatorRow) -> String {
        let account = PercentEncoding.encode(String(person.email.prefix(100)).utf8)
        return "otpauth://totp/Gatehouse:\(account)?secret=\(Base32.encode(seed))"
            + "&issuer=Gatehouse&algorithm=SHA1&digits=\(TOTP.digits)&period=\(TOTP.period)"
    }

    private static let confirmTotp = Endpoint(
        .post, "/v1/me/totp/confirm", id: "confirmTotp", tag: "Session",
        summary: "Confirms the new authenticator app with one of its codes.", access: .console,
        body: .json(
            ObjectShape(
                "TotpConfirmation",
                [
                    FieldShape(
                        "code", .string(min: 6, max: 16), required: true,
                        "The current code of the authenticator app.",
                        example: .string("123456"))
                ])),
        answers: [.noContent], problems: [.conflict], maxBody: 1 << 14
    ) { call in
        let person = try await call.operator
        let code = try call.input.string("code").utf8.filter { $0 != 0x20 }
        try await change(person, call, "an authenticator app was added", .totp) { change in
            guard
                try await change.confirmTotp(
                    String(decoding: code, as: UTF8.self), of: person)
            else {
                throw Problem.invalid([
                    FieldError(
                        "/code", .invalid,
                        "is not a current code of the new authenticator app, or its set-up has "
                            + "expired: begin it again")
                ])
            }
            try await change.provePresence(in: call.principal.session, by: .totp)
        }
        return .noContent
    }

    private static let removeTotp = Endpoint(
        .delete, "/v1/me/totp", id: "removeTotp", tag: "Session",
        summary:
            "Removes the authenticator app. If the app was the last second factor, the recovery "
            + "codes no longer work.",
        access: .console, answers: [.noContent], problems: [.notFound, .conflict]
    ) { call in
        let person = try await call.operator
        try await change(person, call, "the authenticator app was removed") {
            try await $0.removeTotp(of: person)
        }
        return .noContent
    }

    private static let recoveryCodes = Endpoint(
        .post, "/v1/me/recovery-codes", id: "makeRecoveryCodes", tag: "Session",
        summary:
            "Creates ten recovery codes and invalidates earlier ones. With each code, the operator "
            + "can sign in once without the second factor.",
        access: .console,
        answers: [
            .issued(
                ObjectShape(
                    "RecoveryCodes",
                    [
                        .readOnly(
                            "codes", .array(of: .string(max: 32), max: RecoveryCode.count),
                            "The codes. They are shown only once.")
                    ]))
        ], problems: [.conflict], secret: true
    ) { call in
        let person = try await call.operator
        let codes = try await change(person, call, "new recovery codes were made", .recoveryCodes) {
            try await $0.makeRecoveryCodes(for: person)
        }
        return noStore(
            .json(201, bytes: JSONValue.object([.init("codes", .strings(codes))]).encoded()))
    }

    /// Runs `body` and puts a mail about the change into the outbox, in one transaction.
    @discardableResult
    private static func change<Result: Sendable>(
        _ person: OperatorRow, _ call: Call, _ what: String, _ added: AddedFactor? = nil,
        _ body: @Sendable (Change) async throws -> Result
    ) async throws -> Result {
        return try await call.database.scope(person.tenant ?? .platform).change(by: call.actor) {
            change in
            let result = try await body(change)
            try await change.tellOfChange(
                what, added: added, to: person, publicURL: call.application.publicURL)
            return result
        }
    }

    private static func noStore(_ answer: Response) -> Response {
        var answer = answer
        answer.set("cache-control", "no-store")
        return answer
    }
}
