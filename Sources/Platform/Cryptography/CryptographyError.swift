/// Why a cryptographic operation failed. No case reveals more than callers may disclose.
package enum CryptographyError: Error, Sendable, Equatable {
    /// A key of the wrong length, kind or strength (RSA below 2048 bits, a point off its curve).
    case badKey
    /// A sealed text that does not open: cut, altered, for other data, or under an unknown key.
    case notAuthentic
    /// The library failed, as it does without memory.
    case libraryFailed
}
