import Deadlines
import HTTP

/// The state of a body that a handler receives in pieces.
struct Upload {
    private(set) var isComplete = false
    /// Why the rest of the body is not read.
    private(set) var failure: HTTPError?
    /// The client sends nothing before `100 Continue`.
    var expectsContinue: Bool
    private(set) var waiter: UnsafeContinuation<Void, Never>?
    private var piece: [UInt8]?
    private var remaining = 0
    private var decoder: ChunkedDecoder?
    /// The handler's time, which stands still while it waits for a piece.
    private var deadline: Deadline?
    private var waitsSince: Int64 = 0
    /// Nanoseconds that the handler has waited for the client so far.
    private var waited: Int64 = 0
    private var arrived: Int64 = 0

    init(framing: BodyFraming, limit: Int, expectsContinue: Bool) {
        self.expectsContinue = expectsContinue
        if case .length(let count) = framing {
            remaining = count
            isComplete = count == 0
        } else {
            decoder = ChunkedDecoder(limit: limit)
        }
    }

    var isWanted: Bool { waiter != nil }

    mutating func want(
        _ waiter: UnsafeContinuation<Void, Never>, at now: Int64, _ deadline: Deadline?
    ) {
        self.waiter = waiter
        self.deadline = deadline
        waitsSince = now
        deadline?.pause()
    }

    mutating func takePiece() -> [UInt8]? {
        defer { piece = nil }
        return piece
    }

    /// How many of `bytes` belong to the body; none while the handler is busy.
    mutating func take(_ bytes: UnsafeRawBufferPointer, at now: Int64) -> Int {
        guard isWanted else { return 0 }
        var consumed = 0
        var content: [UInt8] = []
        if decoder != nil {
            let outcome =
                decoder?.decode(
                    bytes.bindMemory(to: UInt8.self), into: &content, consumed: &consumed)
                ?? .incomplete
            if case .failed(let error) = outcome {
                fail(error, at: now)
                return 0
            }
            isComplete = outcome == .complete
        } else {
            consumed = min(remaining, bytes.count)
            content = Array(bytes[..<consumed])
            remaining -= consumed
            isComplete = remaining == 0
        }
        arrived += Int64(consumed)
        if !content.isEmpty { piece = content }
        if isComplete || piece != nil { resume(at: now) }
        return consumed
    }

    mutating func fail(_ error: HTTPError, at now: Int64) {
        failure = error
        resume(at: now)
    }

    private mutating func resume(at now: Int64) {
        guard let waiting = waiter else { return }
        waiter = nil
        waited += now - waitsSince
        deadline?.resume(at: now)
        deadline = nil
        waiting.resume()
    }

    /// Refuses a body that arrives too slowly, or that stopped. Only the client's time counts.
    func isSlow(_ now: Int64, _ configuration: ServerConfiguration) -> Bool {
        guard isWanted else { return false }
        let waits = now - waitsSince
        let all = waited + waits
        guard waits <= configuration.bodyTime else { return true }
        guard all > configuration.rateGrace else { return false }
        return arrived < all / 1_000_000 * configuration.bodyRate / 1000
    }
}
