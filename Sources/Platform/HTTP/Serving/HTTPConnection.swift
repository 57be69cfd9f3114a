import Runtime

/// One client's connection: a state machine that serves one request at a time. While a handler
/// runs, the connection reads nothing but the body pieces that the handler asks for. So responses
/// keep their order, and a fast sender has to wait. An idle connection has no buffer. Use a
/// connection only on the thread of its loop.
final class HTTPConnection {
    enum Phase {
        /// Waiting for a request, or reading its head.
        case head
        case body
        case handling
        /// The last response was sent. Input is read and discarded for a while, because closing at
        /// once could keep the peer from reading that response.
        case lingering
        case closed
    }

    /// How many TLS records (at most 16 KB each) are processed before other connections are served.
    private static let recordsPerTurn = 4

    let worker: Worker
    let socket: Socket
    let remoteAddress: String
    var phase = Phase.head
    var outgoing = Outgoing()
    var incoming: IncomingBody?
    /// The body that the current handler receives in pieces; `nil` if it has none.
    var upload: Upload?
    var pending: [UInt8] = []
    var pendingStart = 0
    var scanned = 0
    /// The time after which the periodic sweep closes the connection or refuses its request, in
    /// monotonic nanoseconds.
    var deadline: Int64
    var ingesting = false
    var closesAfterAnswer = false
    var answersHead = false
    var answersHTTP10 = false
    var readPaused = false
    /// Whether received TLS records are left for the loop's next cycle.
    private var waitsForTurn = false
    /// The number of the current request on this connection.
    var turn: UInt64 = 0
    var clock: TimerID?
    /// Whether the head of this request's response is in the output buffer or sent.
    var hasAnswered = false
    /// Whether part of a head has arrived, so that the time limit for heads applies.
    var inHead = false

    init(socket: Socket, worker: Worker) {
        self.socket = socket
        self.worker = worker
        remoteAddress = socket.peer
        deadline = worker.loop.now + worker.configuration.headTime
    }

    var isInHandshake: Bool { phase != .closed && socket.tls.map { !$0.isEstablished } ?? false }

    func ready(_ readable: Bool, _ writable: Bool) {
        if writable || (readable && outgoing.waits) { flushBacklog() }
        // Continue a TLS handshake that had to write before it could read on.
        if writable, !readable, socket.tls != nil { receive() }
        guard readable, phase != .closed else { return }
        switch phase {
        case .handling where reads && outgoing.isEmpty: receive()
        case .handling:
            // The peer sent more, or closed the connection. If the loop no longer watches for
            // input, only a closed connection can be the reason.
            if readPaused { return close() }
            setReading(false)
        case .lingering: discard()
        case .head, .body:
            if outgoing.isEmpty { receive() } else { pauseOrClose() }
        case .closed: break
        }
    }

    func pauseOrClose() { if readPaused { close() } else { setReading(false) } }

    func receive() {
        // TLS may have decrypted bytes that epoll does not report, so read until none are left. But
        // a client that sends as fast as it is answered must not occupy the loop.
        guard !waitsForTurn else { return }
        var records = 0
        while reads, outgoing.isEmpty {
            if records == Self.recordsPerTurn { return receiveNextTurn() }
            records += 1
            switch socket.receive(into: worker.scratch) {
            case .moved(let count):
                take(UnsafeRawBufferPointer(rebasing: worker.scratch[..<count]))
                if socket.tls == nil { return }
            case .wantsRead: return
            case .wantsWrite: return watch(writable: true)
            case .ended, .failed: return close()
            }
        }
    }

    private func receiveNextTurn() {
        waitsForTurn = true
        let bound = LoopBound(self, loop: worker.loop)
        worker.loop.perform {
            bound.value.waitsForTurn = false
            bound.value.receive()
        }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        if pending.isEmpty {
            let consumed = ingest(bytes)
            guard phase != .closed, consumed < bytes.count else { return }
            pending = Array(bytes[consumed...])
            pendingStart = 0
        } else {
            if pendingStart > 0 { pending.removeFirst(pendingStart) }
            pendingStart = 0
            pending.append(contentsOf: bytes)
            takePending()
        }
    }

    func takePending() {
        guard !pending.isEmpty else { return }
        // Keep a separate copy, because `close` empties `pending` while its bytes are still being
        // read.
        let held = pending
        let consumed = held.withUnsafeBytes {
            ingest(UnsafeRawBufferPointer(rebasing: $0[pendingStart...]))
        }
        guard phase != .closed else { return }
        pendingStart += consumed
        if pendingStart == held.count {
            pending = []
            pendingStart = 0
        }
    }

    func sweep(_ now: Int64) {
        if !outgoing.isEmpty {
            if now >= outgoing.deadline { close() }
            return
        }
        switch phase {
        case .handling: sweepUpload(now)
        case .closed: return
        case .lingering: if now >= deadline { close() }
        case .head:
            guard now >= deadline else { return }
            if pending.isEmpty { return close() }
            timeOut()
        case .body:
            let slow = incoming?.isSlow(now, worker.configuration) ?? false
            if slow || now >= deadline { timeOut() }
        }
    }

