import API
import Gatehouse
import HTTP
import Synchronization
import TestSupport
import Text

extension Dispatcher {
    /// One endpoint of a service without tenants.
    static func open(_ endpoint: Endpoint) async throws -> Dispatcher {
        try await Dispatcher(
            endpoints: [endpoint], application: TestService.make().composition.application)
    }
}

extension Request {
    static func json(_ method: HTTP.Method, _ path: String, _ body: String) -> Request {
        Request(
            method, path, fields: [Field("content-type", "application/json")],
            body: Array(body.utf8), id: "r-1")
    }
}

final class Inputs: Sendable {
    private let value = Mutex<[Input]>([])
    func keep(_ input: Input) { value.withLock { $0.append(input) } }
    var all: [Input] { value.withLock { $0 } }
}

final class Pages: Sendable {
    private let value = Mutex<[PageRequest]>([])
    func keep(_ page: PageRequest) { value.withLock { $0.append(page) } }
    var all: [PageRequest] { value.withLock { $0 } }
}

/// A dispatcher that a handler may call again while it runs.
final class Reentrant: Sendable {
    private let value = Mutex<Dispatcher?>(nil)
    func install(_ dispatcher: Dispatcher) { value.withLock { $0 = dispatcher } }
    func respond(to request: Request) async -> Response {
        guard let dispatcher = value.withLock({ $0 }) else { return Response(599) }
        return await dispatcher.respond(to: request)
    }
}
