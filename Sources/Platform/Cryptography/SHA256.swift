import COpenSSL
import Glibc
import Synchronization

/// SHA-256 (FIPS 180-4), HMAC (RFC 2104) and HKDF (RFC 5869).
package enum SHA256 {
    package static let length = 32
    private static let blockLength = 64

    // The digest is fetched only once: each fetch takes OpenSSL's provider lock, which costs more
    // than a short hash. The fetched object is immutable and may be used from any thread.
    nonisolated(unsafe) private static let digest: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)

    private static let contextKey: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { pointer in
            if let pointer { EVP_MD_CTX_free(OpaquePointer(pointer)) }
        }
        return key
    }()

    /// Returns this thread's digest context, which is freed when the thread ends.
    private static func context() -> OpaquePointer? {
        if let pointer = pthread_getspecific(contextKey) { return OpaquePointer(pointer) }
        let context = EVP_MD_CTX_new()
        if let context { pthread_setspecific(contextKey, UnsafeRawPointer(context)) }
        return context
    }

    /// Returns the SHA-256 of the bytes (32 bytes).
    package static func hash(_ bytes: [UInt8]) -> [UInt8] { bytes.withUnsafeBytes { hash($0) } }

    package static func hash(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: length) { out, count in
            hash(bytes, into: UnsafeMutableRawBufferPointer(out))
            count = length
        }
    }

    /// Writes the SHA-256 of the bytes into `out`, which has room for 32 bytes.
    package static func hash(
        _ bytes: UnsafeRawBufferPointer, into out: UnsafeMutableRawBufferPointer
    ) {
        precondition(out.count >= length)
        let context = context()
        // These calls fail only if memory runs out or OpenSSL is broken. Ending the process is
        // better than a wrong hash.
        precondition(
            EVP_DigestInit_ex2(context, digest, nil) == 1
                && EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1
                && EVP_DigestFinal_ex(
                    context, out.baseAddress?.assumingMemoryBound(to: UInt8.self), nil) == 1
        )
    }

    /// Returns the HMAC-SHA256 of the message (32 bytes).
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        let block = key.count > blockLength ? hash(key) : key
        var inner = [UInt8](repeating: 0x36, count: blockLength)
        var outer = [UInt8](repeating: 0x5C, count: blockLength)
        for (index, byte) in block.enumerated() {
            inner[index] ^= byte
            outer[index] ^= byte
        }
        return hash(outer + hash(inner + message))
    }

    /// Derives `count` bytes (at most 8160) from a secret by HKDF-SHA256. `info` names their
    /// purpose.
    package static func derive(
        from secret: [UInt8], salt: [UInt8] = [], info: [UInt8], count: Int = 32
    ) -> [UInt8] {
        precondition(count <= 255 * length)
        let key = authenticate(
            secret, key: salt.isEmpty ? [UInt8](repeating: 0, count: length) : salt)
        var output: [UInt8] = []
        var block: [UInt8] = []
        var counter: UInt8 = 0
        while output.count < count {
            counter += 1
            block = authenticate(block + info + [counter], key: key)
            output += block
        }
        return Array(output.prefix(count))
    }
}

/// The SHA-256 of data that is added piece by piece.
package final class DigestOfPieces: Sendable {
    private let context: Mutex<OpaquePointer?>

    package init() {
        let made = EVP_MD_CTX_new()
        precondition(EVP_DigestInit_ex2(made, EVP_sha256(), nil) == 1)
        context = Mutex(made)
    }

    deinit { context.withLock { EVP_MD_CTX_free($0) } }

    package func add(_ piece: [UInt8]) {
        context.withLock { context in
            precondition(EVP_DigestUpdate(context, piece, piece.count) == 1)
        }
    }

    /// Returns the digest (32 bytes). Call it once, at the end.
    package func finish() -> [UInt8] {
        context.withLock { context in
            [UInt8](unsafeUninitializedCapacity: SHA256.length) { out, count in
                precondition(EVP_DigestFinal_ex(context, out.baseAddress, nil) == 1)
                count = SHA256.length
            }
        }
    }
}