    private func timeOut() {
        let error = HTTPError(408, "The request took too long to arrive.")
        if incoming != nil { return refuseBody(error) }
        refuse(error)
        flush()
    }

    /// Serves the input that has already arrived, and closes the connection if there is none.
    /// Otherwise the connection closes after its next response.
    func drain() {
        closesAfterAnswer = true
        guard phase == .head, outgoing.isEmpty else { return }
        receive()
        if phase == .head, outgoing.isEmpty, pending.isEmpty { close() }
    }

    func close() {
        guard phase != .closed else { return }
        // To an HTTP/1.0 client, an orderly close means that a streamed body is complete. If the
        // response is not complete, reset the connection instead.
        let isCut = answersHTTP10 && (phase == .handling || !outgoing.isEmpty)
        phase = .closed
        stopClock()
        pending = []
        incoming = nil
        endUpload()
        worker.loop.unwatch(socket.descriptor)
        if isCut { socket.reset() }
        socket.close()
        outgoing.drop()
        outgoing.resume()
        worker.forget(socket.descriptor)
    }
}

/// Parses received bytes into requests and handles them.
extension HTTPConnection {
    /// Processes as many of `bytes` as possible and returns how many were used.
    func ingest(_ bytes: UnsafeRawBufferPointer) -> Int {
        var at = 0
        assert(!worker.serving, "one connection is served at a time")
        ingesting = true
        worker.serving = true
        while at < bytes.count, outgoing.isEmpty {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[at...])
            let used: Int
            switch phase {
            case .head: used = ingestHead(rest)
            case .body: used = ingestBody(rest)
            case .handling: used = ingestUpload(rest)
            default: used = 0
            }
            if used == 0 { break }
            at += used
            if worker.writer.out.count >= Worker.receiveBytes { flush() }
        }
        ingesting = false
        flush()
        worker.serving = false
        return phase == .lingering ? bytes.count : at
    }

    private func ingestHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch worker.parser.parse(bytes, scanned: &scanned) {
        case .incomplete:
            if !inHead { deadline = worker.loop.now + worker.configuration.headTime }
            inHead = true
            return 0
        case .failed(let error):
            refuse(error)
            return 0
        case .refused(let head, let error):
            inHead = false
            answersHead = head.method == .head
            answersHTTP10 = head.isHTTP10
            refuse(owned(head, body: []), error)
            return head.length
        case .head(let head):
            inHead = false
            return serve(head, bytes)
        }
    }

    private func serve(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) -> Int {
        socket.tls?.beginRequest()
        answersHead = head.method == .head
        answersHTTP10 = head.isHTTP10
        closesAfterAnswer = !head.keepAlive || worker.isLeaving
        var length = 0
        switch head.framing {
        case .none: break
        case .length(let count): length = count
        case .chunked: length = Int.max
        }
        if length > 0, head.method == .post, let limit = worker.streams?(head.path) {
            return beginUpload(head, limit: limit, arrived: bytes.count > head.length)
        }
        if case .length(let count) = head.framing, count > worker.configuration.limits.body {
            refuse(owned(head, body: []), RequestParser.bigBody)
            return head.length
        }
        guard length <= bytes.count - head.length else {
            return expectBody(head, arrived: bytes.count > head.length)
        }
        let total = head.length + length
        let body = UnsafeRawBufferPointer(rebasing: bytes[head.length..<total])
        if let fast = worker.fast {
            prepareWriter()
            let request = FastRequest(
                head: head, body: body, remoteAddress: remoteAddress, isTLS: socket.tls != nil,
                now: worker.loop.now, connection: self)
            switch fast(request, worker.writer) {
            case .given:
                endAnswer()
                return total
            case .later: return total
            case .declined: break
            }
        }
        handle(owned(head, body: Array(body)))
        return total
    }

    func owned(_ head: RequestHead, body: [UInt8]) -> Request {
        head.request(
            body: body, remoteAddress: remoteAddress, isTLS: socket.tls != nil,
            id: requestID(of: head))
    }

    /// Returns the client's own identifier if it is well-formed, else a new one.
    func requestID(of head: RequestHead) -> String {
        if let given = head.first("x-request-id"), isRequestID(given) {
            return String(decoding: given, as: UTF8.self)
        }
        return worker.ids.nextText()
    }

    private func expectBody(_ head: RequestHead, arrived: Bool) -> Int {
        incoming = IncomingBody(
            request: owned(head, body: []), framing: head.framing,
            limit: worker.configuration.limits.body, startedAt: worker.loop.now)
        if head.expectsContinue, !arrived {
            precheck()
        } else {
            awaitBody()
        }
        return head.length
    }

    private func ingestBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard let incoming else { return 0 }
        var consumed = 0
        switch incoming.take(bytes, consumed: &consumed) {
        case .incomplete: break
        case .failed(let error):
            refuseBody(error)
            return 0
        case .complete:
            self.incoming = nil
            handle(incoming.request)
        }
        return consumed
    }

    /// Refuses a request whose body is arriving. The rest of the body is not read.
    func refuseBody(_ error: HTTPError) {
        guard let request = incoming?.request else { return }
        incoming = nil
        refuse(request, error)
    }

    /// Refuses a request like `refuse(_:)`, but in the format in which the request's handler would
    /// report the error.
    func refuse(_ request: Request, _ error: HTTPError) {
        closesAfterAnswer = true
        let refuse = worker.refuse
        var request = request
        request.body = []
        handle(request) { await refuse($0, error) }
    }

    func handle(_ request: Request) { handle(request, worker.respond) }

    private func handle(
        _ request: Request, _ respond: @escaping @Sendable (Request) async -> Response
    ) {
        let turn = beginTurn()
        let bound = LoopBound(self, loop: worker.loop)
        let deadline = Deadline(since: worker.loop.now, lasting: worker.configuration.answerTime)
        let form = LateForm()
        var request = request
        request.lateForm = form
        worker.loop.spawn { [request] in
            let response = await Deadline.$current.withValue(deadline) { await respond(request) }
            guard bound.value.answer(response, turn: turn), case .stream(let next) = response.body
            else { return }
            await Self.stream(next, to: bound)
        }
        // Limit the time only if there is no response yet. A handler that did not have to wait has
        // usually responded by now.
        if !hasAnswered { startClock(deadline, form, id: request.id) }
    }
}

