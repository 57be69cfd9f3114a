import COpenSSL
import Glibc
import HTTP
import Runtime
import Synchronization
import TestSupport
import Testing

/// Clients that send TLS records without any request in them.
@Suite(.cleansUp) struct TLSFloodTests {
    /// Sends the flood, and asks on other connections of the same loop meanwhile. The quickest of
    /// them counts, in seconds: a busy machine delays one, a held loop all.
    private static func answering(
        _ running: RunningServer, during flood: [UInt8], of client: TLSClient
    ) async throws -> Double {
        let others = (0..<5).map { _ in Client(port: running.port) }
        for other in others {
            other.send(get("/"))
            _ = other.read(until: "GET / \n")
        }
        let half = flood.count / 8
        let socket = client.socket
        socket.send(Array(flood[..<half]))
        let rest = Task.detached { socket.send(Array(flood[half...])) }
        var start = timespec()
        clock_gettime(CLOCK_MONOTONIC, &start)
        let times = others.map { other in
            other.send(get("/"))
            let answer = other.read(until: "GET / \n")
            var end = timespec()
            clock_gettime(CLOCK_MONOTONIC, &end)
            return answer.isEmpty
                ? 60.0
                : Double(end.tv_sec - start.tv_sec) + Double(end.tv_nsec - start.tv_nsec) / 1e9
        }
        await rest.value
        return try #require(times.min())
    }

    private static func isClosed(_ client: TLSClient) -> Bool {
        while let bytes = client.socket.read() { if bytes.isEmpty { return false } }
        return errno != EAGAIN
    }

    @Test(arguments: [false, true])
    func `a client that only renews its keys holds nobody up`(requested: Bool) async throws {
        let running = try await RunningServer.start()
        let port = try await running.server.start(
            address: "127.0.0.1:0", tls: TLSClient.certificate())
        let client = try #require(TLSClient(port: port, version: TLS1_3_VERSION))
        client.send(get("/first"))
        #expect(client.read(until: "GET /first \n").contains(" 200 "))
        let flood = client.keyUpdates(60_000, requested: requested)
        #expect(try await Self.answering(running, during: flood, of: client) < 0.1)
        #expect(Self.isClosed(client))
    }

    @Test func `a client that begins its TLS 1_2 handshake anew holds nobody up`() async throws {
        let running = try await RunningServer.start()
        let port = try await running.server.start(
            address: "127.0.0.1:0", tls: TLSClient.certificate())
        let client = try #require(TLSClient(port: port, version: TLS1_2_VERSION))
        client.send(get("/first"))
        #expect(client.read(until: "GET /first \n").contains(" 200 "))
        // Each is understood, and refused by an alert of 31 bytes.
        client.socket.send(client.renegotiations(2))
        var alerts: [UInt8] = []
        while alerts.count < 62, let byte = client.socket.read(1) { alerts += byte }
        #expect(alerts.count == 62 && alerts[0] == 21 && alerts[31] == 21)
        let flood = client.renegotiations(120_000)
        #expect(try await Self.answering(running, during: flood, of: client) < 0.1)
        #expect(Self.isClosed(client))
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func `a client that renews its keys now and then is served`(version: Int32) async throws {
        let running = try await RunningServer.start()
        let port = try await running.server.start(
            address: "127.0.0.1:0", tls: TLSClient.certificate())
        let client = try #require(TLSClient(port: port, version: version))
        for round in 0..<5 {
            let records =
                version == TLS1_3_VERSION
                ? client.keyUpdates(6, requested: false) : client.renegotiations(0)
            client.socket.send(records)
            client.send(get("/\(round)"))
            #expect(client.read(until: "GET /\(round) \n").contains(" 200 "))
        }
    }

    @Test func `a head that cannot be read is refused over TLS with its HSTS`() async throws {
        let running = try await RunningServer.start()
        let port = try await running.server.start(
            address: "127.0.0.1:0", tls: TLSClient.certificate())
        let client = try #require(TLSClient(port: port, version: TLS1_3_VERSION))
        client.send("nonsense\r\n\r\n")
        let answer = client.read(until: "nothing")
        #expect(answer.contains(" 400 "))
        #expect(answer.contains("strict-transport-security: max-age=31536000"))
        let plain = Client(port: running.port)
        plain.send("nonsense\r\n\r\n")
        #expect(!plain.readAll().lowercased().contains("strict-transport"))
    }
}
