import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// Rate limits and attempt lockout for an app's users: counted in the database, so that a limit
/// holds for all replicas together.
extension ClientCall {
    /// Calls that cost a row here or a request to a provider: a sign-in, a sign-in on a device, and
    /// a token that an app got at its provider itself.
    enum Start: String {
        case login, device, token

        /// Per minute, from one address, which many users may share.
        var perAddress: Int { self == .device ? 30 : 300 }
        /// Per minute, for the whole client.
        var perClient: Int { self == .device ? 300 : 3000 }
    }

    /// Throws `.locked` beyond the limits. Beyond the client's limit, only addresses that have used
    /// their share are refused: strangers must not block a tenant's sign-in.
    func count(_ start: Start) async throws {
        let counter = "\(start) at \(client.name) of \(tenant.id)"
        let ofAddress = try await count(
            "\(counter) from \(request.network)", upTo: start.perAddress)
        let isCrowded = try await database.count(counter) > start.perClient
        if isCrowded, ofAddress > start.perAddress / 10 { throw tooMany }
    }

    /// Applies the tenant's limit of password attempts per minute from unknown devices. Beyond it,
    /// each attempt takes a second longer, one at a time per address: guessing is slowed down, and
    /// a right password still succeeds.
    func slowStrangersAttempts() async throws {
        let tries = try await database.count("strangers' tries of \(tenant.id)")
        guard tries > Self.strangersAttempts else { return }
        let place = try? application.slowedAttempts.enter("\(tenant.id) \(request.network)")
        guard let place else { throw tooMany }
        defer { withExtendedLifetime(place) {} }
        try await application.pause(.seconds(1))
    }

    private static let strangersAttempts = 600

    private var tooMany: SignInRefusal { .locked(Int(database.secondsOfMinuteLeft)) }

    @discardableResult
    private func count(_ name: String, upTo limit: Int) async throws -> Int {
        let number = try await database.count(name)
        if number > limit { throw tooMany }
        return number
    }

    /// Claims one attempt at a secret. Throws `.locked` after too many failures.
    func claim(_ counter: [UInt8], _ policy: AttemptPolicy) async throws {
        do {
            try await database.claimAttempt(counter, policy)
        } catch let locked as AttemptsLocked {
            throw SignInRefusal.locked(Int(locked.seconds))
        }
    }

    /// The `secret` of `attemptOwn` for a PIN.
    static let pin = "pin"

    /// One attempt at a secret of a signed-in user. On a session and network with an earlier
    /// success, attempts are counted separately: guesses from elsewhere, with a stolen token or a
    /// session of their own, do not lock the user out.
    func attemptOwn(
        _ secret: String, of person: SignedIn, _ isRight: () async throws -> Bool
    ) async throws -> Bool {
        let user = person.user.id
        let device = ReportedDevice(id: person.session.id.description)
            .key(from: request.remoteAddress)
        let here = digest(secret, "at", device)
        let isKnown = try await scope.isKnownDevice(here, of: user)
        let counter =
            isKnown
            ? digest(secret, user.description, device) : digest(secret, user.description)
        try await claim(counter, .account)
        guard try await isRight() else {
            noteWrong(sameBytes(secret, Self.pin) ? "wrong_pin" : "wrong_password", of: user)
            return false
        }
        try await database.endAttempt(counter, .account)
        if !isKnown {
            try await scope.change(by: actor(person.user)) {
                try await $0.rememberDevice(here, of: user)
            }
        }
        return true
    }

    /// Names counters and devices by an HMAC for the tenant, so that a dump names no user.
    func digest(_ parts: String...) -> [UInt8] {
        let text = ([tenant.id.description] + parts).joined(separator: "\0")
        return SHA256.authenticate(Array(text.utf8), key: database.directoryKey)
    }
}

extension ClientCall {
    /// Stores why a sign-in failed, unless a decision does, so that the operator finds what the
    /// response conceals. `problem` is thrown afterwards; its cause, for the log, gets the stored
    /// line's reference, which is returned. `nil` if nothing failed that only this line explains.
    @discardableResult
    func noteFailure(_ problem: inout Problem, at operation: String) async -> String? {
        guard let reason = Self.reason(of: problem) else { return nil }
        let reference = Base62.randomText(6)
        problem.cause = (problem.cause ?? "") + SignInRefusal.referenceStart + reference
        let failed = FailedSignIn(
            client: client.name, operation: operation,
            reason: String(reason.unicodeScalars.prefix(500)), requestID: request.id,
            reference: reference,
            ip: request.remoteAddress,
            userAgent: request.first("user-agent").map { String($0.unicodeScalars.prefix(512)) },
            at: now)
        // The response is the same whether this is stored or not; the log has it either way.
        try? await scope.keep(failed)
        return reference
    }

    /// Counts a wrong password or PIN, whose response does not say what was wrong. `user` is `nil`
    /// if the account does not exist.
    func noteWrong(_ reason: String, of user: UUID?) {
        let path = request.path.split(separator: "/").dropFirst(3).joined(separator: "/")
        database.wrongPasswords.note(
            user.map { .user($0) } ?? .unknown, of: tenant.id,
            WrongPasswords.Attempt(
                client: client.name, operation: "\(request.method.rawValue) /\(path)",
                reason: reason, requestID: request.id, ip: request.remoteAddress,
                userAgent: request.first("user-agent").map {
                    String($0.unicodeScalars.prefix(512))
                }), at: now)
    }

    /// `nil` for anything but a failed sign-in, and for a refusal by the rules, whose reference
    /// leads to the decision.
    private static func reason(of problem: Problem) -> String? {
        let start = SignInRefusal.causeStart
        guard let cause = problem.cause, cause.utf8.starts(with: start.utf8),
            !cause.contains(SignInRefusal.referenceStart)
        else { return nil }
        return String(decoding: cause.utf8.dropFirst(start.utf8.count), as: UTF8.self)
    }
}
