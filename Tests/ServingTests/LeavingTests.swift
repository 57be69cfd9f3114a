import Glibc
import HTTP
import Runtime
import Synchronization
import TestSupport
import Testing

private final class Tally: Sendable {
    private let counts = Mutex((served: 0, lost: 0))
    var served: Int { counts.withLock { $0.served } }
    var lost: Int { counts.withLock { $0.lost } }

    func count(served: Bool) {
        counts.withLock { if served { $0.served += 1 } else { $0.lost += 1 } }
    }
}

/// A server that is to stop: requests are served until none comes.
@Suite(.serialized, .cleansUp) struct LeavingTests {
    @Test func `a server that leaves goes on, and each answer is its connection's last`()
        async throws
    {
        let running = try await RunningServer.start()
        let kept = Client(port: running.port)
        kept.send(get("/before"))
        #expect(!kept.read(until: "GET /before \n").contains("connection: close"))
        running.server.prepareToLeave()
        await Self.cycle(running.loop)
        for client in [kept, Client(port: running.port)] {
            client.send(get("/after"))
            let text = client.readAll()
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("connection: close\r\n"))
        }
    }

    /// A client with a connection gets an answer; one without may try elsewhere.
    @Test func `a connection that came about is answered, however the listener closes`()
        async throws
    {
        let running = try await RunningServer.start(loops: 2)
        let port = running.port
        let tally = Tally()
        let clients = (0..<4).map { _ in
            Task.detached {
                try await OwnThread.run {
                    while let client = Self.connection(port) {
                        client.send(get("/", "Connection: close\r\n"))
                        tally.count(served: client.readAll().hasPrefix("HTTP/1.1 200 "))
                    }
                }
            }
        }
        while tally.served < 100 { await Self.cycle(running.loop) }
        await running.server.drain(deadline: .seconds(10), grace: .milliseconds(50))
        for client in clients { try await client.value }
        #expect(tally.lost == 0)
    }

    @Test func `half done handshakes are bounded, and the oldest make room`() async throws {
        let tls = try TLSClient.certificate()
        var configuration = ServerConfiguration()
        configuration.handshakes = 4
        let running = try await RunningServer.start(configuration)
        let port = try await running.server.start(address: "127.0.0.1:0", tls: tls)
        let clients = (0..<6).map { _ in Client(port: port) }
        for client in clients.prefix(2) { #expect(client.read() == nil) }
        let still = clients.dropFirst(2).map(\.descriptor)
        for descriptor in still {
            var byte: UInt8 = 0
            let count = recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT))
            #expect(count < 0 && errno == EAGAIN)
        }
    }

    @Test func `a slow client elsewhere is not pushed out by one network's handshakes`()
        async throws
    {
        var configuration = ServerConfiguration()
        configuration.handshakes = 4
        let running = try await RunningServer.start(configuration)
        let port = try await running.server.start(
            address: "127.0.0.1:0", tls: TLSClient.certificate())
        let slow = Client(port: port, from: "127.0.0.2")
        let flood = (0..<40).map { _ in Client(port: port) }
        #expect(flood[0].read() == nil)
        for client in flood.dropFirst().prefix(35) { #expect(client.read() == nil) }
        var byte: UInt8 = 0
        let count = recv(slow.descriptor, &byte, 1, Int32(MSG_DONTWAIT))
        #expect(count < 0 && errno == EAGAIN)
    }

    private static func connection(_ port: Int) -> Client? {
        Client(connecting: port)
    }

    /// Returns when the loop has done what it was asked before.
    private static func cycle(_ loop: EventLoop) async {
        await withCheckedContinuation { continuation in
            loop.perform { continuation.resume() }
        }
    }
}
