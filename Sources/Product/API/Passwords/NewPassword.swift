import Cryptography
import Domain

/// Checks a newly chosen password against the whole policy, and hashes it.
package struct NewPassword: Sendable {
    /// The maximum length in bytes. A longer password is refused and never truncated.
    static let limit = 1024

    var text: String
    /// The minimum length in characters.
    var minimum = TenantPolicy().passwordMin
    var usesBlocklist = true
    /// Texts that an attacker would try first for this user: the address and the names.
    var about: [String] = []

    package init(
        text: String, minimum: Int = TenantPolicy().passwordMin, usesBlocklist: Bool = true,
        about: [String] = []
    ) {
        self.text = text
        self.minimum = minimum
        self.usesBlocklist = usesBlocklist
        self.about = about
    }

    /// Returns the PHC string. Throws 422 at `pointer`, or 429 while too many passwords are being
    /// hashed.
    func hashed(_ call: Call, at pointer: String = "/password") async throws -> String {
        if let fault = fault(at: pointer) { throw Problem.invalid([fault]) }
        do {
            return try await call.application.passwords.hash(Array(text.utf8))
        } catch {
            guard error == .busy else { throw error }
            throw Problem.rateLimited("Too many passwords are being set; try again.", retryAfter: 1)
        }
    }

    /// Why the password is refused: it is too short, too long, or easily guessed.
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

/// Detects passwords that attackers try first: common ones, the user's own data, and repetitions or
/// sequences of characters. Texts are compared as bytes, ignoring ASCII case.
enum GuessablePassword {
    /// The maximum length in bytes of a unit that a password repeats. A password that is at least
    /// one and a half times as long as its unit is as weak as the unit.
    private static let unitLimit = 10

    static func matches(_ text: String, about: [String]) -> Bool {
        let bytes = folded(text)
        return CommonPasswords.contains(bytes) || isRun(bytes) || isRepetition(bytes)
            || about.contains { isKnown($0, bytes) }
    }

    private static func folded(_ text: String) -> [UInt8] {
        text.utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether the password is the name or address itself, or the part before its `@`.
    private static func isKnown(_ word: String, _ bytes: [UInt8]) -> Bool {
        let known = folded(word)
        return bytes == known || bytes.elementsEqual(known.prefix { $0 != 0x40 })
    }

    private static func isRepetition(_ bytes: [UInt8]) -> Bool {
        for unit in 1...unitLimit where unit * 3 <= bytes.count * 2 {
            if (unit..<bytes.count).allSatisfy({ bytes[$0] == bytes[$0 - unit] }) { return true }
        }
        return false
    }

    /// Whether the password is a sequence such as `abcdefgh…` or `87654321…`.
    private static func isRun(_ bytes: [UInt8]) -> Bool {
        guard bytes.count > 1 else { return true }
        let steps = zip(bytes, bytes.dropFirst()).map { Int($1) - Int($0) }
        return steps.allSatisfy { $0 == 1 } || steps.allSatisfy { $0 == -1 }
    }
}