/// Serves a client that waits for `100 Continue` before it sends a body (RFC 9110 section 10.1.1).
extension HTTPConnection {
    func awaitBody() {
        phase = .body
        deadline = worker.loop.now + worker.configuration.bodyTime
    }

    /// Sends `100 Continue`, or refuses the request if its head already shows that the body would
    /// be refused.
    func precheck() {
        guard let precheck = worker.precheck, let request = incoming?.request else { return goOn() }
        let closes = closesAfterAnswer
        // Close after a refusal: the client may still send the body, which must not be parsed as a
        // request.
        closesAfterAnswer = true
        let turn = beginTurn()
        let bound = LoopBound(self, loop: worker.loop)
        let deadline = Deadline(since: worker.loop.now, lasting: worker.configuration.answerTime)
        let form = LateForm()
        var forwarded = request
        forwarded.lateForm = form
        worker.loop.spawn { [forwarded] in
            let refusal = await Deadline.$current.withValue(deadline) { await precheck(forwarded) }
            let connection = bound.value
            guard connection.phase == .handling, connection.turn == turn else { return }
            if let refusal {
                connection.incoming = nil
                _ = connection.answer(refusal, turn: turn)
                return
            }
            connection.stopClock()
            connection.closesAfterAnswer = closes
            connection.goOn()
        }
        if !hasAnswered { startClock(deadline, form, id: request.id) }
    }

    private func goOn() {
        awaitBody()
        worker.writer.out.append("HTTP/1.1 100 Continue\r\n\r\n")
        guard !ingesting else { return }
        flush()
        proceed()
    }
}

/// Enforces the time limit of each request. When it passes, the server responds instead of the
/// handler, whose own response is then discarded.
extension HTTPConnection {
    /// The maximum time until the time limit is first checked, in nanoseconds. If a handler
    /// shortens its limit to less than that, the shorter limit takes effect only at the first
    /// check.
    private static let firstLook: Int64 = 900_000_000
    /// The maximum time between two checks of the limit while a body arrives in pieces, in
    /// nanoseconds. The limit is checked often, because it is suspended while the handler waits for
    /// a piece and starts anew with each piece.
    private static let lookAtUpload: Int64 = 1_000_000_000

    /// Begins the handling of a request and returns the request's number. A response that comes too
    /// late is recognised by this number.
    func beginTurn() -> UInt64 {
        phase = .handling
        hasAnswered = false
        turn &+= 1
        return turn
    }

    func startClock(_ deadline: Deadline, _ form: LateForm, id: String) {
        let left = deadline.end - Deadline.now
        look(after: min(left, Self.firstLook), deadline, form, id)
    }

    private func look(after time: Int64, _ deadline: Deadline, _ form: LateForm, _ id: String) {
        let turn = turn
        clock = worker.loop.after(max(0, time)) { [weak self] in
            guard let self, self.turn == turn else { return }
            clock = nil
            guard phase == .handling else { return }
            let left = deadline.end - Deadline.now
            if left > 0 {
                let time = upload == nil ? left : min(left, Self.lookAtUpload)
                return look(after: time, deadline, form, id)
            }
            let mayHaveWritten = deadline.expire()
            var response =
                form.response(mayHaveWritten: mayHaveWritten)
                ?? .late(mayHaveWritten: mayHaveWritten, id: id)
            if socket.tls != nil { response.keepToTLS() }
            _ = answer(response, turn: turn)
        }
    }

    /// Stops checking the time limit. It applies only until the response begins; the rest of the
    /// response may take longer.
    func stopClock() {
        hasAnswered = true
        if let clock { worker.loop.cancel(clock) }
        clock = nil
    }
}
