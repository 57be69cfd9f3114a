import Runtime

/// Writes responses as bytes into the output buffer.
extension HTTPConnection {
    func prepareWriter() {
        worker.writer.prepare(
            isHead: answersHead, isHTTP10: answersHTTP10, closes: closesAfterAnswer,
            now: worker.loop.now)
    }

    /// Writes the handler's response. Returns true if its streamed body must follow.
    func answer(_ response: Response, turn: UInt64) -> Bool {
        assert(!worker.serving || ingesting, "the output buffer is another's")
        guard phase == .handling, turn == self.turn else { return false }
        stopClock()
        if worker.isLeaving { closesAfterAnswer = true }
        // Close after the response if part of the body is unread: that part must not be parsed as
        // the next request.
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
            // Close without the last chunk, so that the client does not take a truncated body for a
            // complete one.
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
        // The handler may still produce a result for this request. Change the number, so that this
        // result is not taken for the response to the next request.
        turn &+= 1
        endAnswer()
        guard !ingesting else { return }
        flush()
        proceed()
    }

    /// Decides what this connection does after its response was written to the output buffer.
    func endAnswer() {
        phase = closesAfterAnswer ? .lingering : .head
        let configuration = worker.configuration
        deadline =
            worker.loop.now
            + (closesAfterAnswer ? configuration.lingerTime : configuration.idleTime)
    }

    /// Writes an error response and then closes the connection, because after a parse error the
    /// rest of the input cannot be trusted.
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

    /// Continues with input that arrived while the request was handled.
    func proceed() {
        guard outgoing.isEmpty, reads else { return }
        takePending()
        guard outgoing.isEmpty, reads else { return }
        if readPaused { setReading(true) }
        if socket.tls != nil { receive() }
    }
}

/// Sends the output buffer to the socket.
extension HTTPConnection {
    func flush() {
        let out = worker.writer.out
        guard out.count > 0 else { return endIfDone() }
        defer { out.removeAll() }
        guard phase != .closed else { return }
        guard outgoing.isEmpty else { return outgoing.hold(out.bytes) }
        var at = 0
        while at < out.count {
            switch socket.send(UnsafeRawBufferPointer(rebasing: out.bytes[at...])) {
            case .moved(let count): at += count
            case .wantsWrite, .wantsRead:
                outgoing.hold(UnsafeRawBufferPointer(rebasing: out.bytes[at...]))
                outgoing.deadline = worker.loop.now + worker.configuration.writeTime
                return watch(writable: true)
            case .ended, .failed: return close()
            }
        }
        endIfDone()
    }

    func flushBacklog() {
        guard !outgoing.isEmpty else { return watch(writable: false) }
        guard outgoing.send(to: socket, rate: worker.configuration.writeRate) else {
            return close()
        }
        guard outgoing.isEmpty else { return }
        watch(writable: false)
        outgoing.resume()
        endIfDone()
        proceed()
    }

    /// Closes the sending side of the connection after the last response.
    func endIfDone() {
        guard phase == .lingering, outgoing.isEmpty, !outgoing.ended, !ingesting else { return }
        outgoing.ended = true
        pending = []
        deadline = worker.loop.now + worker.configuration.lingerTime
        socket.shutdownWrite()
        setReading(true)
    }

    func discard() {
        guard outgoing.isEmpty else { return pauseOrClose() }
        switch socket.receive(into: worker.scratch) {
        case .moved, .wantsRead, .wantsWrite: break
        case .ended, .failed: close()
        }
    }

    func setReading(_ on: Bool) {
        guard phase != .closed, readPaused == on else { return }
        readPaused = !on
        watch(writable: outgoing.waits)
    }

    func watch(writable: Bool) {
        outgoing.waits = writable
        worker.loop.rewatch(socket.descriptor, readable: !readPaused, writable: writable)
    }
}

/// The bytes that a connection has written but its socket has not yet accepted.
struct Outgoing {
    private var bytes: [UInt8] = []
    private var start = 0
    private var waiter: UnsafeContinuation<Void, Never>?
    /// The time by which the peer must accept more bytes, in monotonic nanoseconds. The bytes that
    /// the peer accepts extend the time.
    var deadline: Int64 = 0
    /// Whether the loop watches the socket until it can be written to again.
    var waits = false
    /// Whether this server has closed its sending side of the connection.
    var ended = false

    var isEmpty: Bool { bytes.isEmpty }

    mutating func hold(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Sends as much as the socket accepts. Returns false if the connection is lost.
    mutating func send(to socket: Socket, rate: Int64) -> Bool {
        while start < bytes.count {
            let result = bytes.withUnsafeBytes {
                socket.send(UnsafeRawBufferPointer(rebasing: $0[start...]))
            }
            switch result {
            case .moved(let count):
                start += count
                deadline += Int64(count) * 1_000_000_000 / max(1, rate)
            case .wantsWrite, .wantsRead: return true
            case .ended, .failed: return false
            }
        }
        drop()
        return true
    }

    mutating func drop() {
        bytes = []
        start = 0
    }

    mutating func resume() {
        let waiting = waiter
        waiter = nil
        waiting?.resume()
    }

    /// Waits until the socket has accepted everything or the connection is closed.
    static func drained(_ connection: LoopBound<HTTPConnection>) async {
        guard !connection.value.outgoing.isEmpty else { return }
        await withUnsafeContinuation { connection.value.outgoing.waiter = $0 }
    }
}

extension Response {
    /// Returns the server's own response to a request that exceeded its time limit.
    static func late(mayHaveWritten: Bool, id: String) -> Response {
        let detail =
            mayHaveWritten
            ? "It is not known whether the change was written; look before trying again."
            : "The service cannot answer now; try again."
        let code = mayHaveWritten ? "commit_unknown" : "unavailable"
        var response = problem(503, code, detail, id: id)
        response.set("retry-after", "1")
        return response
    }

    /// Returns the server's own response to a request that it could not parse (RFC 9457). The title
    /// and the detail are fixed texts of this program, so nothing needs escaping.
    static func refusal(_ error: HTTPError, id: String) -> Response {
        let code = error.status == 413 ? "payload_too_large" : "invalid_request"
        var response = problem(error.status, code, error.detail, id: id)
        if error.status == 501 {
            response.set("allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        }
        return response
    }

    private static func problem(
        _ status: Int, _ code: String, _ detail: String, id: String
    ) -> Response {
        let text =
            "{\"type\":\"/docs/errors#\(code)\",\"title\":\"\(reasonPhrase(status))\","
            + "\"status\":\(status),\"detail\":\"\(detail)\",\"code\":\"\(code)\","
            + "\"request_id\":\"\(id)\",\"error\":\"\(detail)\"}"
        var response = Response(status, type: "application/problem+json", Array(text.utf8))
        response.set("x-request-id", id)
        response.set("cache-control", "no-store")
        return response
    }
}
