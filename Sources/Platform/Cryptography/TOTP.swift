import COpenSSL

/// Time-based one-time passwords (RFC 6238) with the parameters that every authenticator app
/// supports: HMAC-SHA-1, steps of 30 seconds, 6 digits.
package struct TOTP: Sendable {
    /// The length of a step in seconds; an app shows one code for each step.
    package static let period: Int64 = 30
    package static let digits = 6
    /// How many steps before and after the current one are accepted, because the clock of the
    /// user's device may be wrong.
    static let drift: Int64 = 1

    package let seed: [UInt8]

    package init(seed: [UInt8]) { self.seed = seed }

    /// Makes a random seed of 20 bytes, as long as the hash (RFC 4226 section 4, R6).
    package static func makeSeed() -> [UInt8] { RandomBytes.make(20) }

    /// Returns the number of the step that contains a time in seconds since 1970.
    package static func step(at seconds: Int64) -> Int64 { seconds / period }

    /// Returns the code of one step. `digits` is at most 8.
    package func code(of step: Int64, digits: Int = digits) -> String {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: step >> (56 - 8 * $0)) }
        let hash = authenticated(message)
        let start = Int(hash[19] & 0x0F)
        let word = hash[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let limit = (0..<digits).reduce(UInt32(1)) { power, _ in power * 10 }
        let text = String(word % limit)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// Returns the accepted step that has this code. Returns `nil` if there is none after the step
    /// `last`. Takes the same time for every code.
    package func step(of code: String, at seconds: Int64, after last: Int64) -> Int64? {
        let now = Self.step(at: seconds)
        var found: Int64?
        for step in max(0, now - Self.drift)...now + Self.drift {
            let isSame = constantTimeEqual(Array(self.code(of: step).utf8), Array(code.utf8))
            if isSame, step > last { found = step }
        }
        return found
    }

    /// Returns the HMAC-SHA-1 of the message (20 bytes).
    private func authenticated(_ message: [UInt8]) -> [UInt8] {
        var out = [UInt8](repeating: 0, count: 20)
        var length: UInt32 = 0
        let made = HMAC(
            EVP_sha1(), seed, Int32(seed.count), message, message.count, &out, &length)
        // This call fails only if memory runs out or OpenSSL is broken. Ending the process is
        // better than a wrong code.
        precondition(made != nil && length == 20)
        return out
    }
}
