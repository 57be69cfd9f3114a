import HTTP
import JSON
import Synchronization

/// A server on 127.0.0.1 that accepts traces by OTLP over HTTP with JSON, or answers with a status
/// that a test sets.
package final class TestCollector: Sendable {
    private final class State: Sendable {
        let bodies = Mutex<[String]>([])
        let status = Mutex(200)
    }

    package let url: String
    private let state: State
    private let server: Server

    package static func start() async throws -> TestCollector {
        let state = State()
        let server = Server(loops: [Loops.shared[0]]) { request in
            guard request.method == .post, request.path == "/v1/traces",
                request.first("content-type") == "application/json"
            else { return Response(404) }
            let status = state.status.withLock { $0 }
            if status == 200 {
                state.bodies.withLock { $0.append(String(decoding: request.body, as: UTF8.self)) }
            }
            return Response(status, type: "application/json", Array("{}".utf8))
        }
        let port = try await server.start(address: "127.0.0.1:0")
        CleanUp.atEnd { await server.drain(deadline: .zero) }
        return TestCollector(
            url: "http://127.0.0.1:\(port)/v1/traces", state: state, server: server)
    }

    private init(url: String, state: State, server: Server) {
        self.url = url
        self.state = state
        self.server = server
    }

    package func answer(_ status: Int) { state.status.withLock { $0 = status } }

    /// Everything that was accepted, as sent.
    package var text: String { state.bodies.withLock { $0.joined(separator: "\n") } }

    /// The accepted spans, in their order.
    package func spans() throws -> [ReceivedSpan] {
        try state.bodies.withLock { $0 }.flatMap { body in
            let spans = try JSONValue(parsing: Array(body.utf8))["resourceSpans"]?.array?.first?[
                "scopeSpans"]?.array?.first?["spans"]?.array
            return (spans ?? []).map { ReceivedSpan(json: $0) }
        }
    }
}

/// A span as a collector reads it.
package struct ReceivedSpan: Sendable {
    let json: JSONValue

    package var trace: String? { json["traceId"]?.string }
    package var id: String? { json["spanId"]?.string }
    package var parent: String? { json["parentSpanId"]?.string }
    package var name: String? { json["name"]?.string }
    /// 2 for the request, 3 for a statement.
    package var kind: Int? { json["kind"]?.int }
    /// In nanoseconds since 1970; 0 if there is none.
    package var start: Int64 { Int64(json["startTimeUnixNano"]?.string ?? "") ?? 0 }
    package var end: Int64 { Int64(json["endTimeUnixNano"]?.string ?? "") ?? 0 }
    /// 2 if it failed.
    package var status: Int? { json["status"]?["code"]?.int }

    /// The attribute's text or number.
    package subscript(_ name: String) -> String? {
        let value = json["attributes"]?.array?.first { $0["key"]?.string == name }?["value"]
        return value?["stringValue"]?.string ?? value?["intValue"]?.string
    }
}
