import CLinux
import COpenSSL
import Glibc

/// Why a certificate or a key cannot be used.
package enum TLSError: Error, Sendable, Equatable, CustomStringConvertible {
    case noContext
    case badCertificate(String)
    case badKey(String)

    package var description: String {
        switch self {
        case .noContext: "OpenSSL gave no context"
        case .badCertificate(let path):
            "GATEHOUSE_TLS_CERT: "
                + (Self.unread(path)
                    ?? "\(path) is no certificate chain in PEM, the server's own first")
        case .badKey(let path):
            "GATEHOUSE_TLS_KEY: "
                + (Self.unread(path)
                    ?? "\(path) is no private key in PEM, or not the certificate's")
        }
    }

    /// Returns why a file cannot be opened; `nil` if it can.
    private static func unread(_ path: String) -> String? {
        guard access(path, R_OK) != 0 else { return nil }
        return errno == ENOENT
            ? "\(path) does not exist" : "\(path) cannot be read by this user"
    }
}

/// The TLS settings of a server: TLS 1.2 and 1.3, ECDHE with AEAD, ALPN `http/1.1`.
///
/// `@unchecked Sendable`: the context is changed only in `init`, and OpenSSL locks what sessions
/// share.
package final class TLSContext: @unchecked Sendable {
    fileprivate let context: OpaquePointer

    /// When the server's certificate expires, in seconds since 1970; 0 if it cannot be read.
    package var expiresAt: Int {
        var end = tm()
        guard let certificate = SSL_CTX_get0_certificate(context),
            ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) == 1
        else { return 0 }
        return timegm(&end)
    }

    /// Reads the files of a certificate chain (PEM, leaf first) and of its private key (PEM).
    package init(certificateChain: String, privateKey: String) throws(TLSError) {
        guard let made = SSL_CTX_new(TLS_server_method()) else { throw .noContext }
        context = made
        _ = gh_ssl_ctx_min_version(made, TLS1_2_VERSION)
        _ = SSL_CTX_set_cipher_list(made, "ECDHE+AESGCM:ECDHE+CHACHA20")
        // Among other modes, allow a repeated write from another address, because buffers move when
        // they grow.
        _ = gh_ssl_ctx_set_mode(
            made,
            Int(SSL_MODE_RELEASE_BUFFERS) | Int(SSL_MODE_ENABLE_PARTIAL_WRITE)
                | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER))
        // With SSL_MODE_AUTO_RETRY, a single call would go on reading for as long as a client sends
        // records without application data.
        _ = gh_ssl_ctx_clear_mode(made, Int(SSL_MODE_AUTO_RETRY))
        SSL_CTX_set_msg_callback(made, countRecord)
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

/// Selects `http/1.1` from the client's list (RFC 7301). If the list does not contain it, the
/// handshake fails.
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

/// Counts the records without application data that a client sends. OpenSSL calls this with the
/// header of each record, and with the true type of each TLS 1.3 record.
private func countRecord(
    _ isWritten: Int32, _ version: Int32, _ kind: Int32, _ bytes: UnsafeRawPointer?, _ count: Int,
    _ session: OpaquePointer?, _ counted: UnsafeMutableRawPointer?
) {
    guard isWritten == 0, kind == SSL3_RT_HEADER || kind == SSL3_RT_INNER_CONTENT_TYPE, count > 0,
        let type = bytes?.load(as: UInt8.self), type != UInt8(SSL3_RT_APPLICATION_DATA),
        let counted
    else { return }
    Unmanaged<TLSSession>.fromOpaque(counted).takeUnretainedValue().countControlRecord()
}

/// The TLS state of one connection. The handshake happens during the first reads. Use it only on
/// its loop.
package final class TLSSession {
    /// The maximum number of records that a client may send in its handshake. Honest clients send
    /// fewer than 10, or a few dozen if they split their hello.
    private static let handshakeRecords = 256
    /// The maximum number of records without application data, such as a key update or the closing
    /// alert, that a client may send between two requests. Records of the handshake do not count.
    private static let controlRecords = 8

    private let session: OpaquePointer
    /// How many records without application data have arrived since the last request.
    private var controls = 0
    private var hasExceeded = false

    package init?(_ context: TLSContext, descriptor: Int32) {
        guard let made = SSL_new(context.context) else { return nil }
        session = made
        SSL_set_fd(made, descriptor)
        SSL_set_accept_state(made)
        _ = gh_ssl_set_msg_callback_arg(made, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { SSL_free(session) }

    /// Resets the count of records without application data, because a request has begun.
    package func beginRequest() { controls = 0 }

    /// Counts a record. Above the limit, OpenSSL reads nothing more, as if the peer had ended the
    /// connection.
    fileprivate func countControlRecord() {
        controls += 1
        guard controls > (isEstablished ? Self.controlRecords : Self.handshakeRecords) else {
            return
        }
        hasExceeded = true
        SSL_set_shutdown(session, SSL_RECEIVED_SHUTDOWN)
    }

    package var isEstablished: Bool { SSL_is_init_finished(session) == 1 }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> SocketResult {
        ERR_clear_error()
        let limit = Int32(min(buffer.count, Int(Int32.max)))
        let wasEstablished = isEstablished
        let read = result(SSL_read(session, buffer.baseAddress, limit))
        if hasExceeded { return .failed }
        // The count begins anew after the handshake, because the records of the handshake have a
        // limit of their own.
        if !wasEstablished, isEstablished { controls = 0 }
        return read
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> SocketResult {
        ERR_clear_error()
        let limit = Int32(min(bytes.count, Int(Int32.max)))
        return result(SSL_write(session, bytes.baseAddress, limit))
    }

    func shutdown() {
        ERR_clear_error()
        if isEstablished, !hasExceeded { SSL_shutdown(session) }
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

/// Makes a single exchange with a TLS server on this machine. Neither name nor certificate is
/// checked.
package enum TLSProbe {
    /// Sends a request and returns the beginning of the answer; empty if there is none.
    /// `descriptor` must be connected and blocking.
    package static func exchange(_ request: String, on descriptor: Int32) -> [UInt8] {
        guard let context = SSL_CTX_new(TLS_client_method()) else { return [] }
        defer { SSL_CTX_free(context) }
        guard let session = SSL_new(context) else { return [] }
        defer { SSL_free(session) }
        SSL_set_fd(session, descriptor)
        ERR_clear_error()
        guard SSL_connect(session) == 1,
            SSL_write(session, request, Int32(request.utf8.count)) > 0
        else { return [] }
        var answer = [UInt8](repeating: 0, count: 64)
        let count = SSL_read(session, &answer, 64)
        return Array(answer.prefix(Int(max(0, count))))
    }
}

/// The memory that the process uses.
package enum Memory {
    /// Returns freed memory to the system. Takes some milliseconds.
    package static func trim() { gh_trim_memory() }
}
