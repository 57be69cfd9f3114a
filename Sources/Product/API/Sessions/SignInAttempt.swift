import Cryptography
import Domain
import HTTP
import Storage
import Text

/// One attempt at an operator's password. After failures it is locked out by counters that all
/// replicas share: one for the client's network and one for the account. Unknown accounts cost and
/// count the same as known ones. A browser in which the operator signed in before has its own
/// counter, found by a cookie, so that attempts from elsewhere, even from the operator's own
/// address, cannot lock the operator out.
struct SignInAttempt {
    var email: String
    var network: String
    var database: Database
    var passwords: PasswordHasher
    /// The hash of the browser's cookie; `nil` if it sent none.
    var device: [UInt8]?
    /// How a wrong password is recorded.
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

    /// Records one wrong password for each account that was tried; if there was none, one for an
    /// unknown account.
    private func noteWrong(_ people: [OperatorRow]) {
        let (log, now) = (database.wrongPasswords, database.clock())
        if people.isEmpty { return log.note(.unknown, of: .platform, described, at: now) }
        for person in people {
            log.note(.operator(person.id), of: person.tenant ?? .platform, described, at: now)
        }
    }

    /// An account that the address may stand for, and its counter of attempts.
    private struct Candidate {
        var found: (OperatorRow, String?)?
        /// The counter of the account, or of this browser if the account knows the browser.
        var counter: [UInt8]
        var isKnown: Bool
    }

    /// The result of an attempt at one candidate.
    private enum Outcome {
        case right(OperatorRow)
        /// The value is the counter that recorded the attempt.
        case wrong([UInt8])
        case locked(AttemptsLocked)
    }

    /// The operator; `nil` if the address and the password do not match. Checks the row in the
    /// named tenant (id or slug), then the confirmed row with the address, or the only row. Each
    /// row has its own password and counters, and a locked one does not block the other; a missing
    /// row costs the same as an existing one. Throws `AttemptsLocked` if no row matched and one was
    /// locked.
    func prove(_ password: [UInt8], in tenant: String? = nil) async throws -> OperatorRow? {
        let candidates = try await candidates(key, tenant)
        var tried = try await claimAddress(candidates)
        var wait: AttemptsLocked?
        var wrong: [Candidate] = []
        for candidate in candidates {
            switch try await outcome(of: password, candidate) {
            case .right(let person):
                // The operator knew the password, so the earlier attempts were not guesses.
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

    /// Whether this is the operator's password. Used for a step-up, which is counted and locked out
    /// like a sign-in with the same row. Throws `AttemptsLocked`.
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

    /// Claims an attempt for the address. No attempt is claimed in a browser that all of the
    /// accounts know, so that others at the same address cannot hold it back. A browser that only
    /// one of the accounts knows must not be usable to guess at another. Throws `AttemptsLocked`.
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

    /// Makes the same queries for an unknown account, so that the time does not give it away.
    private func candidate(
        _ found: (OperatorRow, String?)?, _ account: [UInt8]
    ) async throws -> Candidate {
        guard let device,
            try await database.isKnownDevice(device, of: found?.0.id ?? .random())
        else { return Candidate(found: found, counter: account, isKnown: false) }
        return Candidate(found: found, counter: counter(account, of: device), isKnown: true)
    }

    /// Whether the address alone is unambiguous: the first row is confirmed, or is the only one.
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

    /// Claims an attempt at the operator's second factor, which has its own counter: an attacker
    /// who knows the password must be able neither to try a million codes nor to lock out the
    /// operator's own browsers. Throws `AttemptsLocked`. The counter must be ended if the attempt
    /// succeeds.
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
    /// The counter of one browser, which replaces the account's counter.
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
