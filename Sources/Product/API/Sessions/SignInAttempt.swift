import Cryptography
import HTTP
import Storage
import Text

/// One try at an operator's password, held back after failures by a counter that all replicas
/// share. Unknown addresses cost and count the same as known ones.
struct SignInAttempt {
    var email: String
    var database: Database
    var passwords: PasswordHasher

    /// The operator, or nil where address and password do not fit. Throws 429 while locked.
    func prove(_ password: [UInt8]) async throws -> OperatorRow? {
        let key = (try? EmailAddress(email))?.key ?? email
        let counter = SHA256.authenticate(
            Array("operator\0\(key)".utf8), key: database.directoryKey)
        if let until = try await database.signInLockedUntil(counter) {
            let seconds = max(1, (until.microseconds - database.clock().microseconds) / 1_000_000)
            throw Problem(
                .rateLimited, "Too many tries; wait \(seconds) seconds.",
                fields: [.init("retry-after", "\(seconds)")])
        }
        let found = try await database.operatorWithPassword(emailKey: key)
        do {
            if let (person, hash) = found, let hash, person.status == "active" {
                if try await passwords.verify(password, against: hash).matches {
                    try await database.clearSignInFailures(counter)
                    return person
                }
            } else {
                try await passwords.verifyUnknown(password)
            }
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw Problem(
                .rateLimited, "Too many sign-ins at once; try again.",
                fields: [.init("retry-after", "1")])
        }
        try await database.countSignInFailure(counter)
        return nil
    }
}
