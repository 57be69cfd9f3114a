import Glibc
import HTTP
import Runtime
import Synchronization
import TestSupport
import Testing

@Suite(.serialized, .cleansUp) struct ServerTests {
    @Test func `pipelined requests are answered in order`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        let paths = ["/1", "/late", "/2", "/late", "/3"]
        client.send(
            paths.map { get($0) }.joined() + get("/end", "Connection: close\r\n"))
        let text = client.readAll()
        let bodies = text.split(separator: "\r\n").filter { $0.hasPrefix("GET ") }
        #expect(occurrences("HTTP/1.1 200 OK", in: text) == 6)
        #expect(
            bodies.map { String($0.prefix { $0 != "\n" }) }
                == (paths + ["/end"]).map { "GET \($0) " })
        #expect(occurrences("connection: close", in: text) == 1)
    }

    @Test func `a malformed request gets one answer and the connection closes`() async throws {
        let running = try await RunningServer.start()
        for each in requestCorpus where each.status != 0 {
            let client = Client(port: running.port)
            client.send(each.text)
            let text = client.readAll()
            #expect(text.hasPrefix("HTTP/1.1 \(each.status) "), "\(each)")
            #expect(occurrences("connection: close\r\n", in: text) == 1, "\(each)")
            // What is not understood is the client's fault; what HTTP has and is not served
            // here, a version or a transfer coding, has its own codes (RFC 9112 §2.3, §6.1).
            #expect((400..<500).contains(each.status) || [501, 505].contains(each.status))
        }
    }

    @Test func `a thousand pipelined requests are all answered`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        client.send(
            String(repeating: get("/late"), count: 1000)
                + get("/end", "Connection: close\r\n"))
        #expect(occurrences("HTTP/1.1 200 OK", in: client.readAll()) == 1001)
    }

    @Test func `bodies arrive by length and by chunks`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        let head = "POST /p HTTP/1.1\r\nHost: a\r\n"
        client.send(head + "Content-Length: 5\r\n\r\nhel")
        client.send("lo" + head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        #expect(client.read(until: "hello\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
        client.send("2\r\nde\r\n0\r\n\r\n" + get("/x"))
        #expect(client.read(until: "POST /p abcde\n").hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(client.read(until: "GET /x \n").hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test func `the largest body passes and one more byte does not`() async throws {
        let running = try await RunningServer.start()
        let head = "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: "
        let first = Client(port: running.port)
        first.send(head + "1048576\r\n\r\n" + String(repeating: "x", count: 1 << 20))
        #expect(first.readAll().contains("content-length: \((1 << 20) + 8)\r\n"))
        let second = Client(port: running.port)
        second.send(head + "1048577\r\n\r\n")
        let text = second.readAll()
        #expect(text.hasPrefix("HTTP/1.1 413 "))
        #expect(text.contains("\"code\":\"payload_too_large\""))
    }

    @Test func `a client that waits gets 100 Continue`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("ok")
        #expect(client.read(until: "POST / ok\n").hasPrefix("HTTP/1.1 200 OK"))
    }

    @Test func `HEAD has a length and no body`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        client.send("HEAD /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let text = client.readAll()
        #expect(text.contains("content-length: 9\r\n") && text.hasSuffix("\r\n\r\n"))
    }

    @Test func `after a parse error there is one answer and the end`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        client.send(get("/a") + "GET / HTTP/1.1\r\nHost : a\r\n\r\n" + get("/b") + get("/c"))
        let text = client.readAll()
        #expect(occurrences("HTTP/1.1 ", in: text) == 2)
        #expect(text.contains("HTTP/1.1 400 Bad Request") && !text.contains("GET /b"))
        #expect(text.contains("\"code\":\"invalid_request\",\"request_id\":\""))
        #expect(text.contains("connection: close"))
    }

    @Test func `HTTP 1.0 closes after its answer`() async throws {
        let running = try await RunningServer.start()
        let client = Client(port: running.port)
        client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(client.readAll().contains("connection: close"))
    }

    @Test func `a slow head, a slow body and an idle connection are ended`() async throws {
        var configuration = ServerConfiguration()
        configuration.headTime = 30_000_000
        configuration.bodyTime = 30_000_000
        configuration.idleTime = 30_000_000
        configuration.sweepInterval = 5_000_000
        let running = try await RunningServer.start(configuration)
        let head = Client(port: running.port)
        head.send("GET / HTTP/1.1\r\n")
        #expect(head.readAll().hasPrefix("HTTP/1.1 408 "))
        let body = Client(port: running.port)
        body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")
        #expect(body.readAll().hasPrefix("HTTP/1.1 408 "))
        let idle = Client(port: running.port)
        #expect(idle.readAll() == "")
        let served = Client(port: running.port)
        served.send(get("/a"))
        #expect(occurrences("HTTP/1.1 ", in: served.readAll()) == 1)
    }

    @Test func `a peer that does not read is cut off`() async throws {
        var configuration = ServerConfiguration()
        configuration.writeTime = 30_000_000
        configuration.writeRate = 1 << 40
        configuration.sweepInterval = 5_000_000
        let stopped = Mutex(false)
        let running = try await RunningServer.start(
            configuration,
            respond: { _ in
                Response(
                    200,
                    body: .stream { [UInt8](repeating: 65, count: 65_536) })
            }
        )
        let client = Client(port: running.port, receiveBuffer: 4096)
        client.send(get("/"))
        // The stream never ends by itself, so only the deadline lets a drain return.
        await running.server.drain(deadline: .seconds(60))
        stopped.withLock { $0 = true }
        #expect(stopped.withLock { $0 })
    }

    @Test func `a long stream waits for a slow reader and arrives whole`() async throws {
        let made = Mutex(0)
        let pieces = 300
        let running = try await RunningServer.start(
            respond: { _ in
                Response(
                    200,
                    body: .stream {
                        let number = made.withLock { count in
                            count += 1
                            return count
                        }
                        return number > pieces ? nil : [UInt8](repeating: 65, count: 65_536)
                    })
            }
        )
        let client = Client(port: running.port, receiveBuffer: 4096)
        client.send(get("/", "Connection: close\r\n"))
        _ = client.read(1)
        #expect(made.withLock { $0 } < pieces)
        var count = 0
        var tail: [UInt8] = []
        while let piece = client.read() {
            count += piece.lazy.filter { $0 == 65 }.count
            tail = (tail + piece).suffix(5)
        }
        // The A of no header name: all names are in lower case, and Date holds one in August.
        #expect(count >= pieces * 65_536 && count <= pieces * 65_536 + 2)
        #expect(tail == Array("0\r\n\r\n".utf8))
    }

    @Test func `a failing stream is cut without a last chunk`() async throws {
        struct Broken: Error {}
        let first = Mutex(true)
        let running = try await RunningServer.start(
            respond: { _ in
                Response(
                    200,
                    body: .stream {
                        let isFirst = first.withLock { value in
                            defer { value = false }
                            return value
                        }
                        if isFirst { return [65] }
                        throw Broken()
                    })
            }
        )
        let client = Client(port: running.port)
        client.send(get("/"))
        #expect(client.readAll().hasSuffix("\r\n1\r\nA\r\n"))
    }

    @Test func `a failing stream over HTTP/1.0 ends by an error, since its end would end it`()
        async throws
    {
        struct Broken: Error {}
        let pieces = Mutex(1)
        let running = try await RunningServer.start(
            respond: { _ in
                Response(
                    200,
                    body: .stream {
                        let left = pieces.withLock { left in
                            defer { left -= 1 }
                            return left
                        }
                        if left > 0 { return [65] }
                        throw Broken()
                    })
            }
        )
        let client = Client(port: running.port)
        client.send("GET / HTTP/1.0\r\n\r\n")
        _ = client.readAll()
        #expect(errno == ECONNRESET)
    }

    @Test func `draining finishes requests in flight and closes idle connections`() async throws {
        var configuration = ServerConfiguration()
        configuration.lingerTime = 30_000_000
        configuration.sweepInterval = 5_000_000
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (entered, enter) = AsyncStream.makeStream(of: Void.self)
        let running = try await RunningServer.start(
            configuration,
            respond: { request in
                if request.path == "/wait" {
                    enter.yield()
                    for await _ in gate { break }
                }
                return Response(200, type: "text/plain", Array("done".utf8))
            }
        )
        let idle = Client(port: running.port)
        idle.send(get("/"))
        _ = idle.read(until: "done")
        let busy = Client(port: running.port)
        busy.send(get("/wait"))
        for await _ in entered { break }
        async let drained: Void = running.server.drain(deadline: .seconds(60))
        #expect(idle.readAll() == "")
        open.yield()
        let text = busy.readAll()
        #expect(text.contains("connection: close") && text.hasSuffix("done"))
        await drained
    }

    @Test func `a well-formed request id is kept and another replaced`() async throws {
        let running = try await RunningServer.start(
            respond: { request in
                Response(200, type: "text/plain", Array("id=\(request.id)\n".utf8))
            }
        )
        let client = Client(port: running.port)
        client.send(get("/", "X-Request-Id: abc.D-1_\r\n"))
        #expect(client.read(until: "id=abc.D-1_\n").contains("200 OK"))
        client.send(get("/", "X-Request-Id: a b\r\n"))
        _ = client.read(until: "id=")
        #expect(client.read(until: "\n").utf8.count == 33)
    }

    @Test func `connections over the cap wait for a free place`() async throws {
        var configuration = ServerConfiguration()
        configuration.connections = 1
        let running = try await RunningServer.start(configuration)
        let second: Client
        do {
            let first = Client(port: running.port)
            first.send(get("/1"))
            _ = first.read(until: "GET /1 \n")
            second = Client(port: running.port)
            second.send(get("/2"))
        }
        #expect(second.read(until: "GET /2 \n").hasPrefix("HTTP/1.1 200"))
    }

    /// Of twelve connections the kernel seldom gives each of two loops six.
    @Test func `every place of a server is taken, however its loops share them out`() async throws {
        var configuration = ServerConfiguration()
        configuration.connections = 12
        let running = try await RunningServer.start(configuration, loops: 2)
        let clients = (0..<12).map { _ in Client(port: running.port) }
        for (number, client) in clients.enumerated() {
            client.send(get("/\(number)"))
            #expect(client.read(until: "GET /\(number) \n").hasPrefix("HTTP/1.1 200"))
        }
    }

    /// Field 41 of proc(5)'s stat: 0 is SCHED_OTHER, 3 SCHED_BATCH.
    @Test func `a loop's thread does not cut off who shares its core`() async throws {
        let line = await withCheckedContinuation { continuation in
            Loops.shared[0].perform {
                var bytes = [UInt8](repeating: 0, count: 1024)
                let file = open("/proc/thread-self/stat", O_RDONLY)
                let count = read(file, &bytes, bytes.count)
                close(file)
                continuation.resume(returning: String(decoding: bytes.prefix(count), as: UTF8.self))
            }
        }
        // The second field is the thread's name and may hold blanks.
        let fields = try #require(line.split(separator: ")").last).split(separator: " ")
        #expect(fields[41 - 3] == "3")
    }

    @Test func `addresses are parsed strictly`() throws {
        #expect(try Listener.parse("[::1]:80").host == "::1")
        #expect(try Listener.parse("localhost:0").host == "127.0.0.1")
        for bad in ["", "a", ":80", "a:", "a:+1", "a:65536", "::1:80", "a:1x"] {
            #expect(throws: ListenError.self) { try Listener.parse(bad) }
        }
    }
}
