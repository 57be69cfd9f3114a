import Cryptography
import Domain

/// A newly chosen password: checked against the whole policy, then hashed.
package struct NewPassword: Sendable {
    /// Bytes; nothing is truncated.
    package static let limit = 1024

    package var text: String
    /// Characters.
    package var minimum = TenantPolicy().passwordMin
    package var usesBlocklist = true
    /// What an attacker would guess for this user: address, names.
    package var about: [String] = []

    package init(
        text: String, minimum: Int = TenantPolicy().passwordMin, usesBlocklist: Bool = true,
        about: [String] = []
    ) {
        self.text = text
        self.minimum = minimum
        self.usesBlocklist = usesBlocklist
        self.about = about
    }

    /// The PHC string. Throws 422 at `pointer`, or 429 while too many are hashed at once.
    package func hashed(_ call: Call, at pointer: String = "/password") async throws -> String {
        if let fault = fault(at: pointer) { throw Problem.invalid([fault]) }
        do {
            return try await call.services.passwords.hash(Array(text.utf8))
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw Problem.rateLimited("Too many passwords at once; try again.", retryAfter: 1)
        }
    }

    /// Why it is refused: too short, too long, or among the first guesses.
    package func fault(at pointer: String) -> FieldError? {
        guard text.unicodeScalars.count >= minimum else {
            return FieldError(pointer, .tooShort, "must have at least \(minimum) characters")
        }
        guard text.utf8.count <= Self.limit else {
            return FieldError(pointer, .tooLong, "must have at most \(Self.limit) bytes")
        }
        guard usesBlocklist, GuessablePassword.matches(text, about: about) else { return nil }
        return FieldError(
            pointer, .notAllowed, "is among the passwords that are guessed first; choose another")
    }
}
