import HTTP
import Runtime
import TestSupport
import Testing

/// One time for each request; when it is over the server answers, whatever the handler waits for.
@Suite(.serialized, .cleansUp) struct RequestTimeTests {
    private var quick: ServerConfiguration {
        var configuration = ServerConfiguration()
        configuration.answerTime = .milliseconds(150)
        return configuration
    }

    @Test func `a handler that does not answer is answered for, and the connection goes on`()
        async throws
    {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let running = try await RunningServer.start(
            quick,
            respond: { request in
                if request.path == "/stuck" { for await _ in gate { break } }
                return Response(200, type: "text/plain", Array("\(request.path) done\n".utf8))
            }
        )
        let client = Client(port: running.port)
        let clock = ContinuousClock()
        let start = clock.now
        client.send(get("/stuck"))
        let refusal = client.read(until: "}")
        #expect(clock.now - start < .seconds(2))
        #expect(refusal.hasPrefix("HTTP/1.1 503 "))
        #expect(refusal.contains("retry-after: 1\r\n"))
        #expect(refusal.contains("\"code\":\"unavailable\""))
        client.send(get("/next"))
        #expect(client.read(until: "done\n").hasSuffix("/next done\n"))
        // The late answer is dropped: the next request does not get it either.
        open.yield()
        client.send(get("/third", "Connection: close\r\n"))
        let rest = client.readAll()
        #expect(occurrences("HTTP/1.1 ", in: rest) == 1 && rest.contains("/third done"))
    }

    @Test func `what may have been committed is answered as unknown, and nothing is afterwards`()
        async throws
    {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (ended, end) = AsyncStream.makeStream(of: Bool.self)
        let running = try await RunningServer.start(
            quick,
            respond: { request in
                let deadline = Deadline.current
                let mayCommit = request.path == "/first" && deadline?.mayCommit() == true
                for await _ in gate { break }
                end.yield(deadline?.mayCommit() == true)
                return Response(mayCommit ? 200 : 201)
            }
        )
        var results = ended.makeAsyncIterator()
        for (path, code) in [("/first", "commit_unknown"), ("/second", "unavailable")] {
            let client = Client(port: running.port)
            client.send(get(path))
            #expect(client.read(until: "}").contains("\"code\":\"\(code)\""))
            open.yield()
            #expect(await results.next() == false)
        }
    }

    @Test func `a handler may ask for more time, and what follows the head is not counted`()
        async throws
    {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let running = try await RunningServer.start(
            quick,
            respond: { request in
                if request.path == "/long" {
                    Deadline.current?.last(.seconds(60))
                    for await _ in gate { break }
                    return Response(200, type: "text/plain", Array("long\n".utf8))
                }
                return Response(
                    200,
                    body: .stream {
                        for await _ in gate { break }
                        return nil
                    })
            }
        )
        let stuck = Client(port: running.port)
        let long = Client(port: running.port)
        let stream = Client(port: running.port)
        long.send(get("/long"))
        stream.send(get("/stream"))
        #expect(stream.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        // By its answer the time of all three is over.
        stuck.send(get("/stuck", "Connection: close\r\n"))
        #expect(stuck.read(until: "\r\n\r\n").hasPrefix("HTTP/1.1 200 "))
        try await Self.pass(.milliseconds(300), on: running.loop)
        open.yield()
        open.yield()
        open.yield()
        #expect(long.read(until: "long\n").hasPrefix("HTTP/1.1 200 "))
        #expect(stream.read(until: "0\r\n\r\n").hasSuffix("0\r\n\r\n"))
    }

    /// Returns when the loop's own clock has moved on.
    private static func pass(_ time: Duration, on loop: EventLoop) async throws {
        let nanoseconds = time.components.attoseconds / 1_000_000_000
        await withCheckedContinuation { continuation in
            loop.perform { loop.after(nanoseconds) { continuation.resume() } }
        }
    }
}
