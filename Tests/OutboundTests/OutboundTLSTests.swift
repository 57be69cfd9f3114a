import HTTP
import Networking
import Outbound
import Serving
import TestSupport
import Testing

@Suite(.cleansUp) struct OutboundTLSTests {
    /// A server on 127.0.0.1 whose certificate is for `name`, signed by itself.
    private func serve(as name: String) async throws -> (port: Int, certificate: String) {
        let directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-tls.XXXXXX"]).dropLast())
        CleanUp.atEnd { _ = try? Shell.run(["rm", "-rf", directory]) }
        let (certificate, key) = ("\(directory)/cert.pem", "\(directory)/key.pem")
        try Shell.run([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
            "-days", "2", "-subj", "/CN=test", "-addext", "subjectAltName=\(name)",
        ])
        let server = Server(loops: [Loops.shared[0]]) { request in
            Response(200, type: "text/plain", Array(request.path.utf8))
        }
        let port = try await server.start(
            address: "127.0.0.1:0",
            tls: try TLSContext(certificateChain: certificate, privateKey: key))
        CleanUp.atEnd { await server.drain(deadline: .zero) }
        return (port, certificate)
    }

    private func get(_ url: String, _ authorities: String?) async throws(OutboundFailure) -> String
    {
        let client = OutboundHTTP(
            policy: OutboundPolicy(allowsLoopback: true, authorities: authorities))
        let answer = try await client.send(OutboundRequest(.get, url), for: nil)
        return String(decoding: answer.body, as: UTF8.self)
    }

    @Test func `a certificate of a trusted authority for that name is accepted`() async throws {
        let (port, certificate) = try await serve(as: "DNS:localhost,IP:127.0.0.1")
        let named = try await get("https://localhost:\(port)/a", certificate)
        let numbered = try await get("https://127.0.0.1:\(port)/b", certificate)
        #expect(named == "/a")
        #expect(numbered == "/b")
    }

    @Test func `an unknown authority is refused`() async throws {
        let (port, _) = try await serve(as: "DNS:localhost")
        await #expect(throws: OutboundFailure.untrusted) {
            try await get("https://localhost:\(port)/", nil)
        }
    }

    @Test func `a certificate for another name is refused`() async throws {
        let (port, certificate) = try await serve(as: "DNS:other.example")
        await #expect(throws: OutboundFailure.untrusted) {
            try await get("https://localhost:\(port)/", certificate)
        }
    }
}
