import Cryptography
import Domain
import HTTP
import Storage
import Text

/// One attempt to sign in as an operator with a password. Failures are counted for the client's
/// network and for the account, in counters that all replicas share; too many failures lock out
/// further attempts. An attempt at an unknown account takes as much time and is counted in the same
/// way.
///
/// A cookie identifies a browser in which the operator has signed in before. This browser has a
/// counter of its own. Failed attempts elsewhere, even from the same address, therefore cannot lock
/// the operator out.
struct SignInAttempt {
    var email: String
    var network: String
    var database: Database
    var passwords: PasswordHasher
    /// The hash of the cookie that identifies the browser; `nil` if the browser sent none.
    var device: [UInt8]?
    /// The details with which a wrong password is recorded.
    private let described: WrongPasswords.Attempt

    init(of email: String, _ call: Call) throws {
        self.email = email
        network = call.request.network
        database = call.database
        passwords = call.application.passwords
        device = TokenCookie.device.hash(in: call.request)
        described = WrongPasswords.Attempt(
            client: "console",
            operation: "\(call.request.method.rawValue) \(call.request.path)",
            reason: "wrong_password", requestID: call.request.id, ip: call.request.remoteAddress,
            userAgent: call.request.first("user-agent").map {
                String($0.unicodeScalars.prefix(512))
            })
    }

    /// Records a wrong password for each account that was tried. If no account was found, records
    /// one for an unknown account.
    private func noteWrong(_ people: [OperatorRow]) {
        let (log, now) = (database.wrongPasswords, database.clock())
        if people.isEmpty { return log.note(.unknown, of: .platform, described, at: now) }
        for person in people {
            log.note(.operator(person.id), of: person.tenant ?? .platform, described, at: now)
        }
    }

    /// An account that the address may mean, with the counter for attempts at it.
    private struct Candidate {
        var found: (OperatorRow, String?)?
        /// The counter for attempts. It is the browser's counter if the account's operator has
        /// signed in with this browser before, otherwise the account's counter.
        var counter: [UInt8]
        var isKnown: Bool
    }

    /// The result of an attempt to sign in to one account.
    private enum Outcome {
        case right(OperatorRow)
        /// The password is wrong. The value is the counter in which the attempt is counted.
        case wrong([UInt8])
        case locked(AttemptsLocked)
    }

    /// The operator with this address and password; `nil` if there is none.
    ///
    /// Tries the account in the named tenant (id or slug), and then the account that the address
    /// alone identifies. Each account has its own password and counters, so a locked account does
    /// not block the other one. A missing account costs as much time as an existing one. Throws
    /// `AttemptsLocked` if no password matched and an account was locked.
    func prove(_ password: [UInt8], in tenant: String? = nil) async throws -> OperatorRow? {
        let candidates = try await candidates(key, tenant)
        var tried = try await claimAddress(candidates)
        var wait: AttemptsLocked?
        var wrong: [Candidate] = []
        for candidate in candidates {
            switch try await outcome(of: password, candidate) {
            case .right(let person):
                // The operator knows the password, so the earlier attempts were not made to guess
                // it. They no longer count.
                for counter in tried { try await database.forgiveAttempt(counter) }
                return person
            case .wrong(let counter):
                tried.append(counter)
                wrong.append(candidate)
            case .locked(let locked): wait = wait ?? locked
            }
        }
        if !wrong.isEmpty { noteWrong(wrong.compactMap { $0.found?.0 }) }
        if let wait { throw wait }
        return nil
    }

    /// Checks the operator's password in a step-up, and returns whether it is right. Attempts are
    /// counted and locked out as for a sign-in to the same account. Throws `AttemptsLocked`.
    func prove(_ password: [UInt8], of person: OperatorRow) async throws -> Bool {
        let row = try await database.operatorsWithPassword(emailKey: person.emailKey)
            .first { $0.0.id == person.id }
        let scope = person.tenant?.description
        let candidate = try await candidate(row, scope.map { account(key, in: $0) } ?? account(key))
        let tried = try await claimAddress([candidate])
        switch try await outcome(of: password, candidate) {
        case .right:
            for counter in tried { try await database.forgiveAttempt(counter) }
            return true
        case .wrong:
            noteWrong([person])
            return false
        case .locked(let locked): throw locked
        }
    }

