import COpenSSL
import Glibc
import Runtime
import TestSupport

/// A client that speaks TLS and can write what no honest client writes. Used by one thread.
final class TLSClient {
    let socket: Client
    private let context: OpaquePointer
    private let session: OpaquePointer
    /// Records that this client has encrypted itself (TLS 1.2), or that OpenSSL has.
    private var sequence: UInt64 = 1

    /// A certificate of this test alone.
    static func certificate() throws -> TLSContext {
        let folder = try Shell.run(["mktemp", "-d", "/tmp/gh-tls.XXXXXX"]).prefix { $0 != "\n" }
        defer { _ = try? Shell.run(["rm", "-rf", String(folder)]) }
        try Shell.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", "\(folder)/key", "-out", "\(folder)/crt", "-days", "1",
            "-subj", "/CN=localhost",
        ])
        return try TLSContext(certificateChain: "\(folder)/crt", privateKey: "\(folder)/key")
    }

    /// `version`: TLS1_2_VERSION or TLS1_3_VERSION. Nil if the handshake fails.
    init?(port: Int, version: Int32) {
        socket = Client(port: port)
        guard let context = SSL_CTX_new(TLS_client_method()), let session = SSL_new(context) else {
            return nil
        }
        self.context = context
        self.session = session
        _ = SSL_ctrl(session, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(version), nil)
        _ = SSL_ctrl(session, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version), nil)
        SSL_set_cipher_list(session, "ECDHE-ECDSA-AES128-GCM-SHA256")
        SSL_set_fd(session, socket.descriptor)
        guard SSL_connect(session) == 1 else { return nil }
    }

    deinit {
        SSL_free(session)
        SSL_CTX_free(context)
    }

    func send(_ text: String) {
        _ = SSL_write(session, text, Int32(text.utf8.count))
        sequence += 1
    }

    /// Reads until `text` has come or the connection ends.
    func read(until text: String) -> String {
        var all: [UInt8] = []
        var byte: UInt8 = 0
        while !all.ends(with: Array(text.utf8)), SSL_read(session, &byte, 1) == 1 {
            all.append(byte)
        }
        return String(decoding: all, as: UTF8.self)
    }

    /// Records that renew the keys (RFC 8446 section 4.6.3), not sent yet.
    func keyUpdates(_ number: Int, requested: Bool) -> [UInt8] {
        let written = BIO_new(BIO_s_mem())
        let socket = SSL_get_wbio(session)
        BIO_up_ref(socket)
        SSL_set0_wbio(session, written)
        for _ in 0..<number {
            SSL_key_update(
                session, requested ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
            SSL_do_handshake(session)
        }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(written))
        BIO_read(written, &bytes, Int32(bytes.count))
        SSL_set0_wbio(session, socket)
        return bytes
    }

    /// The beginnings of a renegotiation (RFC 5246 section 7.4.1.2), not sent yet: OpenSSL's client
    /// writes one, so these are encrypted here, by AES-128-GCM as RFC 5288 has it.
    func renegotiations(_ number: Int) -> [UInt8] {
        let block = keyBlock()
        var all: [UInt8] = []
        let cipher = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(cipher) }
        let hello: [UInt8] = [1, 0, 0, 0]
        for _ in 0..<number {
            let count = withUnsafeBytes(of: sequence.bigEndian) { Array($0) }
            sequence += 1
            var (text, tag) = (hello, [UInt8](repeating: 0, count: 16))
            var length: Int32 = 0
            EVP_EncryptInit_ex(
                cipher, EVP_aes_128_gcm(), nil, Array(block[..<16]), block[32..<36] + count)
            EVP_EncryptUpdate(cipher, nil, &length, count + [22, 3, 3, 0, 4], 13)
            EVP_EncryptUpdate(cipher, &text, &length, hello, 4)
            EVP_EncryptFinal_ex(cipher, &tag, &length)
            EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, 16, &tag)
            all += [22, 3, 3, 0, 28] + count + text + tag
        }
        return all
    }

    /// The client's key, the server's, and their fixed parts of the nonce (RFC 5246 section 6.3).
    private func keyBlock() -> [UInt8] {
        var secret = [UInt8](repeating: 0, count: 48)
        SSL_SESSION_get_master_key(SSL_get_session(session), &secret, 48)
        var (client, server) = (
            [UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32)
        )
        SSL_get_client_random(session, &client, 32)
        SSL_get_server_random(session, &server, 32)
        var seed = Array("key expansion".utf8) + server + client
        var digest = Array("SHA256".utf8CString)
        var block = [UInt8](repeating: 0, count: 40)
        let function = EVP_KDF_fetch(nil, "TLS1-PRF", nil)
        let derivation = EVP_KDF_CTX_new(function)
        defer {
            EVP_KDF_CTX_free(derivation)
            EVP_KDF_free(function)
        }
        // A parameter keeps the pointer to its name.
        let names = ["digest", "secret", "seed"].map { (name: String) in strdup(name) }
        defer { for name in names { free(name) } }
        let (secretCount, seedCount) = (secret.count, seed.count)
        secret.withUnsafeMutableBytes { secret in
            seed.withUnsafeMutableBytes { seed in
                digest.withUnsafeMutableBufferPointer { digest in
                    let parameters = [
                        OSSL_PARAM_construct_utf8_string(names[0], digest.baseAddress, 0),
                        OSSL_PARAM_construct_octet_string(
                            names[1], secret.baseAddress, secretCount),
                        OSSL_PARAM_construct_octet_string(names[2], seed.baseAddress, seedCount),
                        OSSL_PARAM_construct_end(),
                    ]
                    let made = EVP_KDF_derive(derivation, &block, block.count, parameters)
                    precondition(made == 1, "no keys")
                }
            }
        }
        return block
    }
}
