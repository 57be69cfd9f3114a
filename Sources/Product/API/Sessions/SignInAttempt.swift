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

    /// The operator, or nil where address and password do not fit. Throws 429 while locked.
    func prove(_ password: [UInt8]) async throws -> OperatorRow? {
        let key = (try? EmailAddress(email))?.key ?? email
        let client = name("address", address)
        try await claim(client, free: Self.freeOfAddress)
        let here = name("operator", key, address)
        let isKnownHere = try await database.hasSignedIn(here)
        let account = isKnownHere ? here : name("operator", key)
        try await claim(account, free: Self.freeOfAccount)
        let found = try await database.operatorWithPassword(emailKey: key)
        guard try await verified(password, found) else { return nil }
        try await database.settleSignIn(here)
        if !isKnownHere { try await database.clearSignInFailures(account) }
        try await database.forgiveTry(client)
        return found?.0
    }

    private func verified(
        _ password: [UInt8], _ found: (OperatorRow, String?)?
    ) async throws -> Bool {
        do {
            if let (person, hash) = found, let hash, person.status == "active" {
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
