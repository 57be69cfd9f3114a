import Glibc
import HTTP
import Networking
import Observability

/// What one loop keeps for all its connections. Confined to that loop, except that it is made
/// before the loop hands it anything.
final class Worker {
    static let receiveBytes = 64 << 10
    private static let acceptsPerTurn = 64

    let loop: EventLoop
    let configuration: ServerConfiguration
    let respond: @Sendable (Request) async -> Response
    let fast: FastPath?
    let refuse: @Sendable (Request, HTTPError) async -> Response
    let parser: RequestParser
    let writer = ResponseWriter()
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: receiveBytes, alignment: 16)
    var ids = RequestIDs()
    private(set) var draining = false
    /// Whether a connection's bytes are being served: until they are, the writer and the receive
    /// buffer are that connection's alone.
    var serving = false
    private var connections: [Int32: Connection] = [:]
    private var listeners: [(listener: Listener, tls: TLSContext?)] = []
    private let places: ConnectionPlaces
    private var acceptPaused = false
    private var sweeping = false
    private var whenEmpty: (() -> Void)?

    init(
        loop: EventLoop, configuration: ServerConfiguration, places: ConnectionPlaces,
        respond: @escaping @Sendable (Request) async -> Response, fast: FastPath?,
        refuse: @escaping @Sendable (Request, HTTPError) async -> Response
    ) {
        self.loop = loop
        self.configuration = configuration
        self.places = places
        self.respond = respond
        self.fast = fast
        self.refuse = refuse
        parser = RequestParser(limits: configuration.limits)
    }

    deinit { scratch.deallocate() }

    // MARK: accepting

    func listen(_ listener: Listener, tls: TLSContext?) {
        guard !draining else { return listener.close() }
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
        for _ in 0..<Self.acceptsPerTurn {
            guard places.take() else { return pauseAccepting() }
            switch listener.accept() {
            case .descriptor(let descriptor):
                open(descriptor, tls)
                continue
            case .none: break
            case .exhausted: pauseAccepting()
            }
            return places.give()
        }
    }

    private func open(_ descriptor: Int32, _ tls: TLSContext?) {
        let session = tls.flatMap { TLSSession($0, descriptor: descriptor) }
        if tls != nil, session == nil {
            _ = Glibc.close(descriptor)
            places.give()
            return
        }
        let connection = Connection(
            socket: Socket(descriptor: descriptor, tls: session), worker: self)
        connections[descriptor] = connection
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
        guard acceptPaused, !places.areTaken else { return }
        acceptPaused = false
        for (listener, _) in listeners {
            loop.rewatch(listener.descriptor, readable: true, writable: false)
        }
    }

    /// The connection has closed its descriptor.
    func forget(_ descriptor: Int32) {
        if connections.removeValue(forKey: descriptor) != nil {
            places.give()
            configuration.measures.open.add(-1)
        }
        resumeAccepting()
        if draining, connections.isEmpty { finishDraining() }
    }

    // MARK: deadlines

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
        for connection in Array(connections.values) { connection.sweep(now) }
        resumeAccepting()
        sweepLater()
    }

    // MARK: draining

    /// Stops accepting, lets what is in flight finish, and calls once no connection is left or
    /// `time` nanoseconds have passed.
    func drain(within time: Int64, done: @escaping () -> Void) {
        guard !draining else { return done() }
        for (index, entry) in listeners.enumerated() {
            // What the kernel has already accepted for us would otherwise be reset.
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
