import Deadlines
import HTTP

/// The state of a body that a handler receives in pieces. A class, so that an idle connection keeps no
/// room for it.
final class Upload {
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

    func want(
        _ waiter: UnsafeContinuation<Void, Never>, at now: Int64, _ deadline: Deadline?
    ) {
        self.waiter = waiter
        self.deadline = deadline
        waitsSince = now
        deadline?.pause()
    }

    func takePiece() -> [UInt8]? {
        defer { piece = nil }
        return piece
    }

    /// How many of `bytes` belong to the body; none while the handler is busy.
    func take(_ bytes: UnsafeRawBufferPointer, at now: Int64) -> Int {
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

    func fail(_ error: HTTPError, at now: Int64) {
        failure = error
        resume(at: now)
    }

    private func resume(at now: Int64) {
        guard let waiting = waiter else { return }
        waiter = nil
        waited += now - waitsSince
        deadline?.resume(at: now)
        deadline = nil
        waiting.resume()
    }

    /// Why the rest of the body is not read: it stopped, arrives too slowly, or takes too long in all,
    /// as a sender that trickles would hold one of few places. Only the client's time counts.
    func refusal(_ now: Int64, _ configuration: ServerConfiguration) -> HTTPError? {
        guard isWanted else { return nil }
        let waits = now - waitsSince
        let all = waited + waits
        if waits > configuration.bodyTime {
            return HTTPError(408, "The request took too long to arrive.")
        }
        if all > configuration.uploadTime {
            let seconds = configuration.uploadTime / 1_000_000_000
            return HTTPError(408, "The body took longer than \(seconds) s to arrive.")
        }
        guard all > configuration.uploadGrace,
            arrived < all / 1_000_000 * configuration.uploadRate / 1000
        else { return nil }
        return HTTPError(
            408, "The body arrived slower than \(configuration.uploadRate) bytes a second.")
    }
}
