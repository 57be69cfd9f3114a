import Cryptography
import Domain
import Postgres
import Text

/// SHA-256 of a presented secret. Four words and no vector: the frames of async functions, which
/// hold it, are not aligned as a vector of this length requires.
package struct KeyHash: Hashable, Sendable {
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64

    /// Hashes the bytes of the whole secret.
    package init(of secret: UnsafeRawBufferPointer) {
        self = withUnsafeTemporaryAllocation(byteCount: SHA256.length, alignment: 8) { digest in
            SHA256.hash(secret, into: digest)
            return KeyHash(digest: UnsafeRawBufferPointer(digest))
        }
    }

    private init(digest: UnsafeRawBufferPointer) {
        first = digest.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
        second = digest.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        third = digest.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        fourth = digest.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    }

    /// Hashes the UTF-8 of the whole secret.
    package init(of secret: String) {
        var secret = secret
        self = secret.withUTF8 { KeyHash(of: UnsafeRawBufferPointer($0)) }
    }

    /// Any part of a digest is as evenly spread as the whole.
    package func hash(into hasher: inout Hasher) { hasher.combine(first) }
}
