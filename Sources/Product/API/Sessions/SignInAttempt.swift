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

    /// An address may be many people's.
    private static let freeOfAddress = 50
    private static let addressMemory: Int64 = 900
    private static let freeOfAccount = 5
    private static let accountMemory: Int64 = 86_400

    /// The operator, or nil where address and password do not fit. Throws 429 while locked.
    func prove(_ password: [UInt8]) async throws -> OperatorRow? {
        let key = (try? EmailAddress(email))?.key ?? email
        let client = SignInCounter(
            key: name("address", address), free: Self.freeOfAddress, memory: Self.addressMemory)
        try await count(client)
        let here = SignInCounter(
            key: name("operator", key, address), free: Self.freeOfAccount,
            memory: Self.accountMemory)
        let isKnownHere = try await database.hasSignedIn(here)
        let account =
            isKnownHere
            ? here
            : SignInCounter(
                key: name("operator", key), free: Self.freeOfAccount, memory: Self.accountMemory)
        try await count(account)
        let found = try await database.operatorWithPassword(emailKey: key)
        guard try await verified(password, found) else { return nil }
        try await database.settleSignIn(here)
        if !isKnownHere { try await database.settleSignIn(account) }
        try await database.forgiveSignInTry(client)
        return found?.0
    }

    private func verified(
        _ password: [UInt8], _ found: (OperatorRow, String?)?
    ) async throws -> Bool {
        do {
            if let (person, hash) = found, let hash, person.status == "active" {
                return try await passwords.verify(password, against: hash).matches
            }
            try await passwords.verifyUnknown(password)
            return false
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw Problem.rateLimited("Too many sign-ins at once; try again.", retryAfter: 1)
        }
    }

    private func count(_ counter: SignInCounter) async throws {
        guard let until = try await database.countSignInTry(counter) else { return }
        let seconds = max(1, (until.microseconds - database.clock().microseconds) / 1_000_000)
        throw Problem.rateLimited(
            "Too many tries; wait \(seconds) seconds.", limit: counter.free, retryAfter: seconds)
    }

    private func name(_ parts: String...) -> [UInt8] {
        SHA256.authenticate(
            Array(parts.joined(separator: "\0").utf8), key: database.directoryKey)
    }
}
