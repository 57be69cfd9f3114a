import HTTP
import Observability

/// Limits of a server. Times are nanoseconds of the monotonic clock and are checked once each
/// `sweepInterval`, so that a deadline costs a request one store.
package struct ServerConfiguration: Sendable {
    package var limits = HTTPLimits()
    /// From the first byte of a head, or from the connection's start, to the head's end.
    package var headTime: Int64 = 10_000_000_000
    package var bodyTime: Int64 = 30_000_000_000
    /// The lowest rate of a body in bytes per second, enforced after `rateGrace`.
    package var bodyRate: Int64 = 1024
    package var rateGrace: Int64 = 5_000_000_000
    /// For a body that its handler receives in pieces: how long the client may take in all, and the
    /// lowest rate in bytes per second, enforced after `uploadGrace`.
    package var uploadTime: Int64 = 1500_000_000_000
    package var uploadRate: Int64 = 16_384
    package var uploadGrace: Int64 = 10_000_000_000
    /// From a request's last byte to its response's first, unless its handler sets another limit.
    package var answerTime: Duration = .seconds(5)
    package var idleTime: Int64 = 60_000_000_000
    /// The time in which a peer must accept a response, plus a second for each `writeRate` bytes
    /// accepted.
    package var writeTime: Int64 = 30_000_000_000
    package var writeRate: Int64 = 1024
    /// How long input is discarded after the response to an unreadable request.
    package var lingerTime: Int64 = 2_000_000_000
    package var sweepInterval: Int64 = 1_000_000_000
    /// Connections of the whole server; further ones wait in the kernel.
    package var connections = 16_384

    /// Unfinished TLS handshakes of the whole server; with more, the oldest of the network that has
    /// most are closed.
    package var handshakes = 1024

    package var measures = ServerMeasures()

    package init() {}
}

/// The server's metrics of its connections.
package struct ServerMeasures: Sendable {
    package var open = Gauge()
    package var accepted = Counter()
    /// How often accepting paused because the server was full or out of descriptors.
    package var pauses = Counter()

    package init() {}
}
