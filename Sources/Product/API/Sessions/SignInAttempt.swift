import Cryptography
import HTTP
import Storage
import Text

/// One try at an operator's password, held back after failures by counters that all replicas
/// share: of the client's address, and of the account. Unknown accounts cost and count the same as
/// known ones. Who signed in from an address before has a counter of their own there, so that
/// tries from elsewhere cannot lock the owner out.
struct SignInAttempt {
    var email: String
    var address: String
    var database: Database
    var passwords: PasswordHasher

    /// Failures before the first wait; an address may be many people's.
    private static let freeOfAddress = 49
    private static let freeOfAccount = 4

    /// A row that the address may mean, and the counters of tries at it.
    private struct Candidate {
        var found: (OperatorRow, String?)?
        var account: [UInt8]
        var here: [UInt8]
    }

    /// What one try at a candidate came to.
    private enum Outcome {
        case right(OperatorRow)
        /// With the counter that holds the try.
        case wrong([UInt8])
        case locked(until: Timestamp)
    }

    /// The operator, or nil where address and password do not fit. Tried is the named tenant's row
    /// (id or slug), then the confirmed row with the address, or the only one. Each row has its own
    /// password and its own counters, and one that is locked does not stop the other; one that is not
    /// there costs the same. Throws 429 if none was right and one was locked.
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
                // What came before was no guess.
                for counter in tried { try await database.forgiveAttempt(counter) }
                return person
            case .wrong(let counter): tried.append(counter)
            case .locked(let until): wait = wait ?? until
            }
        }
        if let wait { throw locked(wait, free: Self.freeOfAccount) }
        return nil
    }

    private func candidates(_ key: String, _ tenant: String?) async throws -> [Candidate] {
        let rows = try await database.operatorsWithPassword(emailKey: key)
        let clear = Self.isClear(rows) ? rows.first : nil
        let everywhere = Candidate(found: clear, account: account(key), here: place(key))
        guard let tenant else { return [everywhere] }
        let id = try await database.tenant(tenant)?.id
        let scope = id?.description ?? tenant
        let own = Candidate(
            found: rows.first { id != nil && $0.0.tenant == id },
            account: account(key, in: scope), here: place(key, in: scope))
        return [own, everywhere]
    }

    /// Whether the address alone says whose it is: the first row is confirmed, or the only one.
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
        try await rememberNetwork(of: person)
        if !isKnownHere { try await database.clearSignInFailures(counter) }
        return .right(person)
    }

    /// The place is known from now on for each way to name the row: by its tenant, and by the address
    /// alone if that means this row. Rows of others keep their own places, so that the claim of an
    /// address does not push out those of its owner. A link that was right counts as a password does.
    func rememberNetwork(of person: OperatorRow) async throws {
        if let tenant = person.tenant?.description {
            try await database.rememberNetwork(
                place(key, in: tenant), of: account(key, in: tenant))
        }
        let rows = try await database.operatorsWithPassword(emailKey: key)
        guard Self.isClear(rows), rows.first?.0.id == person.id else { return }
        try await database.rememberNetwork(place(key), of: account(key))
    }

    private func account(_ key: String) -> [UInt8] { name("operator", key) }
    private func account(_ key: String, in scope: String) -> [UInt8] {
        name("operator", key, "in", scope)
    }
    private func place(_ key: String) -> [UInt8] { name("operator", key, address) }
    private func place(_ key: String, in scope: String) -> [UInt8] {
        name("operator", key, "in", scope, address)
    }

    private func verified(
        _ password: [UInt8], _ found: (OperatorRow, String?)?
    ) async throws -> Bool {
        do {
            if let (person, hash) = found, let hash, person.status != "suspended" {
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
        SHA256.authenticate(
            Array(parts.joined(separator: "\0").utf8), key: database.directoryKey)
    }
}
