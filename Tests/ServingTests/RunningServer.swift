import HTTP
import Runtime
import TestSupport

/// A server on loops and a port of its own, for the time of one test.
struct RunningServer {
    let server: Server
    let loop: EventLoop
    let port: Int

    static func start(
        _ configuration: ServerConfiguration = ServerConfiguration(), loops count: Int = 1,
        fast: FastPath? = nil, streams: StreamedBodies? = nil,
        respond: @escaping @Sendable (Request) async -> Response = RunningServer.echo
    ) async throws -> RunningServer {
        let loops = (0..<count).map { EventLoop(index: $0) }
        for loop in loops { loop.start() }
        CleanUp.atEnd { for loop in loops { loop.stop() } }
        let server = Server(
            loops: loops, configuration: configuration, respond: respond, fast: fast,
            streams: streams)
        let port = try await server.start(address: "127.0.0.1:0")
        CleanUp.atEnd { await server.drain(deadline: .zero) }
        return RunningServer(server: server, loop: loops[0], port: port)
    }

    /// Answers with the method, the target and the body; `/late` only after leaving the loop.
    static func echo(_ request: Request) async -> Response {
        if request.path == "/late" { await Task.detached { await Task.yield() }.value }
        let text = "\(request.method.rawValue) \(request.path) "
        return Response(200, type: "text/plain", Array(text.utf8) + request.body + [0x0A])
    }
}
