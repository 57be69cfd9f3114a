import Cryptography
import HTTP
import Text

/// A body that came in pieces and was stored on the way.
package struct ReceivedBody: Sendable {
    /// Under which it is stored.
    var id: UUID
    var rows: Int
    /// What is to be said of it as a whole.
    var notes: [String]
    /// Removes what no handler took.
    var discard: @Sendable () async throws -> Void

    init(
        id: UUID, rows: Int, notes: [String] = [],
        discard: @escaping @Sendable () async throws -> Void
    ) {
        self.id = id
        self.rows = rows
        self.notes = notes
        self.discard = discard
    }
}

extension Dispatcher {
    /// Receives the body, answers as for one that came whole, and removes what was not taken: the
    /// answer may be a stored one. The digest of the body stands for it under its idempotency key. A
    /// body may take long to arrive, so the caller is checked again once it is there.
    func receiving(
        _ receive: Endpoint.Receive, _ exchange: inout Exchange,
        _ answer: (inout Exchange) async throws -> Response
    ) async throws -> Response {
        let digest = DigestOfPieces()
        let pieces = exchange.call.pieces
        exchange.call.request.stream = BodyStream {
            guard let piece = try await pieces.next() else { return nil }
            digest.add(piece)
            return piece
        }
        let received = try await receive(exchange.call)
        exchange.call.received = received
        exchange.call.request.stream = nil
        exchange.call.request.body = digest.finish()
        do {
            try await readmit(&exchange)
            let response = try await answer(&exchange)
            try? await received.discard()
            return response
        } catch {
            try? await received.discard()
            throw error
        }
    }
}
