import Glibc

package enum RandomBytes {
    /// The most bytes that one call of getentropy returns.
    private static let chunk = 256

    /// Returns random bytes from the kernel's generator. The call blocks only until the generator
    /// is seeded.
    package static func make(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
            while initialized < count, let start = out.baseAddress {
                let length = min(chunk, count - initialized)
                // getentropy does not fail for at most 256 bytes. If it fails nevertheless, the
                // process must not continue without randomness.
                precondition(getentropy(start + initialized, length) == 0)
                initialized += length
            }
        }
    }
}

/// Whether the arrays are equal. The time of the comparison depends only on their lengths.
package func constantTimeEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for index in left.indices { difference |= left[index] ^ right[index] }
    return difference == 0
}

/// A bearer secret: 256 random bits in base64url. The database has only its hash.
package enum TokenSecret {
    /// Returns a new token of 43 characters.
    package static func make() -> String { Base64URL.encode(RandomBytes.make(32)) }

    /// Returns the SHA-256 (32 bytes) of a well-formed token; `nil` for any other text.
    package static func hash(_ token: String) -> [UInt8]? {
        guard token.utf8.count == 43, Base64URL.decode(token)?.count == 32 else { return nil }
        return SHA256.hash(Array(token.utf8))
    }
}

/// Why a cryptographic operation failed. No case reveals a secret, so a client may learn which case
/// it is.
package enum CryptographyError: Error, Sendable, Equatable {
    /// The key has a wrong length, kind or strength: for example, an RSA key below 2048 bits, or a
    /// point that is not on its curve.
    case badKey
    /// The sealed text cannot be opened. It is truncated or altered, or it was sealed for another
    /// context or under an unknown key.
    case notAuthentic
    /// The library failed, for example for lack of memory.
    case libraryFailed
}
