import COpenSSL
import Synchronization

/// SHA-256 of bytes that come in pieces.
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

    /// 32 bytes; called once, at the end.
    package func finish() -> [UInt8] {
        context.withLock { context in
            [UInt8](unsafeUninitializedCapacity: SHA256.length) { out, count in
                precondition(EVP_DigestFinal_ex(context, out.baseAddress, nil) == 1)
                count = SHA256.length
            }
        }
    }
}
