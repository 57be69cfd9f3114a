import COpenSSL
import Glibc

/// Why a certificate or key cannot be used.
package enum TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    case noContext
    case badCertificate(String)
    case badKey(String)

    package var description: String {
        switch self {
        case .noContext: "OpenSSL gave no context"
        case .badCertificate(let path):
            "\(path) is no certificate chain in PEM, the server's own first, or cannot be read"
        case .badKey(let path):
            "\(path) is no private key in PEM, cannot be read, or is not the certificate's"
        }
    }
}

/// A server's TLS settings: TLS 1.2 and 1.3, ECDHE with AEAD, ALPN `http/1.1`.
///
/// `@unchecked Sendable`: the context is changed in `init` only; OpenSSL locks what sessions share.
package final class TLSContext: @unchecked Sendable {
    fileprivate let context: OpaquePointer

    /// The end of the server's own certificate, in seconds since 1970; 0 if it has none that can be read.
    package var expiresAt: Int {
        var end = tm()
        guard let certificate = SSL_CTX_get0_certificate(context),
            ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1
        else { return 0 }
        return timegm(&end)
    }

    /// Reads a PEM chain, leaf first, and its PEM private key.
    package init(certificateChain: String, privateKey: String) throws(TLSError) {
        guard let made = SSL_CTX_new(TLS_server_method()) else { throw .noContext }
        context = made
        _ = gh_ssl_ctx_min_version(made, TLS1_2_VERSION)
        _ = SSL_CTX_set_cipher_list(made, "ECDHE+AESGCM:ECDHE+CHACHA20")
        // A repeated write may start at another address: buffers move as they grow.
        _ = gh_ssl_ctx_set_mode(
            made,
            Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_ENABLE_PARTIAL_WRITE)
                | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        _ = SSL_CTX_set_options(made, gh_ssl_server_options())
        SSL_CTX_set_alpn_select_cb(made, selectHTTP11, nil)
        guard SSL_CTX_use_certificate_chain_file(made, certificateChain) == 1 else {
            throw .badCertificate(certificateChain)
        }
        guard SSL_CTX_use_PrivateKey_file(made, privateKey, SSL_FILETYPE_PEM) == 1,
            SSL_CTX_check_private_key(made) == 1
        else { throw .badKey(privateKey) }
    }

    deinit { SSL_CTX_free(context) }
}

/// Picks `http/1.1` from the client's list (RFC 7301); without it the handshake fails.
private func selectHTTP11(
    _ session: OpaquePointer?, _ out: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    _ outCount: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ count: UInt32,
    _ context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered, let out, let outCount else { return SSL_TLSEXT_ERR_NOACK }
    var at = 0
    while at < Int(count) {
        let length = Int(offered[at])
        guard at + 1 + length <= Int(count) else { break }
        if length == 8, memcmp(offered + at + 1, "http/1.1", 8) == 0 {
            out.pointee = offered + at + 1
            outCount.pointee = 8
            return SSL_TLSEXT_ERR_OK
        }
        at += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// One connection's TLS. The handshake happens inside the first reads. Confined to its loop.
package final class TLSSession {
    private let session: OpaquePointer

    package init?(_ context: TLSContext, descriptor: Int32) {
        guard let made = SSL_new(context.context) else { return nil }
        session = made
        SSL_set_fd(made, descriptor)
        SSL_set_accept_state(made)
    }

    deinit { SSL_free(session) }

    package var isEstablished: Bool { SSL_is_init_finished(session) == 1 }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
        ERR_clear_error()
        let limit = Int32(min(buffer.count, Int(Int32.max)))
        return result(SSL_read(session, buffer.baseAddress, limit))
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
        ERR_clear_error()
        let limit = Int32(min(bytes.count, Int(Int32.max)))
        return result(SSL_write(session, bytes.baseAddress, limit))
    }

    func shutdown() {
        ERR_clear_error()
        if isEstablished { SSL_shutdown(session) }
    }

    private func result(_ count: Int32) -> SocketResult {
        if count > 0 { return .moved(Int(count)) }
        switch SSL_get_error(session, count) {
        case SSL_ERROR_WANT_READ: return .wantsRead
        case SSL_ERROR_WANT_WRITE: return .wantsWrite
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: return .failed
        }
    }
}
