import Runtime
import Synchronization

/// Returns the limit, in bytes, for the body of a POST to this path if the path's handler receives
/// the body in pieces; otherwise `nil`. Called on a loop's thread for each POST with a body.
package typealias StreamedBodies = @Sendable (_ path: UnsafeBufferPointer<UInt8>) -> Int?

/// An HTTP/1.1 server on a set of loops. Each loop has its own listener (SO_REUSEPORT), and a
/// connection stays on the loop that accepted it.
package final class Server: Sendable {
    private let workers: [LoopBound<Worker>]

    /// Makes a server on `loops`, which the caller starts. `respond` runs on the connection's loop,
    /// for only one request of each connection at a time. `fast` may answer a request before it is
    /// copied. `refuse` formats the refusal of a request with a readable head; the connection then
    /// closes. `precheck` runs before `100 Continue` is sent, and returns `nil` to permit the body.
    /// `streams` determines which requests have handlers that receive the body in pieces; such a
    /// handler refuses the body itself.
    package init(
        loops: [EventLoop], configuration: ServerConfiguration = ServerConfiguration(),
        respond: @escaping @Sendable (Request) async -> Response, fast: FastPath? = nil,
        refuse: @escaping @Sendable (Request, HTTPError) async -> Response = {
            Response.refusal($1, id: $0.id)
        },
        precheck: (@Sendable (Request) async -> Response?)? = nil,
        streams: StreamedBodies? = nil
    ) {
        let slots = ConnectionSlots(configuration.connections)
        let handshakes = max(1, configuration.handshakes / max(1, loops.count))
        workers = loops.map { loop in
            let worker = Worker(
                loop: loop, configuration: configuration, slots: slots, respond: respond,
                fast: fast, refuse: refuse, precheck: precheck, streams: streams,
                handshakes: handshakes)
            return LoopBound(worker, loop: loop)
        }
    }

    /// Listens at `host:port` (`[v6]:port`, `localhost:port`, `*:port`) and returns the port that
    /// was bound, which the system chose if 0 was requested. May be called for several addresses.
    package func start(address: String, tls: TLSContext? = nil) async throws(ListenError) -> Int {
        let listeners = try Listener.group(address, count: workers.count)
        for (worker, listener) in zip(workers, listeners) {
            worker.loop.perform { worker.value.listen(listener, tls: tls) }
        }
        return listeners[0].port
    }

    /// Uses this certificate for new connections; open connections keep the previous one.
    package func replaceTLS(_ tls: TLSContext) {
        for worker in workers { worker.loop.perform { worker.value.replaceTLS(tls) } }
    }

    /// Closes each connection after its next response, so that clients connect to another server.
    /// New connections are still served.
    package func prepareToLeave() {
        for worker in workers { worker.loop.perform { worker.value.prepareToLeave() } }
    }

    /// Stops the server. For the time `grace`, new connections are refused but the listeners stay
    /// open, so that a connection that is being made is not lost. Requests in progress are answered
    /// with `Connection: close`. Returns when all connections are closed. Connections that are
    /// still open after `deadline` are cut.
    package func drain(deadline: Duration, grace: Duration = .zero) async {
        let time = Self.nanoseconds(deadline)
        let grace = Self.nanoseconds(grace)
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        worker.loop.perform {
                            worker.value.drain(within: time, after: grace) { continuation.resume() }
                        }
                    }
                }
            }
        }
    }

    private static func nanoseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// Limits of a server. Integer times are nanoseconds of the monotonic clock. They are only checked
/// once every `sweepInterval`, so that a time limit costs each request only one store to memory.
package struct ServerConfiguration: Sendable {
    package var limits = HTTPLimits()
    /// The time limit for the arrival of a request's head. It begins with the first byte of the
    /// head, or with the start of the connection.
    package var headTime: Int64 = 10_000_000_000
    package var bodyTime: Int64 = 30_000_000_000
    /// The lowest rate at which a body may arrive, in bytes per second. Enforced after `rateGrace`.
    var bodyRate: Int64 = 1024
    var rateGrace: Int64 = 5_000_000_000
    /// The time limit for a body that its handler receives in pieces. `uploadRate` is the lowest
    /// rate of such a body in bytes per second, enforced after `uploadGrace`.
    package var uploadTime: Int64 = 1500_000_000_000
    package var uploadRate: Int64 = 16_384
    package var uploadGrace: Int64 = 10_000_000_000
    /// The time limit from a request's last byte to the first byte of its response. The request's
    /// handler may set another limit.
    package var answerTime: Duration = .seconds(5)
    package var idleTime: Int64 = 60_000_000_000
    /// The time in which a peer must accept a response. The peer gets one second more for each
    /// `writeRate` bytes that it accepts.
    package var writeTime: Int64 = 30_000_000_000
    package var writeRate: Int64 = 1024
    /// How long input is still read and discarded after the last response on a connection.
    package var lingerTime: Int64 = 2_000_000_000
    package var sweepInterval: Int64 = 1_000_000_000
    /// The maximum number of connections of the whole server. Further connections wait in the
    /// kernel's queue.
    package var connections = 16_384

    /// The maximum number of unfinished TLS handshakes of the whole server. If there are more, the
    /// client network with the most handshakes loses connections, the oldest first.
    package var handshakes = 1024

    package var measures = ServerMeasures()

    package init() {}
}

/// The metrics of the server's connections.
package struct ServerMeasures: Sendable {
    package var open = Gauge()
    package var accepted = Counter()
    /// How often the server stopped accepting because it was full or out of file descriptors.
    package var pauses = Counter()

    package init() {}
}
