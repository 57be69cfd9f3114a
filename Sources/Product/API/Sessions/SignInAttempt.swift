import Cryptography
import HTTP
import Storage
import Text

/// One try at an operator's password, held back after failures by counters that all replicas
/// share: of the client's address, and of the account. Unknown accounts cost and count the same as
/// known ones. Who signed in from an address before has a counter of their own there, so that
/// nobody elsewhere can lock the owner out.
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

    /// The operator, or nil where address and password do not fit. Tried is the confirmed row with the
    /// address, or the only one, and where a tenant is named (id or slug) that tenant's too. Each row
    /// has its own password and its own counters; one that is not there costs the same. Throws 429
    /// while locked.
    func prove(_ password: [UInt8], in tenant: String? = nil) async throws -> OperatorRow? {
        let key = (try? EmailAddress(email))?.key ?? email
        let client = name("address", address)
        try await claim(client, free: Self.freeOfAddress)
        var proved: OperatorRow?
        for candidate in try await candidates(key, tenant) {
            let person = try await prove(password, candidate)
            proved = proved ?? person
        }
        if proved != nil { try await database.forgiveTry(client) }
        return proved
    }

    private func candidates(_ key: String, _ tenant: String?) async throws -> [Candidate] {
        let rows = try await database.operatorsWithPassword(emailKey: key)
        let isClear = rows.first?.0.isConfirmed ?? false || rows.count == 1
        var candidates = [
            Candidate(
                found: isClear ? rows.first : nil, account: name("operator", key),
                here: place(key))
        ]
        guard let tenant else { return candidates }
        let id = try await database.tenant(tenant)?.id
        let scope = id?.description ?? tenant
        candidates.append(
            Candidate(
                found: rows.first { id != nil && $0.0.tenant == id },
                account: name("operator", key, "in", scope),
                here: name("operator", key, "in", scope, address)))
        return candidates
    }

    private func prove(_ password: [UInt8], _ candidate: Candidate) async throws -> OperatorRow? {
        let isKnownHere = try await database.isKnownPlace(candidate.here, of: candidate.account)
        let counter = isKnownHere ? candidate.here : candidate.account
        try await claim(counter, free: Self.freeOfAccount)
        guard try await verified(password, candidate.found) else { return nil }
        try await database.rememberPlace(candidate.here, of: candidate.account)
        if !isKnownHere { try await database.clearSignInFailures(counter) }
        return candidate.found?.0
    }

    /// A link that was right makes the place known as a password does.
    func rememberPlace() async throws {
        let key = (try? EmailAddress(email))?.key ?? email
        try await database.rememberPlace(place(key), of: name("operator", key))
    }

    private func place(_ key: String) -> [UInt8] { name("operator", key, address) }

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

    private func claim(_ counter: [UInt8], free: Int) async throws {
        guard let until = try await database.claimTry(counter, free: free) else { return }
        let seconds = max(1, (until.microseconds - database.clock().microseconds) / 1_000_000)
        throw Problem.rateLimited(
            "Too many tries; wait \(seconds) seconds.", limit: free + 1, retryAfter: seconds)
    }

    private func name(_ parts: String...) -> [UInt8] {
        SHA256.authenticate(
            Array(parts.joined(separator: "\0").utf8), key: database.directoryKey)
    }
}
