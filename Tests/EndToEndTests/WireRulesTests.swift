import Gatehouse
import Glibc
import TestSupport
import Testing

/// What HTTP asks of a server, on our own pages and before a body is sent.
@Suite(.serialized, .cleansUp) struct WireRulesTests {
    @Test func `our own pages tell their methods, and answer every other one with 405`()
        async throws
    {
        let running = try await RunningService()
        for path in ["/livez", "/readyz", "/console/", "/docs", "/openapi.json", "/metrics"] {
            let options = try running.send("OPTIONS", path)
            #expect(options.status == 204, "\(path)")
            #expect(options.first("allow") == "GET, HEAD, OPTIONS", "\(path)")
            let post = try running.send("POST", path, body: "{}")
            #expect(post.status == 405 && post.first("allow") == "GET, HEAD, OPTIONS", "\(path)")
        }
        let all = try running.send("OPTIONS", "*")
        #expect(all.status == 204 && all.first("allow")?.contains("PATCH") == true)
        let unknown = try running.send("PROPFIND", "/v1/tenants")
        #expect(unknown.status == 501)
    }

    @Test func `a target in absolute form is served, by its own authority`() async throws {
        let running = try await RunningService { $0.publicURL = "http://gate.example" }
        let own = try running.exchange(
            "GET http://gate.example/livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(own.status == 200)
        let foreign = try running.exchange(
            "GET http://other.example/v1/tenants HTTP/1.1\r\nHost: gate.example\r\n"
                + "Connection: close\r\n\r\n")
        #expect(foreign.status == 421)
    }

    @Test func `what cannot be read is refused by a problem of our own type`() async throws {
        let running = try await RunningService()
        for (path, field, status) in [
            (String(repeating: "a", count: 9000), "b", 414),
            ("livez", String(repeating: "b", count: 33_000), 431),
        ] {
            let answer = try running.exchange("GET /\(path) HTTP/1.1\r\nA: \(field)\r\n\r\n")
            #expect(answer.status == status)
            #expect(
                answer.body.contains(##""type":"/docs/errors#invalid_request""##),
                "\(answer.body)")
        }
    }

    @Test func `If-Match is kept on files`() async throws {
        let running = try await RunningService()
        let tag = try #require(running.send("GET", "/console/").first("etag"))
        for (value, status) in [(tag, 200), ("*", 200), (#""other""#, 412), ("W/\(tag)", 412)] {
            let answer = try running.send("GET", "/console/", fields: ["If-Match: \(value)"])
            #expect(answer.status == status, "\(value)")
        }
    }

    @Test func `100 Continue is sent only for a body that may be accepted`() async throws {
        let running = try await RunningService()
        let lines = "Host: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
        func first(_ line: String, _ more: String = "") throws -> String {
            // The client ends its own side, so that the server's answer is all there is.
            try running.exchange("\(line) HTTP/1.1\r\n\(lines)\(more)\r\n").head
        }
        #expect(try first("POST /v1/tenants").hasPrefix("HTTP/1.1 401 "))
        #expect(try first("POST /v1/nowhere").hasPrefix("HTTP/1.1 404 "))
        #expect(
            try first("POST /v1/tenants", "Authorization: Bearer gate_live_nonsense\r\n")
                .hasPrefix("HTTP/1.1 401 "))
        var wire = try Wire(port: running.service.port)
        let asked = try wire.exchange("POST /v1/api-keys/verify HTTP/1.1\r\n\(lines)\r\n")
        #expect(asked.status == 401)
        var open = try Wire(port: running.service.port)
        let told = try open.exchange("POST /v1/setup HTTP/1.1\r\n\(lines)\r\n")
        #expect(told.status == 100)
        #expect(try open.exchange("{}").status >= 400)
    }

    @Test func `a service that has to stop is not ready, and still serves`() async throws {
        let running = try await RunningService()
        #expect(try running.send("GET", "/readyz").status == 200)
        running.service.prepareToStop()
        #expect(try running.send("GET", "/readyz").status == 503)
        #expect(try running.send("GET", "/livez").status == 200)
        #expect(try running.send("GET", "/v1/tenants").status == 401)
        #expect(try running.service.reloadTLS() == false)
    }
}
