import API
import Cryptography
import Domain
import HTTP
import Storage
import Text

/// Rate limits and lockouts for an app's users. Attempts are counted in the database, so each limit
/// applies to all replicas together.
extension ClientCall {
    /// Calls that are limited because each costs a database row or a request to a provider: a
    /// sign-in, a sign-in on a device, and a token that an app itself got at its provider.
    enum Start: String {
        case login, device, token

        /// The limit per minute for one address, which many users may share.
        var perAddress: Int { self == .device ? 30 : 300 }
        /// The limit per minute for all users of the client together.
        var perClient: Int { self == .device ? 300 : 3000 }
    }

    /// Counts a call and throws `.locked` beyond the limits. If the client's limit is exceeded, a
    /// call is refused only if its address has used more than a tenth of the limit per address, so
    /// that strangers cannot block a tenant's sign-in.
    func count(_ start: Start) async throws {
        let counter = "\(start) at \(client.name) of \(tenant.id)"
        let ofAddress = try await count(
            "\(counter) from \(request.network)", upTo: start.perAddress)
        let isCrowded = try await database.count(counter) > start.perClient
        if isCrowded, ofAddress > start.perAddress / 10 { throw tooMany }
    }

    /// Counts a password attempt from an unknown device against the tenant's limit per minute.
    /// Beyond the limit, each attempt takes a second longer, and each address may make only one
    /// attempt at a time. This slows guessing down, but a correct password still succeeds.
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

    /// Counts one attempt at a secret in advance. Throws `.locked` after too many failures.
    func claim(_ counter: [UInt8], _ policy: AttemptPolicy) async throws {
        do {
            try await database.claimAttempt(counter, policy)
        } catch let locked as AttemptsLocked {
            throw SignInRefusal.locked(Int(locked.seconds))
        }
    }

    /// `attemptOwn` gets this value as `secret` if the secret is a PIN.
    static let pin = "pin"

    /// Checks a secret of a signed-in user and returns whether it is right. Attempts are counted
    /// separately for a session and network from which an attempt succeeded before. So guesses from
    /// elsewhere, for example with a stolen token, do not lock the user out.
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

    /// Returns an HMAC as the name of a counter or device, so that a dump of the database names no
    /// user.
    func digest(_ parts: String...) -> [UInt8] {
        let text = ([tenant.id.description] + parts).joined(separator: "\0")
        return SHA256.authenticate(Array(text.utf8), key: database.directoryKey)
    }
}

extension ClientCall {
    /// Stores for the tenant's operators why a sign-in failed, because the response does not say
    /// why. Nothing is stored if a decision of the rules already explains the failure. Otherwise
    /// makes a reference for the stored failure and adds it to the cause of `problem`, which the
    /// caller then throws. Returns the reference; `nil` if nothing was stored.
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
        // Ignore a failure: the response is the same either way, and the log has the reason.
        try? await scope.keep(failed)
        return reference
    }

    /// Counts a wrong password or PIN for the tenant's operators; the response does not say what
    /// was wrong. `user` is `nil` if the account does not exist.
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

    /// Returns why a sign-in failed. `nil` if the problem is not a failed sign-in, or if the rules
    /// refused the person, since their decision explains the failure.
    private static func reason(of problem: Problem) -> String? {
        let start = SignInRefusal.causeStart
        guard let cause = problem.cause, cause.utf8.starts(with: start.utf8),
            !cause.contains(SignInRefusal.referenceStart)
        else { return nil }
        return String(decoding: cause.utf8.dropFirst(start.utf8.count), as: UTF8.self)
    }
}
