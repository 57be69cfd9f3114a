import Glibc
import HTTP
import Runtime
import TestSupport
import Testing

/// Bodies that a handler receives in pieces: the connection reads only what the handler asks for.
@Suite(.serialized, .cleansUp) struct StreamedBodyTests {
    private static let limit = 64 << 20

    /// Streams what is posted to `/pieces`; its handler answers with the number of bytes, `/refused`
    /// without reading.
    private func start(
        _ configuration: ServerConfiguration = ServerConfiguration(),
        handle: @escaping @Sendable (BodyStream) async throws -> String = Self.count
    ) async throws -> RunningServer {
        var configuration = configuration
        configuration.limits.streamedBody = Self.limit
        return try await RunningServer.start(
            configuration,
            streams: { path in
                ["/pieces", "/refused"].contains { path.elementsEqual($0.utf8) }
                    ? Self.limit : nil
            },
            respond: { request in
                guard request.path != "/refused" else { return Response(403) }
                guard let stream = request.stream else { return await RunningServer.echo(request) }
                do {
                    let text = try await handle(stream)
                    return Response(200, type: "text/plain", Array("\(text)\n".utf8))
                } catch let error as HTTPError {
                    return Response(
                        error.status, type: "text/plain", Array("\(error.detail)\n".utf8))
                } catch {
                    return Response(500)
                }
            })
    }

    private static func count(_ stream: BodyStream) async throws -> String {
        var count = 0
        var sum = 0
        while let piece = try await stream.next() {
            count += piece.count
            sum = piece.reduce(sum) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
        }
        return "\(count) \(sum)"
    }

