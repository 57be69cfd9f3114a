import Cryptography
import Domain
import HTTP
import Storage
import Text

/// One attempt at an operator's password, locked out after failures by counters that all replicas
/// share: of the client's address, and of the account. Unknown accounts cost and count the same as
/// known ones. A network with an earlier success has its own counter, so that attempts from
/// elsewhere cannot lock the owner out.
struct SignInAttempt {
    var email: String
    var address: String
    var database: Database
    var passwords: PasswordHasher

    /// Failures before the first wait; many users may share an address.
    private static let freeOfAddress = 49
    private static let freeOfAccount = 4

    /// A row that the address may mean, and its counters of attempts.
    private struct Candidate {
        var found: (OperatorRow, String?)?
        var account: [UInt8]
        var here: [UInt8]
    }

    /// The result of one attempt at a candidate.
    private enum Outcome {
        case right(OperatorRow)
        /// With the counter of the attempt.
        case wrong([UInt8])
        case locked(until: Timestamp)
    }

    /// The operator, or nil if address and password do not match. Checks the named tenant's row (id
    /// or slug), then the confirmed row with the address, or the only one. Each row has its own
    /// password and counters, and a locked one does not block the other; a missing one costs the
    /// same. Throws 429 if none matched and one was locked.
    func prove(_ password: [UInt8], in tenant: String? = nil) async throws -> OperatorRow? {
        let client = name("address", address)
        if let until = try await database.claimAttempt(client, free: Self.freeOfAddress) {
            throw locked(until, free: Self.freeOfAddress)
        }
        var tried: [[UInt8]] = [client]
        var wait: Timestamp?
        for candidate in try await candidates(key, tenant) {
            switch try await outcome(of: password, candidate) {
            case .right(let person):
                // The earlier attempts were not guesses.
                for counter in tried { try await database.forgiveAttempt(counter) }
                return person
            case .wrong(let counter): tried.append(counter)
            case .locked(let until): wait = wait ?? until
            }
        }
        if let wait { throw locked(wait, free: Self.freeOfAccount) }
        return nil
    }

    /// Whether it is this operator's password: a step-up, counted and locked out as a sign-in of
    /// the same row. Throws 429.
    func prove(_ password: [UInt8], of person: OperatorRow) async throws -> Bool {
        let client = name("address", address)
        if let until = try await database.claimAttempt(client, free: Self.freeOfAddress) {
            throw locked(until, free: Self.freeOfAddress)
        }
        let row = try await database.operatorsWithPassword(emailKey: person.emailKey)
            .first { $0.0.id == person.id }
        let scope = person.tenant?.description
        let candidate = Candidate(
            found: row, account: scope.map { account(key, in: $0) } ?? account(key),
            here: scope.map { network(key, in: $0) } ?? network(key))
        switch try await outcome(of: password, candidate) {
        case .right:
            try await database.forgiveAttempt(client)
            return true
        case .wrong: return false
        case .locked(let until): throw locked(until, free: Self.freeOfAccount)
        }
    }

    private func candidates(_ key: String, _ tenant: String?) async throws -> [Candidate] {
        let rows = try await database.operatorsWithPassword(emailKey: key)
        let clear = Self.isClear(rows) ? rows.first : nil
        let everywhere = Candidate(found: clear, account: account(key), here: network(key))
        guard let tenant else { return [everywhere] }
        let id = try await database.tenant(tenant)?.id
        let scope = id?.description ?? tenant
        let own = Candidate(
            found: rows.first { id != nil && $0.0.tenant == id },
            account: account(key, in: scope), here: network(key, in: scope))
        return [own, everywhere]
    }

    /// Whether the address alone is unambiguous: the first row is confirmed, or the only one.
    private static func isClear(_ rows: [(OperatorRow, String?)]) -> Bool {
        rows.first?.0.isConfirmed ?? false || rows.count == 1
    }

    private func outcome(of password: [UInt8], _ candidate: Candidate) async throws -> Outcome {
        let isKnownHere = try await database.isKnownNetwork(candidate.here, of: candidate.account)
        let counter = isKnownHere ? candidate.here : candidate.account
        if let until = try await database.claimAttempt(counter, free: Self.freeOfAccount) {
            return .locked(until: until)
        }
        guard try await verified(password, candidate.found), let person = candidate.found?.0 else {
            return .wrong(counter)
        }
        // The network is known once the operator is in: with a second factor that is later.
        try await database.clearSignInFailures(counter)
        return .right(person)
    }

    /// Makes the network known for each way to name the row: by its tenant, and by the address
    /// alone if that means this row. Other rows keep their own networks, so that a claim of an
    /// address does not displace those of its owner. A used link counts like a password.
    func rememberNetwork(of person: OperatorRow) async throws {
        if let tenant = person.tenant?.description {
            try await database.rememberNetwork(
                network(key, in: tenant), of: account(key, in: tenant))
        }
        let rows = try await database.operatorsWithPassword(emailKey: key)
        guard Self.isClear(rows), rows.first?.0.id == person.id else { return }
        try await database.rememberNetwork(network(key), of: account(key))
    }

    /// Whether a sign-in of the operator from this network is known.
    func isKnownNetwork(of person: OperatorRow) async throws -> Bool {
        let scope = person.tenant?.description
        return try await database.isKnownNetwork(
            scope.map { network(key, in: $0) } ?? network(key),
            of: scope.map { account(key, in: $0) } ?? account(key))
    }

    /// Claims an attempt at the operator's second factor, whose counter is its own: who knows the
    /// password must not try a million codes. Throws 429. The counter is to be forgiven if the
    /// attempt succeeds.
    func claimFactorAttempt(of person: OperatorRow) async throws -> [UInt8] {
        let counter = name("second factor", person.id.description)
        if let until = try await database.claimAttempt(counter, free: Self.freeOfAccount) {
            throw locked(until, free: Self.freeOfAccount)
        }
        return counter
    }

    private func account(_ key: String) -> [UInt8] { name("operator", key) }
    private func account(_ key: String, in scope: String) -> [UInt8] {
        name("operator", key, "in", scope)
    }
    private func network(_ key: String) -> [UInt8] { name("operator", key, address) }
    private func network(_ key: String, in scope: String) -> [UInt8] {
        name("operator", key, "in", scope, address)
    }

    private func verified(
        _ password: [UInt8], _ found: (OperatorRow, String?)?
    ) async throws -> Bool {
        do {
            if let (person, hash) = found, let hash, person.status != .suspended {
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
            throw Problem.rateLimited("Too many sign-ins at once; try again.", retryAfter: 1)
        }
    }

    private func locked(_ until: Timestamp, free: Int) -> Problem {
        let seconds = max(1, (until.microseconds - database.clock().microseconds) / 1_000_000)
        return Problem.rateLimited(
            "Too many tries; wait \(seconds) seconds.", limit: free + 1, retryAfter: seconds)
    }

    private var key: String { (try? EmailAddress(email))?.key ?? email }

    private func name(_ parts: String...) -> [UInt8] {
        SHA256.authenticate(Array(parts.joined(separator: "\0").utf8), key: database.directoryKey)
    }
}