    /// Counts an attempt for the client's network, and returns the network's counter. If this
    /// browser is known to all of the accounts, the attempt is not counted, so that others in the
    /// same network cannot lock the browser out. If it is known to only one of several accounts,
    /// the attempt is counted, so that the browser cannot be used to guess the other account's
    /// password. Throws `AttemptsLocked`.
    private func claimAddress(_ candidates: [Candidate]) async throws -> [[UInt8]] {
        let real = candidates.filter { $0.found != nil }
        if !real.isEmpty, real.allSatisfy(\.isKnown) { return [] }
        let client = name("address", network)
        try await database.claimAttempt(client, .address)
        return [client]
    }

    private func candidates(_ key: String, _ tenant: String?) async throws -> [Candidate] {
        let rows = try await database.operatorsWithPassword(emailKey: key)
        let clear = Self.isClear(rows) ? rows.first : nil
        let everywhere = try await candidate(clear, account(key))
        guard let tenant else { return [everywhere] }
        let id = try await database.tenant(tenant)?.id
        let own = try await candidate(
            rows.first { id != nil && $0.0.tenant == id },
            account(key, in: id?.description ?? tenant))
        return [own, everywhere]
    }

    /// The account, with the counter for attempts at it. For an unknown account the same queries
    /// are made, so that the time does not reveal that it is unknown.
    private func candidate(
        _ found: (OperatorRow, String?)?, _ account: [UInt8]
    ) async throws -> Candidate {
        guard let device,
            try await database.isKnownDevice(device, of: found?.0.id ?? .random())
        else { return Candidate(found: found, counter: account, isKnown: false) }
        return Candidate(found: found, counter: counter(account, of: device), isKnown: true)
    }

    /// Whether the address alone identifies an account: the first row is confirmed, or there is
    /// only one.
    private static func isClear(_ rows: [(OperatorRow, String?)]) -> Bool {
        rows.first?.0.isConfirmed ?? false || rows.count == 1
    }

    private func outcome(of password: [UInt8], _ candidate: Candidate) async throws -> Outcome {
        let counter = candidate.counter
        do {
            try await database.claimAttempt(counter, .account)
        } catch let locked as AttemptsLocked {
            return .locked(locked)
        }
        guard try await verified(password, candidate.found), let person = candidate.found?.0 else {
            return .wrong(counter)
        }
        try await database.endAttempt(counter, .account)
        return .right(person)
    }

    /// Counts an attempt at the operator's second factor, and returns the counter. The second
    /// factor has a counter of its own, so that an attacker who knows the password can neither try
    /// a million codes nor lock out the operator's own browsers. If the code is right, the caller
    /// must pass the counter to `endAttempt`. Throws `AttemptsLocked`.
    func claimFactorAttempt(of person: OperatorRow) async throws -> [UInt8] {
        var counter = name("second factor", person.id.description)
        if let device, try await database.isKnownDevice(device, of: person.id) {
            counter = self.counter(counter, of: device)
        }
        try await database.claimAttempt(counter, .account)
        return counter
    }

    private func account(_ key: String) -> [UInt8] { name("operator", key) }
    private func account(_ key: String, in scope: String) -> [UInt8] {
        name("operator", key, "in", scope)
    }
    /// The counter of one browser for an account. It is used in place of the account's counter.
    private func counter(_ account: [UInt8], of device: [UInt8]) -> [UInt8] {
        SHA256.authenticate(account + device, key: database.directoryKey)
    }

    private func verified(
        _ password: [UInt8], _ found: (OperatorRow, String?)?
    ) async throws -> Bool {
        do {
            if let (person, hash) = found, let hash, person.factors.hasPassword,
                person.status != .suspended
            {
                let verdict = try await passwords.verify(password, against: hash)
                if verdict.needsRehash {
                    try await database.rehashPassword(
                        try await passwords.hash(password), ofOperator: person.id, from: hash)
                }
                return verdict.matches
            }
            try await passwords.verifyUnknown(password)
            return false
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw Problem.rateLimited(
                "Too many sign-ins at the same time; try again.", retryAfter: 1)
        }
    }

    private var key: String { (try? EmailAddress(email))?.key ?? email }

    private func name(_ parts: String...) -> [UInt8] {
        SHA256.authenticate(Array(parts.joined(separator: "\0").utf8), key: database.directoryKey)
    }
}
