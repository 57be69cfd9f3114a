import Deadlines
import HTTP
import Networking

/// Turns received bytes into handled requests.
extension HTTPConnection {
    /// Serves what it can of `bytes` and returns how many it used.
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

    /// The client's own identifier if it is well-formed, else a new one.
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

    /// The rest of the body is not read.
    func refuseBody(_ error: HTTPError) {
        guard let request = incoming?.request else { return }
        incoming = nil
        refuse(request, error)
    }

    /// As `refuse(_:)`, in the format of the request's handler.
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
        // Most requests without a wait are answered by now.
        if !hasAnswered { startClock(deadline, form, id: request.id) }
    }
}
