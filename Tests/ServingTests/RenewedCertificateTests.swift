import Glibc
import HTTP
import Runtime
import TestSupport
import Testing

/// A certificate that is renewed while the server runs.
@Suite(.cleansUp) struct RenewedCertificateTests {
    private static func certificate(of name: String, in folder: String) throws -> TLSContext {
        let (key, chain) = ("\(folder)/\(name).key", "\(folder)/\(name).crt")
        try Shell.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", key, "-out", chain, "-days", "1", "-subj", "/CN=\(name)",
        ])
        return try TLSContext(certificateChain: chain, privateKey: key)
    }

    /// The subject of the certificate that a new connection is shown.
    private static func shown(at port: Int) throws -> String {
        try Shell.run([
            "sh", "-c",
            "openssl s_client -connect 127.0.0.1:\(port) -alpn http/1.1 </dev/null 2>/dev/null"
                + " | openssl x509 -noout -subject",
        ])
    }

    @Test func `a renewed certificate is used for the next connection`() async throws {
        let folder = String(
            try Shell.run(["mktemp", "-d", "/tmp/gh-tls.XXXXXX"]).prefix { $0 != "\n" })
        defer { _ = try? Shell.run(["rm", "-rf", folder]) }
        let old = try Self.certificate(of: "first.example", in: folder)
        let new = try Self.certificate(of: "second.example", in: folder)
        #expect(abs(old.expiresAt - time(nil) - 86_400) < 60)
        let running = try await RunningServer.start()
        let port = try await running.server.start(address: "127.0.0.1:0", tls: old)
        #expect(try Self.shown(at: port).contains("first.example"))
        running.server.replaceTLS(new)
        #expect(try Self.shown(at: port).contains("second.example"))
    }
}
