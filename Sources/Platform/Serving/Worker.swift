import Glibc
import HTTP
import Networking
import Observability

/// The state that one loop's connections share. Confined to that loop, except that it is created
/// before the loop uses it.
final class Worker {
    static let receiveBytes = 64 << 10
    private static let acceptsPerTurn = 64
    /// From this number of connections on, freed memory is returned to the system.
    private static let crowd = 500

    let loop: EventLoop
    let configuration: ServerConfiguration
    let respond: @Sendable (Request) async -> Response
    let fast: FastPath?
    let refuse: @Sendable (Request, HTTPError) async -> Response
    let precheck: (@Sendable (Request) async -> Response?)?
    let streams: StreamedBodies?
    let parser: RequestParser
    let writer = ResponseWriter()
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: receiveBytes, alignment: 16)
    var ids = RequestIDs()
    /// Whether each connection closes after its response.
    private(set) var isLeaving = false
    private var isRefusing = false
    private(set) var draining = false
    /// Whether a connection's bytes are being processed: until then the writer and the receive
    /// buffer belong to that connection.
    var serving = false
    private var connections: [Int32: HTTPConnection] = [:]
    private var handshakes: Handshakes
    /// The most connections since free memory was last returned.
    private var most = 0
    private var listeners: [(listener: Listener, tls: TLSContext?)] = []
    private let slots: ConnectionSlots
    private var acceptPaused = false
    private var sweeping = false
    private var whenEmpty: (() -> Void)?

    init(
        loop: EventLoop, configuration: ServerConfiguration, slots: ConnectionSlots,
        respond: @escaping @Sendable (Request) async -> Response, fast: FastPath?,
        refuse: @escaping @Sendable (Request, HTTPError) async -> Response,
        precheck: (@Sendable (Request) async -> Response?)?, streams: StreamedBodies?,
        handshakes limit: Int
    ) {
        self.loop = loop
        self.configuration = configuration
        self.slots = slots
        self.respond = respond
        self.fast = fast
        self.refuse = refuse
        self.precheck = precheck
        self.streams = streams
        parser = RequestParser(limits: configuration.limits)
        handshakes = Handshakes(limit: limit)
    }

    deinit { scratch.deallocate() }

    func listen(_ listener: Listener, tls: TLSContext?) {
        guard !isRefusing else { return listener.close() }
        listeners.append((listener, tls))
        let index = listeners.count - 1
        loop.watch(listener.descriptor) { _, _ in self.accept(index) }
        startSweeping()
    }

    /// New handshakes use this context from now on; open connections keep theirs.
    func replaceTLS(_ tls: TLSContext) {
        for index in listeners.indices where listeners[index].tls != nil {
            listeners[index].tls = tls
        }
    }

    private func accept(_ index: Int) {
        guard listeners.indices.contains(index) else { return }
        let (listener, tls) = listeners[index]
        // If the listener stopped, accept all that wait.
        for _ in 0..<(isRefusing ? configuration.connections : Self.acceptsPerTurn) {
            guard slots.take() else { return pauseAccepting() }
            switch listener.accept() {
            case .descriptor(let descriptor):
                open(descriptor, tls)
                continue
            case .none: break
            case .exhausted: pauseAccepting()
            }
            return slots.give()
        }
    }

    private func open(_ descriptor: Int32, _ tls: TLSContext?) {
        let session = tls.flatMap { TLSSession($0, descriptor: descriptor) }
        if tls != nil, session == nil {
            _ = Glibc.close(descriptor)
            slots.give()
            return
        }
        let connection = HTTPConnection(
            socket: Socket(descriptor: descriptor, tls: session), worker: self)
        connections[descriptor] = connection
        most = max(most, connections.count)
        if session != nil { handshakes.begin(connection) }
        configuration.measures.accepted.increment()
        configuration.measures.open.add(1)
        loop.watch(descriptor) { readable, writable in
            connection.ready(readable, writable)
        }
    }

    private func pauseAccepting() {
        acceptPaused = true
        configuration.measures.pauses.increment()
        for (listener, _) in listeners {
            loop.rewatch(listener.descriptor, readable: false, writable: false)
        }
    }

    private func resumeAccepting() {
        guard acceptPaused, !slots.areTaken else { return }
        acceptPaused = false
        for (listener, _) in listeners {
            loop.rewatch(listener.descriptor, readable: true, writable: false)
        }
    }

    /// The connection has closed its descriptor.
    func forget(_ descriptor: Int32) {
        if connections.removeValue(forKey: descriptor) != nil {
            slots.give()
            configuration.measures.open.add(-1)
        }
        resumeAccepting()
        if draining, connections.isEmpty { finishDraining() }
    }

    private func startSweeping() {
        guard !sweeping else { return }
        sweeping = true
        sweepLater()
    }

    private func sweepLater() {
        loop.after(configuration.sweepInterval) { [weak self] in self?.sweep() }
    }

    private func sweep() {
        if draining, connections.isEmpty {
            sweeping = false
            return
        }
        let now = loop.now
        if most > Self.crowd, connections.count < most / 4 {
            most = connections.count
            Memory.trim()
        }
        for connection in Array(connections.values) { connection.sweep(now) }
        resumeAccepting()
        sweepLater()
    }

    func prepareToLeave() { isLeaving = true }

    /// Stops accepting, lets requests in flight finish, and calls back once no connection is left
    /// or `time` nanoseconds have passed. Before that it refuses new connections for `grace`
    /// nanoseconds.
    func drain(within time: Int64, after grace: Int64, done: @escaping () -> Void) {
        guard !isRefusing else { return done() }
        isLeaving = true
        isRefusing = true
        for (listener, _) in listeners { listener.refuseNew() }
        guard grace > 0 else { return close(within: time, done) }
        loop.after(grace) { self.close(within: time, done) }
    }

    private func close(within time: Int64, _ done: @escaping () -> Void) {
        for (index, entry) in listeners.enumerated() {
            // Accept what the kernel has queued: closing the listener would reset it.
            accept(index)
            loop.unwatch(entry.listener.descriptor)
            entry.listener.close()
        }
        listeners = []
        draining = true
        whenEmpty = done
        for connection in Array(connections.values) { connection.drain() }
        guard !connections.isEmpty else { return finishDraining() }
        loop.after(time) { [weak self] in
            guard let self else { return }
            for connection in Array(connections.values) { connection.close() }
        }
    }

    private func finishDraining() {
        let call = whenEmpty
        whenEmpty = nil
        call?()
    }
}
