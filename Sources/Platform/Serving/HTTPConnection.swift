import HTTP
import Networking

/// One client's connection: a state machine that serves one request at a time. While a handler is
/// suspended it reads nothing but the pieces of a body that it asks for: responses keep their order,
/// and a fast sender waits in its socket. It holds no buffer while idle. Confined to its loop.
final class HTTPConnection {
    enum Phase {
        /// Between requests, or in a head.
        case head
        case body
        case handling
        /// The last response is sent; input is discarded so that the peer can read that response.
        case lingering
        case closed
    }

    /// TLS records, of 16 KB at most, that are processed before other connections have their turn.
    private static let recordsPerTurn = 4

    let worker: Worker
    let socket: Socket
    let remoteAddress: String
    var phase = Phase.head
    var outgoing = Outgoing()
    var incoming: IncomingBody?
    /// The body that the current handler receives in pieces.
    var upload: Upload?
    var pending: [UInt8] = []
    var pendingStart = 0
    var scanned = 0
    /// Monotonic nanoseconds; the sweep compares it.
    var deadline: Int64
    var ingesting = false
    var closesAfterAnswer = false
    var answersHead = false
    var answersHTTP10 = false
    var readPaused = false
    /// Whether its next records are received in the loop's next cycle.
    private var waitsForTurn = false
    /// Counts the requests of this connection.
    var turn: UInt64 = 0
    var clock: TimerID?
    /// Whether the head of this request's response is in the output buffer or sent.
    var hasAnswered = false
    /// Whether a head has begun to arrive, so that its deadline runs.
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
        // A TLS handshake may wait for room to write before it can read on.
        if writable, !readable, socket.tls != nil { receive() }
        guard readable, phase != .closed else { return }
        switch phase {
        case .handling where reads && outgoing.isEmpty: receive()
        case .handling:
            // The peer sent more, or closed: a second report with reading off shows which.
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
        // TLS may hold decrypted bytes that epoll does not report, so read until none are left; but
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
        // A separate copy: closing empties `pending` while its bytes are still being read.
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

    /// Reads what has already arrived, and closes if there is nothing.
    func drain() {
        closesAfterAnswer = true
        guard phase == .head, outgoing.isEmpty else { return }
        receive()
        if phase == .head, outgoing.isEmpty, pending.isEmpty { close() }
    }

    func close() {
        guard phase != .closed else { return }
        // Over HTTP/1.0 the end of the connection ends a stream, so a cut stream would look
        // complete.
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
