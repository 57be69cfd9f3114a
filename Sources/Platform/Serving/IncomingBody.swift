import HTTP

/// A request whose body is still arriving. A class, so that an idle connection keeps no room for it.
final class IncomingBody {
    private(set) var request: Request
    private var remaining: Int
    private var decoder: ChunkedDecoder?
    private let startedAt: Int64
    private var arrived: Int64 = 0

    init(request: Request, framing: BodyFraming, limit: Int, startedAt: Int64) {
        self.request = request
        self.startedAt = startedAt
        if case .length(let count) = framing {
            remaining = count
        } else {
            remaining = 0
            decoder = ChunkedDecoder(limit: limit)
        }
    }

    func take(
        _ bytes: UnsafeRawBufferPointer, consumed: inout Int
    ) -> ChunkedDecoder.Outcome {
        if decoder != nil {
            let outcome =
                decoder?.decode(
                    bytes.bindMemory(to: UInt8.self), into: &request.body, consumed: &consumed)
                ?? .incomplete
            arrived += Int64(consumed)
            return outcome
        }
        consumed = min(remaining, bytes.count)
        request.body.append(contentsOf: bytes[..<consumed])
        remaining -= consumed
        arrived += Int64(consumed)
        return remaining == 0 ? .complete : .incomplete
    }

    /// Refuses a body that arrives too slowly, before its whole time is over.
    func isSlow(_ now: Int64, _ configuration: ServerConfiguration) -> Bool {
        let elapsed = now - startedAt
        guard elapsed > configuration.rateGrace else { return false }
        return arrived < elapsed / 1_000_000 * configuration.bodyRate / 1000
    }
}
