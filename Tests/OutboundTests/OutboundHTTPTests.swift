import Glibc
import HTTP
import Outbound
import TestSupport
import Testing

extension OutboundHTTP {
    /// For the platform.
    fileprivate func send(
        _ request: OutboundRequest
    ) async throws(OutboundFailure) -> OutboundResponse {
        try await send(request, for: nil)
    }
}

@Suite(.cleansUp) struct OutboundHTTPTests {
    private let client = OutboundHTTP(policy: OutboundPolicy(allowsLoopback: true))

    /// Answers every request with `text`, then closes.
    private func answering(_ text: String) -> ScriptedListener {
        ScriptedListener { connection in
            _ = connection.read(until: "\r\n\r\n")
            connection.send(text)
        }
    }

    private func failure(
        _ client: OutboundHTTP, _ request: OutboundRequest
    ) async -> OutboundFailure? {
        do throws(OutboundFailure) {
            _ = try await client.send(request)
            return nil
        } catch { return error }
    }

    @Test func `an answer comes back whole, with its status and fields`() async throws {
        let server = answering(
            "HTTP/1.1 100 Continue\r\nX-Early: 1\r\n\r\n"
                + "HTTP/1.1 418 Teapot\r\nX-A:  one \r\nx-a: two\r\nContent-Length: 5\r\n\r\nhello")
        let answer = try await client.send(
            OutboundRequest(.get, "http://127.0.0.1:\(server.port)/x?y=z"))
        #expect(answer.status == 418)
        #expect(answer.body == Array("hello".utf8))
        #expect(answer.first("x-a") == "one")
        #expect(answer.first("x-early") == nil)
    }

    @Test func `method, path, fields and body arrive as they were given`() async throws {
        let server = ScriptedListener { connection in
            let head = connection.read(until: "\r\n\r\n") ?? ""
            let body = connection.read(until: "!") ?? ""
            let text = head + body
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
        }
        for method in [Method.post, .put, .patch, .delete] {
            let answer = try await client.send(
                OutboundRequest(
                    method, "http://127.0.0.1:\(server.port)/p",
                    fields: [Field("content-type", "text/plain"), Field("x-empty", "")],
                    body: Array("body!".utf8)))
            let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\r\n")
            #expect(lines.first == "\(method.rawValue) /p HTTP/1.1")
            #expect(lines.contains("content-type: text/plain"))
            #expect(lines.contains("x-empty:"))
            #expect(lines.contains("Content-Length: 5"))
            #expect(lines.last == "body!")
        }
    }

    @Test func `a redirect is an answer and is not followed`() async throws {
        let server = answering(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
        let answer = try await client.send(
            OutboundRequest(.get, "http://127.0.0.1:\(server.port)/"))
        #expect(answer.status == 302)
    }

    @Test func `no address of the inside is connected to`() async {
        let strict = OutboundHTTP()
        let hosts = [
            "127.0.0.1", "localhost", "[::1]", "10.0.0.1", "172.16.5.5", "192.168.1.1",
            "169.254.169.254", "100.64.0.1", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]",
            "[::ffff:10.0.0.1]", "[fe80::1]", "[fc00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
            "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "224.0.0.1", "255.255.255.255",
            "192.0.2.1", "198.18.0.1",
        ]
        for host in hosts {
            let found = await failure(strict, OutboundRequest(.get, "https://\(host)/"))
            #expect(found == .refusedAddress, "\(host): \(found.map { "\($0)" } ?? "answered")")
        }
    }

    @Test func `loopback needs the setting, and opens nothing else of the inside`() async {
        for host in ["10.0.0.1", "169.254.169.254", "[fe80::1]", "8.8.8.8", "[2606:4700::1111]"] {
            let found = await failure(client, OutboundRequest(.get, "http://\(host)/"))
            #expect(found == .refusedAddress, "\(host)")
        }
    }

    @Test func `only https, without a user, on one line`() async {
        let strict = OutboundHTTP()
        let bad = [
            "http://example.com/", "ftp://example.com/", "file:///etc/passwd", "gopher://a/",
            "https://user@example.com/", "https://user:word@example.com/", "example.com", "/x", "",
            "https://", "https://a b/", "https://example.com/\r\nX: y", "https://exämple.com/",
        ]
        for url in bad {
            #expect(await failure(strict, OutboundRequest(.get, url)) == .invalidRequest, "\(url)")
        }
        for field in [
            Field("a", "b\r\nc: d"), Field("a\r\nb", "c"), Field("", "x"), Field("a:", ""),
        ] {
            let request = OutboundRequest(.get, "https://example.com/", fields: [field])
            #expect(await failure(strict, request) == .invalidRequest)
        }
    }

    @Test func `bodies and heads have a limit`() async {
        var policy = OutboundPolicy(allowsLoopback: true)
        policy.bodyLimit = 1000
        let small = OutboundHTTP(policy: policy)
        let long = answering(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"
                + String(repeating: "a", count: 1001) + "\r\n0\r\n\r\n")
        let wide = answering(
            "HTTP/1.1 200 OK\r\n"
                + String(repeating: "X-A: \(String(repeating: "b", count: 900))\r\n", count: 40)
                + "Content-Length: 0\r\n\r\n")
        for server in [long, wide] {
            let request = OutboundRequest(.get, "http://127.0.0.1:\(server.port)/")
            #expect(await failure(small, request) == .tooLarge)
        }
    }

    @Test func `a server that stalls costs no more than the deadline`() async {
        var policy = OutboundPolicy(allowsLoopback: true)
        policy.total = .milliseconds(200)
        let hasty = OutboundHTTP(policy: policy)
        let server = ScriptedListener { connection in
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            connection.waitForEnd()
        }
        let request = OutboundRequest(.get, "http://127.0.0.1:\(server.port)/")
        #expect(await failure(hasty, request) == .timedOut)
    }

    @Test func `an incomplete HTTP response is an error`() async {
        let cases: [(String, OutboundFailure)] = [
            ("", .unreachable), ("hello\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", .unreachable),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", .unreachable),
        ]
        for (text, wanted) in cases {
            let server = answering(text)
            let request = OutboundRequest(.get, "http://127.0.0.1:\(server.port)/")
            #expect(await failure(client, request) == wanted, "\(text)")
        }
    }

    @Test func `a closed port and an unknown name are different failures`() async {
        let server = answering("")
        server.stop()
        let closed = OutboundRequest(.get, "http://127.0.0.1:\(server.port)/")
        #expect(await failure(client, closed) == .unreachable)
        let unknown = OutboundRequest(.get, "https://nowhere.invalid/")
        #expect(await failure(client, unknown) == .unresolved)
    }

    @Test func `a proxy of the environment is not asked`() async throws {
        let server = answering("HTTP/1.1 204 No Content\r\n\r\n")
        // Put back, since whatever another test starts inherits it.
        let names = ["http_proxy", "https_proxy", "all_proxy", "ALL_PROXY"]
        let before = names.map { getenv($0).map { String(cString: $0) } }
        for name in names { setenv(name, "http://127.0.0.1:1", 1) }
        defer {
            for (name, value) in zip(names, before) {
                if let value { setenv(name, value, 1) } else { unsetenv(name) }
            }
        }
        let answer = try await client.send(
            OutboundRequest(.get, "http://127.0.0.1:\(server.port)/"))
        #expect(answer.status == 204)
    }
}