    private static func post(_ path: String, _ more: String) -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\n\(more)\r\n\r\n"
    }

    private static func sum(_ text: String) -> Int {
        text.utf8.reduce(0) { ($0 &* 31 &+ Int($1)) & 0xFFFF }
    }

    @Test func `a body beyond the ordinary limit arrives whole, and the connection goes on`()
        async throws
    {
        let running = try await start()
        let client = Client(port: running.port)
        let text = String(repeating: "0123456789abcdef", count: 1 << 18)
        client.send(Self.post("/pieces", "Content-Length: \(text.utf8.count)") + text)
        let answer = client.read(until: "\n\(text.utf8.count) \(Self.sum(text))\n")
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && !answer.contains("connection: close"))
        client.send(get("/next", "Connection: close\r\n"))
        #expect(client.readAll().hasSuffix("GET /next \n"))
    }

    @Test func `a body in chunks and the request behind it are told apart`() async throws {
        let running = try await start()
        let client = Client(port: running.port)
        client.send(
            Self.post("/pieces", "Transfer-Encoding: chunked")
                + "5\r\nabcde\r\n3;x=y\r\nfgh\r\n0\r\n\r\n" + get("/next", "Connection: close\r\n"))
        let answers = client.readAll()
        #expect(answers.contains("8 \(Self.sum("abcdefgh"))\n"))
        #expect(answers.hasSuffix("GET /next \n"))
    }

    @Test func `byte by byte it is the same body`() async throws {
        let running = try await start()
        let client = Client(port: running.port)
        for byte in Self.post("/pieces", "Transfer-Encoding: chunked") + "3\r\nabc\r\n0\r\n\r\n" {
            client.send(String(byte))
        }
        #expect(client.read(until: "\n3 \(Self.sum("abc"))\n").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a sender waits while the handler is busy`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let running = try await start { stream in
            var count = try await stream.next()?.count ?? 0
            for await _ in gate { break }
            while let piece = try await stream.next() { count += piece.count }
            return "\(count)"
        }
        let client = Client(port: running.port)
        let total = 32 << 20
        client.send(Self.post("/pieces", "Content-Length: \(total)"))
        let piece = String(repeating: "x", count: 1 << 16)
        // The kernel's buffers take some; when they are full nothing moves.
        let sent = try await OwnThread.run {
            var sent = 0
            while sent < total, client.isReady(POLLOUT, within: 500) {
                client.send(piece)
                sent += 1 << 16
            }
            return sent
        }
        #expect(sent < total)
        open.yield()
        try await OwnThread.run { for _ in 0..<((total - sent) >> 16) { client.send(piece) } }
        #expect(client.read(until: "\n\(total)\n").hasPrefix("HTTP/1.1 200 "))
    }

    @Test func `a refusal before the body closes the connection, and nothing of it is a request`()
        async throws
    {
        let running = try await start()
        let client = Client(port: running.port)
        let hidden = get("/hidden")
        client.send(Self.post("/refused", "Content-Length: \(hidden.utf8.count)") + hidden)
        let answer = client.readAll()
        #expect(answer.hasPrefix("HTTP/1.1 403 ") && answer.contains("connection: close"))
        #expect(occurrences("HTTP/1.1 ", in: answer) == 1)
    }

    @Test func `a client that waits is told to send only when the handler wants the body`()
        async throws
    {
        let running = try await start()
        let client = Client(port: running.port)
        client.send(Self.post("/pieces", "Content-Length: 3\r\nExpect: 100-continue"))
        #expect(client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
        client.send("abc")
        #expect(client.read(until: "\n3 \(Self.sum("abc"))\n").hasPrefix("HTTP/1.1 200 "))
        client.send(Self.post("/refused", "Content-Length: 3\r\nExpect: 100-continue"))
        #expect(client.readAll().hasPrefix("HTTP/1.1 403 "))
    }

    @Test func `a longer body is refused: by its length at once, in chunks when it is over`()
        async throws
    {
        let running = try await start()
        for path in ["/pieces", "/plain"] {
            let limit = path == "/plain" ? 1 << 20 : Self.limit
            let client = Client(port: running.port)
            client.send(Self.post(path, "Content-Length: \(limit + 1)"))
            #expect(client.readAll().hasPrefix("HTTP/1.1 413 "))
        }
        let client = Client(port: running.port)
        client.send(Self.post("/pieces", "Transfer-Encoding: chunked") + "3\r\nabc\r\n")
        client.send(String(Self.limit, radix: 16) + "\r\n")
        #expect(client.readAll().hasPrefix("HTTP/1.1 413 "))
    }

    @Test func `broken chunks are refused`() async throws {
        let running = try await start()
        let client = Client(port: running.port)
        client.send(Self.post("/pieces", "Transfer-Encoding: chunked") + "3\r\nabcd\r\n0\r\n\r\n")
        #expect(client.readAll().hasPrefix("HTTP/1.1 400 "))
    }

    @Test func `a body that stops is refused, however much of it came before`() async throws {
        var configuration = ServerConfiguration()
        configuration.bodyTime = 300_000_000
        configuration.sweepInterval = 50_000_000
        let running = try await start(configuration)
        let client = Client(port: running.port)
        client.send(
            Self.post("/pieces", "Content-Length: 2000000") + String(repeating: "x", count: 1 << 20)
        )
        #expect(client.readAll().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func `a body that trickles is refused by its rate, and any by its whole time`()
        async throws
    {
        // The lowest rate is asked at once and is beyond what the client sends; then its time is over.
        for (rate, time, words) in [
            (Int64(1) << 40, Int64(3_600_000_000_000), "slower than"),
            (0, 100_000_000, "longer than"),
        ] {
            var configuration = ServerConfiguration()
            configuration.uploadGrace = 50_000_000
            configuration.uploadRate = rate
            configuration.uploadTime = time
            configuration.sweepInterval = 20_000_000
            let running = try await start(configuration)
            let client = Client(port: running.port)
            client.send(Self.post("/pieces", "Content-Length: 2000000") + "abc")
            let answer = client.readAll()
            #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains(words), "\(answer)")
        }
    }

    @Test func `the client's time is not the handler's, and the handler's has its limit`()
        async throws
    {
        var configuration = ServerConfiguration()
        configuration.answerTime = .milliseconds(500)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        let running = try await start(configuration) { stream in
            guard try await stream.next() == [0x61] else { return "?" }
            guard try await stream.next() == [0x62] else { return "?" }
            for await _ in gate { break }
            do { _ = try await stream.next() } catch { end.yield("\(type(of: error))") }
            return "late"
        }
        let client = Client(port: running.port)
        client.send(Self.post("/pieces", "Content-Length: 3") + "a")
        let isAnswered = try await OwnThread.run { client.isReady(POLLIN, within: 900) }
        #expect(!isAnswered)
        client.send("b")
        #expect(client.readAll().hasPrefix("HTTP/1.1 503 "))
        open.yield()
        var results = ended.makeAsyncIterator()
        #expect(await results.next() == "BodyLost")
    }

    @Test func `a handler learns that the client is gone`() async throws {
        let (ended, end) = AsyncStream.makeStream(of: String.self)
        let running = try await start { stream in
            do {
                while try await stream.next() != nil {}
            } catch {
                end.yield("\(type(of: error))")
            }
            return ""
        }
        do {
            let client = Client(port: running.port)
            client.send(Self.post("/pieces", "Content-Length: 3") + "a")
        }
        var results = ended.makeAsyncIterator()
        #expect(await results.next() == "BodyLost")
    }
}

extension Client {
    /// Whether it can read or write within some milliseconds.
    func isReady(_ event: Int32, within time: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return poll(&entry, 1, time) > 0
    }
}
