import HTTP
import Synchronization
import Text

/// A response that is a stream of events, each sent when it occurs. It counts against the limit of
/// streams, and its caller is checked again before each piece.
final class EventRun: Sendable {
    private let dispatcher: Dispatcher
    private let slot: LongResponses.Place
    private let exchange: Mutex<Exchange>
    private let pieces: @Sendable () async throws -> [UInt8]?

    static func begin(
        _ endpoint: Endpoint, _ exchange: Exchange, by dispatcher: Dispatcher
    ) async throws -> Response {
        let slot = try dispatcher.streams.take(for: exchange.call.principal)
        var response = try await endpoint.answer(exchange.call)
        guard case .stream(let pieces) = response.body else { return response }
        let run = EventRun(pieces, exchange, dispatcher, slot)
        response.body = .stream { try await run.next() }
        return response
    }

    private init(
        _ pieces: @escaping @Sendable () async throws -> [UInt8]?, _ exchange: Exchange,
        _ dispatcher: Dispatcher, _ slot: LongResponses.Place
    ) {
        self.pieces = pieces
        self.dispatcher = dispatcher
        self.slot = slot
        self.exchange = Mutex(exchange)
    }

    /// The next piece of the stream; `nil` at its end. An empty piece only causes a check of the
    /// caller. It is not sent, since it would end the response.
    private func next() async throws -> [UInt8]? {
        while let piece = try await pieces() {
            guard try await isAdmitted() else { return nil }
            if !piece.isEmpty { return piece }
        }
        return nil
    }

    /// Whether the stream may continue; false after its time limit. Throws if the caller may no
    /// longer read, which closes the connection.
    private func isAdmitted() async throws -> Bool {
        var exchange = exchange.withLock { $0 }
        let limit = dispatcher.streams.limits.seconds
        if dispatcher.application.now >= exchange.call.now.adding(seconds: limit) { return false }
        try await dispatcher.readmit(&exchange)
        self.exchange.withLock { [exchange] in $0 = exchange }
        return true
    }
}
