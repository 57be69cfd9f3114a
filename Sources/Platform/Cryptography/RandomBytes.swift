import Glibc

package enum RandomBytes {
    /// The limit of one call of getentropy, in bytes.
    private static let chunk = 256

    /// Bytes from the kernel's generator, which blocks only until it is seeded.
    package static func make(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
            while initialized < count, let start = out.baseAddress {
                let length = min(chunk, count - initialized)
                // getentropy cannot fail within the limit; without randomness the process must not
                // continue.
                precondition(getentropy(start + initialized, length) == 0)
                initialized += length
            }
        }
    }
}

/// Compares in a time that depends only on the lengths.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}

/// A bearer secret: 256 random bits in base64url. Only its hash is stored.
package enum TokenSecret {
    /// 43 characters.
    package static func make() -> String { Base64URL.encode(RandomBytes.make(32)) }

    /// The 32-byte SHA-256 of a token of the right form; `nil` for anything else.
    package static func hash(_ token: String) -> [UInt8]? {
        guard token.utf8.count == 43, Base64URL.decode(token)?.count == 32 else { return nil }
        return SHA256.hash(Array(token.utf8))
    }
}

/// Why a cryptographic operation failed. No case reveals more than callers may disclose.
package enum CryptographyError: Error, Sendable, Equatable {
    /// A key of the wrong length, kind or strength (RSA below 2048 bits, a point off its curve).
    case badKey
    /// A sealed text that does not open: truncated, altered, sealed for another context, or under
    /// an unknown key.
    case notAuthentic
    /// The library failed, for example for lack of memory.
    case libraryFailed
}
