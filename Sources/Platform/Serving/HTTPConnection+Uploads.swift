import Deadlines
import HTTP
import Networking

/// Bodies that a handler receives in pieces. The request is handled as soon as its head is read, so
/// that everything known before the body can refuse it; the connection reads only while the handler
/// waits for a piece.
extension HTTPConnection {
    /// Whether bytes that arrive now have a taker.
    var reads: Bool {
        switch phase {
        case .head, .body: true
        case .handling: upload?.isWanted ?? false
        case .lingering, .closed: false
        }
    }

    /// The head of a request whose body is streamed; `arrived`: the body has begun.
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

    /// The request is answered, or the connection closed.
    func endUpload() {
        let waiter = upload?.waiter
        upload = nil
        waiter?.resume()
    }
}
