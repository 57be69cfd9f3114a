import Runtime

/// The state of a body that a handler receives in pieces. It is a class, so that an idle connection
/// reserves no memory for it.
final class Upload {
    private(set) var isComplete = false
    /// Why the rest of the body is not read; `nil` while there is no reason.
    private(set) var failure: HTTPError?
    /// Whether the client waits for `100 Continue` before it sends the body.
    var expectsContinue: Bool
    private(set) var waiter: UnsafeContinuation<Void, Never>?
    private var piece: [UInt8]?
    private var remaining = 0
    private var decoder: ChunkedDecoder?
    /// The time limit of the handler. It is paused while the handler waits for a piece.
    private var deadline: Deadline?
    private var waitsSince: Int64 = 0
    /// Nanoseconds for which the handler has waited for the client so far.
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

    /// Takes the bytes that belong to the body and returns their number. Takes none while the
    /// handler is not waiting for a piece.
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

    /// Returns why the rest of the body is not read: the body stopped arriving, arrives too slowly,
    /// or takes too long in all. Without these limits, a slow sender would occupy one of the few
    /// upload slots. Only the time for which the handler waits for the client counts.
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

/// A request whose body is still arriving. It is a class, so that an idle connection reserves no
/// memory for it.
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

    /// Whether the body arrives so slowly that it is refused before its time limit has passed.
    func isSlow(_ now: Int64, _ configuration: ServerConfiguration) -> Bool {
        let elapsed = now - startedAt
        guard elapsed > configuration.rateGrace else { return false }
        return arrived < elapsed / 1_000_000 * configuration.bodyRate / 1000
    }
}

/// Serves bodies that a handler receives in pieces. The handler starts as soon as the head is read,
/// so it can refuse the request before the body arrives. The connection reads only while the
/// handler waits for a piece.
extension HTTPConnection {
    /// Whether the connection can process bytes that arrive now.
    var reads: Bool {
        switch phase {
        case .head, .body: true
        case .handling: upload?.isWanted ?? false
        case .lingering, .closed: false
        }
    }

    /// Handles a request whose body is streamed, and returns how many bytes its head has. `arrived`
    /// is true if part of the body has arrived.
    func beginUpload(_ head: RequestHead, limit: Int, arrived: Bool) -> Int {
        if case .length(let count) = head.framing, count > limit {
            refuse(owned(head, body: []), RequestParser.bigBody)
            return head.length
        }
        var request = owned(head, body: [])
        upload = Upload(
            framing: head.framing, limit: limit, expectsContinue: head.expectsContinue && !arrived)
        let turn = turn &+ 1
        let bound = LoopBound(self, loop: worker.loop)
        request.stream = BodyStream { try await Self.nextPiece(of: bound, turn: turn) }
        handle(request)
        return head.length
    }

    private static func nextPiece(
        of bound: LoopBound<HTTPConnection>, turn: UInt64
    ) async throws -> [UInt8]? {
        let connection = bound.value
        while true {
            guard connection.turn == turn, connection.phase == .handling,
                let upload = connection.upload
            else { throw BodyLost() }
            if let failure = upload.failure { throw failure }
            if let piece = upload.takePiece() { return piece }
            if upload.isComplete { return nil }
            await withUnsafeContinuation { connection.wantPiece($0) }
        }
    }

    private func wantPiece(_ waiter: UnsafeContinuation<Void, Never>) {
        upload?.want(waiter, at: worker.loop.now, Deadline.current)
        if upload?.expectsContinue == true {
            upload?.expectsContinue = false
            worker.writer.out.append("HTTP/1.1 100 Continue\r\n\r\n")
        }
        guard !ingesting else { return }
        flush()
        proceed()
    }

    func ingestUpload(_ bytes: UnsafeRawBufferPointer) -> Int {
        upload?.take(bytes, at: worker.loop.now) ?? 0
    }

    func sweepUpload(_ now: Int64) {
        guard let refusal = upload?.refusal(now, worker.configuration) else { return }
        upload?.fail(refusal, at: now)
    }

    /// Discards the state of the body when the request is answered or the connection closes. A
    /// handler that waits for a piece then gets `BodyLost`.
    func endUpload() {
        let waiter = upload?.waiter
        upload = nil
        waiter?.resume()
    }
}
