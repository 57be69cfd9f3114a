import HTTP
import Networking

/// Turns responses into bytes of the output buffer.
extension HTTPConnection {
    func prepareWriter() {
        worker.writer.prepare(
            isHead: answersHead, isHTTP10: answersHTTP10, closes: closesAfterAnswer,
            now: worker.loop.now)
    }

    /// Writes the handler's response; true if its stream must follow.
    func answer(_ response: Response, turn: UInt64) -> Bool {
        assert(!worker.serving || ingesting, "the output buffer is another's")
        guard phase == .handling, turn == self.turn else { return false }
        stopClock()
        if worker.isLeaving { closesAfterAnswer = true }
        // The rest of a body must not be parsed as a request.
        if upload?.isComplete == false { closesAfterAnswer = true }
        endUpload()
        if case .stream = response.body, answersHTTP10 { closesAfterAnswer = true }
        prepareWriter()
        if worker.writer.write(response) {
            if !ingesting { flush() }
            return true
        }
        finishRequest()
        return false
    }

    /// Writes a fast path's deferred response.
    func answer(turn: UInt64, by write: (ResponseWriter) -> Void) {
        assert(!worker.serving, "the output buffer is another's")
        guard phase == .handling, turn == self.turn else { return }
        stopClock()
        if worker.isLeaving { closesAfterAnswer = true }
        prepareWriter()
        write(worker.writer)
        finishRequest()
    }

    static func stream(
        _ next: @Sendable () async throws -> [UInt8]?, to bound: LoopBound<HTTPConnection>
    ) async {
        do {
            while let piece = try await next() {
                guard bound.value.send(piece) else { return }
                await Outgoing.drained(bound)
            }
            bound.value.endStream()
        } catch {
            // Omit the last chunk, so that the client does not take a cut body for a complete one.
            bound.value.close()
        }
    }

    private func send(_ piece: [UInt8]) -> Bool {
        guard phase == .handling else { return false }
        worker.writer.chunk(piece, isHTTP10: answersHTTP10)
        flush()
        return phase == .handling
    }

    private func endStream() {
        guard phase == .handling else { return }
        worker.writer.endChunks(isHTTP10: answersHTTP10)
        finishRequest()
    }

    private func finishRequest() {
        // Late results of this request must not reach the next one.
        turn &+= 1
        endAnswer()
        guard !ingesting else { return }
        flush()
        proceed()
    }

    /// The response is in the output buffer: decides what this connection does next.
    func endAnswer() {
        phase = closesAfterAnswer ? .lingering : .head
        let configuration = worker.configuration
        deadline =
            worker.loop.now
            + (closesAfterAnswer ? configuration.lingerTime : configuration.idleTime)
    }

    /// One response, then close: after a parse error the rest of the input cannot be trusted.
    func refuse(_ error: HTTPError) {
        answersHead = false
        answersHTTP10 = false
        closesAfterAnswer = true
        prepareWriter()
        var response = Response.refusal(error, id: worker.ids.nextText())
        if socket.tls != nil { response.keepToTLS() }
        _ = worker.writer.write(response)
        endAnswer()
    }

    /// Continues with the input that arrived meanwhile.
    func proceed() {
        guard outgoing.isEmpty, reads else { return }
        takePending()
        guard outgoing.isEmpty, reads else { return }
        if readPaused { setReading(true) }
        if socket.tls != nil { receive() }
    }
}
