import API
import Domain
import Gatehouse
import Glibc
import HTTP
import JSON
import Runtime
import Storage
import TestSupport
import Testing

@Suite(.serialized, .cleansUp) struct TracingTests {
    @Test func `the log names the caller's trace and request, and no malformed ones`() async throws
    {
        var template = Array("/tmp/gh-log.XXXXXX".utf8CString)
        let file = mkstemp(&template)
        defer {
            close(file)
            unlink(template)
        }
        let running = try await RunningService {
            $0.logger = Logger(level: .info, format: .json, descriptor: file)
        }
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        let good = try running.send(
            "GET", "/v1/tenants",
            fields: ["X-Request-Id: call-7", "traceparent: 00-\(trace)-00f067aa0ba902b7-01"])
        #expect(good.first("x-request-id") == "call-7")
        for bad in [
            "00-\(trace)-00f067aa0ba902b7", "ff-\(trace)-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\"-x-01",
        ] {
            _ = try running.send(
                "GET", "/v1/tenants", fields: ["X-Request-Id: bad id", "traceparent: \(bad)"])
        }
        await running.service.stop()  // writes the log
        let log = try Shell.run(["cat", String(cString: template)])
        let lines = log.split(separator: "\n").filter { $0.contains("/v1/tenants") }
        #expect(lines.count == 5)
        #expect(lines.filter { $0.contains(#""trace_id":"\#(trace)""#) }.count == 1)
        #expect(lines.filter { $0.contains(#""request_id":"call-7""#) }.count == 1)
        #expect(!log.contains("bad id"))
    }

    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let caller = "00f067aa0ba902b7"

    private static func traceparent(_ flags: String) -> String {
        "traceparent: 00-\(trace)-\(caller)-\(flags)"
    }

    /// A service that traces, and the credential of its platform.
    private func traced(
        _ url: String, ratio: Double, _ log: CapturedLog = CapturedLog()
    ) async throws -> (RunningService, bearer: String) {
        let running = try await RunningService {
            $0.traces = TraceConfiguration(url: url, ratio: ratio)
            $0.logger = log.logger
        }
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        return (running, "Authorization: Bearer \(secret.text)")
    }

    @Test func `a collector receives a request and its statements, as parts of the caller's trace`()
        async throws
    {
        let collector = try await TestCollector.start()
        let log = CapturedLog()
        let (running, bearer) = try await traced(collector.url, ratio: 0, log)
        let before = Span.now
        let made = try running.send(
            "POST", "/v1/tenants", body: #"{"slug":"slug-in-no-span","name":"Name in no span"}"#,
            fields: [bearer, Self.traceparent("01")])
        #expect(made.status == 201)
        await running.service.stop()  // sends what waits
        let spans = try collector.spans()
        let request = try #require(spans.first { $0.kind == 2 })
        #expect(spans.allSatisfy { $0.trace == Self.trace })
        #expect(request.parent == Self.caller && request.name == "POST /v1/tenants")
        #expect(request["http.request.method"] == "POST")
        #expect(request["http.route"] == "/v1/tenants" && request["url.scheme"] == "http")
        #expect(request["http.response.status_code"] == "201" && request.status == nil)
        let statements = spans.filter { $0.kind == 3 }
        #expect(statements.count == spans.count - 1)
        #expect(statements.contains { $0.name == "INSERT tenants" })
        #expect(statements.contains { $0.name == "COMMIT" })
        #expect(Set(spans.map(\.id)).count == spans.count)
        for one in statements {
            #expect(one.parent == request.id && one["db.system.name"] == "postgresql")
            #expect(one.start >= request.start && one.end >= one.start && one.end <= request.end)
        }
        #expect(request.start >= before && request.end <= Span.now)
        let secret = try #require(bearer.split(separator: " ").last)
        for word in ["slug-in-no-span", "Name in no span", String(secret)] {
            #expect(!collector.text.contains(word), "\(word)")
        }
        #expect(log.lines.contains { $0.contains(#""trace_id":"\#(Self.trace)""#) })
    }

    @Test
    func `the caller decides whether a request is recorded, and chance where it does not say`()
        async throws
    {
        let collector = try await TestCollector.start()
        let log = CapturedLog()
        let (all, bearer) = try await traced(collector.url, ratio: 1, log)
        #expect(
            try all.send("GET", "/v1/tenants", fields: [bearer, Self.traceparent("00")]).status
                == 200)
        #expect(try all.send("GET", "/v1/tenants/none", fields: [bearer]).status == 404)
        await all.service.stop()
        let requests = try collector.spans().filter { $0.kind == 2 }
        #expect(requests.map(\.name) == ["GET /v1/tenants/{tenant}"])
        #expect(requests.first?.parent == nil && requests.first?.trace != Self.trace)
        let id = try #require(requests.first?.trace)
        #expect(log.lines.filter { $0.contains(#""trace_id":"\#(id)""#) }.count == 1)

        let (none, own) = try await traced(collector.url, ratio: 0)
        #expect(try none.send("GET", "/v1/tenants", fields: [own]).status == 200)
        await none.service.stop()
        #expect(try collector.spans().filter { $0.kind == 2 }.count == 1)
    }

    @Test func `spans wait while the collector is away, and no answer does`() async throws {
        let collector = try await TestCollector.start()
        collector.answer(503)
        let log = CapturedLog()
        let (running, bearer) = try await traced(collector.url, ratio: 1, log)
        for _ in 0..<20 {
            #expect(try running.send("GET", "/v1/tenants", fields: [bearer]).status == 200)
        }
        let page = try running.send("GET", "/metrics").body
        #expect(page.contains("gatehouse_spans_total{result=\"sent\"} 0\n"))
        #expect(page.contains("gatehouse_spans_total{result=\"dropped\"} 0\n"))
        while !log.lines.contains(where: { $0.contains("traces.send_failed") }) {
            await Task.yield()
        }
        collector.answer(200)
        await running.service.stop()
        #expect(log.lines.contains { $0.contains("traces.send_recovered") })
        #expect(try collector.spans().filter { $0.kind == 2 }.count == 20)
    }

    @Test func `a collector that is not there is in the log once, and does not hold a stop up`()
        async throws
    {
        let log = CapturedLog()
        let (running, bearer) = try await traced("http://127.0.0.1:1/v1/traces", ratio: 1, log)
        for _ in 0..<3 {
            #expect(try running.send("GET", "/v1/tenants", fields: [bearer]).status == 200)
        }
        await running.service.stop()
        let said = log.lines.filter { $0.contains("traces.send_failed") }
        #expect(said.count == 1 && said.first?.contains("unreachable") == true)
    }
}
