import HTTP
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .cleansUp) struct FastPathTests {
    @Test func `the fast path answers first and may decline`() async throws {
        let running = try await RunningServer.start(
            fast: { request, writer in
                guard request.head.pathIs("/fast") else { return .declined }
                writer.begin(200)
                request.writeRequestID(to: writer)
                writer.finish(request.body)
                return .given
            }
        )
        let client = Client(port: running.port)
        client.send("POST /fast HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
        let text = client.read(until: "\r\n\r\nabc")
        #expect(text.contains("x-request-id: ") && text.contains("content-length: 3\r\n"))
        client.send(get("/slow"))
        #expect(client.read(until: "GET /slow \n").hasPrefix("HTTP/1.1 200"))
    }

    /// A look-up that is refused at once answers all who waited on it, while another
    /// connection is being served, whose response stands in the loop's one output buffer by then.
    @Test func `an answer owed to one connection, given while another is served, mixes nothing`()
        async throws
    {
        let owed = Mutex<[LateAnswer]>([])
        let running = try await RunningServer.start(
            fast: { request, writer in
                if request.head.pathIs("/owed") {
                    owed.withLock { $0.append(request.later()) }
                    return .later
                }
                if request.head.pathIs("/pays") {
                    for slot in owed.withLock({ $0 }) {
                        slot.give {
                            $0.begin(200)
                            $0.finish(UnsafeRawBufferPointer(start: nil, count: 0))
                        }
                    }
                }
                writer.begin(200)
                Array("own\n".utf8).withUnsafeBytes { writer.finish($0) }
                return .given
            }
        )
        let waiting = Client(port: running.port)
        waiting.send(get("/owed") + get("/echo"))
        while owed.withLock(\.isEmpty) { await Task.yield() }
        let served = Client(port: running.port)
        served.send(get("/a") + get("/pays") + get("/b", "Connection: close\r\n"))
        let text = served.readAll()
        #expect(occurrences("own\n", in: text) == 3)
        #expect(occurrences("HTTP/1.1 200 OK", in: text) == 3)
        let paid = waiting.read(until: "own\n")
        #expect(occurrences("HTTP/1.1 200 OK", in: paid) == 2)
        #expect(occurrences("own\n", in: paid) == 1)
        #expect(paid.contains("content-length: 0\r\n"))
    }
}
