import HTTP
import Outbound
import Runtime
import TestSupport
import Testing
import Text

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

    @Test func `an address that the operator opened is reached over https by its owner alone`()
        async throws
    {
        let (port, certificate) = try await serve(as: "IP:127.0.0.1")
        let (acme, globex) = (UUID.random(), UUID.random())
        func outcome(_ setting: String, _ owner: UUID?, scheme: String = "https") async -> String {
            var policy = OutboundPolicy(authorities: certificate)
            policy.allowances = setting.split(separator: ",").compactMap { OutboundAllowance($0) }
            let client = OutboundHTTP(policy: policy) { $0 == "acme" ? acme : nil }
            let url = "\(scheme)://127.0.0.1:\(port)/a"
            let isOpen = await client.permits(url, for: owner)
            do throws(OutboundFailure) {
                let status = try await client.send(OutboundRequest(.get, url), for: owner).status
                return "\(isOpen) \(status)"
            } catch {
                return "\(isOpen) \(error)"
            }
        }
        let refused = "false refusedAddress"
        #expect(await outcome("", nil) == refused)
        #expect(await outcome("127.0.0.1:\(port)", nil) == "true 200")
        #expect(await outcome("127.0.0.0/8", nil) == "true 200")
        #expect(await outcome("127.0.0.1:\(port &+ 1)", nil) == refused)
        #expect(await outcome("127.0.0.1:\(port)", acme) == refused)
        #expect(await outcome("acme=127.0.0.1:\(port)", acme) == "true 200")
        #expect(await outcome("acme=127.0.0.1:\(port)", globex) == refused)
        #expect(await outcome("acme=127.0.0.1:\(port)", nil) == refused)
        #expect(await outcome("gone=127.0.0.1:\(port)", acme) == refused)
        #expect(await outcome("127.0.0.1:\(port)", nil, scheme: "http") == "false invalidRequest")
    }

    @Test(arguments: [
        "10.0.0.5:443", "10.0.0.5", "10.1.0.0/24", "acme=10.1.0.0/24", "acme=10.1.0.0/24:8443",
        "[fd00::5]:443", "[fd00::5]", "fd00::/8", "[fd00::/8]:443", "a-b=fd00::5",
    ])
    func `a setting opens an address or a block, with one port or all`(_ text: String) {
        #expect(OutboundAllowance(text) != nil)
    }

    @Test(arguments: [
        "", "=10.0.0.5", "acme=", "db.internal", "db.internal:443", "10.0.0.5:0", "10.0.0.5:70000",
        "10.0.0.5:", "10.0.0.0/33", "[fd00::5]443", "[fd00::5", "10.0.0.5:4a", "a=b=10.0.0.5",
    ])
    func `a setting that means nothing is refused`(_ text: String) {
        #expect(OutboundAllowance(text) == nil)
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
