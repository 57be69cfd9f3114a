import Glibc
import Runtime
import Synchronization
import Text

/// The state that the connections of one loop share. It may be created on any thread; afterwards
/// only that loop's thread uses it.
final class Worker {
    static let receiveBytes = 64 << 10
    private static let acceptsPerTurn = 64
    /// If there were more connections than this and most of them have closed, freed memory is
    /// returned to the system.
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
    /// Whether each connection closes after its next response.
    private(set) var isLeaving = false
    private var isRefusing = false
    private(set) var draining = false
    /// Whether a connection's bytes are being processed. Until that ends, only that connection may
    /// use the writer and the receive buffer.
    var serving = false
    private var connections: [Int32: HTTPConnection] = [:]
    private var handshakes: Handshakes
    /// The highest number of connections since free memory was last returned.
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

    /// Uses this context for new handshakes; open connections keep theirs.
    func replaceTLS(_ tls: TLSContext) {
        for index in listeners.indices where listeners[index].tls != nil {
            listeners[index].tls = tls
        }
    }

    private func accept(_ index: Int) {
        guard listeners.indices.contains(index) else { return }
        let (listener, tls) = listeners[index]
        // While new connections are refused, accept all connections that are still queued.
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

    /// Removes a connection that has closed its descriptor.
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

    /// Stops the worker. The kernel refuses new connections for `grace` nanoseconds, and then the
    /// listeners close. Requests in progress may finish. Calls `done` when no connection is left,
    /// or `time` nanoseconds after the listeners closed.
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
            // Accept the connections that the kernel has queued, because closing the listener would
            // reset them.
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

/// How many connections a server may still accept. All its loops share this count, because the
/// kernel does not distribute connections evenly among them.
final class ConnectionSlots: Sendable {
    private let limit: Int
    private let taken = Atomic<Int>(0)

    init(_ limit: Int) { self.limit = max(1, limit) }

    var areTaken: Bool { taken.load(ordering: .relaxed) >= limit }

    /// Takes a slot. Returns false if all are taken.
    func take() -> Bool {
        if taken.add(1, ordering: .relaxed).newValue <= limit { return true }
        give()
        return false
    }

    func give() { taken.subtract(1, ordering: .relaxed) }
}

/// The connections of one loop whose TLS handshake is unfinished, oldest first. Each connection
/// uses about 34 KB before its client has sent a request.
struct Handshakes {
    private struct Entry {
        weak var connection: HTTPConnection?
        let network: String
    }

    private let limit: Int
    private var entries: [Entry] = []

    init(limit: Int) { self.limit = limit }

    /// Adds a connection. If there are too many, the client network with the most connections loses
    /// some of them, the oldest first. So an attacker with thousands of connections does not push
    /// out a slow client in another network.
    mutating func begin(_ connection: HTTPConnection) {
        entries.append(
            Entry(
                connection: connection, network: IPAddress.network(of: connection.remoteAddress)))
        guard entries.count > limit else { return }
        entries.removeAll { $0.connection?.isInHandshake != true }
        let excess = entries.count - limit
        // Make room for several connections at once. Otherwise all connections would have to be
        // counted again for every new one.
        if excess > 0 { makeRoom(for: limit / 16 + excess) }
    }

    private mutating func makeRoom(for number: Int) {
        var counts: [String: Int] = [:]
        for entry in entries { counts[entry.network, default: 0] += 1 }
        var closing: [HTTPConnection] = []
        var spared = entries
        for _ in 0..<number {
            guard let most = counts.values.max(),
                let index = spared.firstIndex(where: { counts[$0.network] == most })
            else { break }
            counts[spared[index].network] = most - 1
            if let connection = spared.remove(at: index).connection { closing.append(connection) }
        }
        entries = spared
        for connection in closing { connection.close() }
    }
}

/// Makes request identifiers of 32 hexadecimal digits. They are unique in practice but not secret,
/// so a small generator with a seed from the system is enough.
struct RequestIDs {
    private var state: (UInt64, UInt64)

    init() {
        var system = SystemRandomNumberGenerator()
        state = (system.next(), system.next() | 1)
    }

    /// Returns the next random number, by xoroshiro128+ of D. Blackman and S. Vigna.
    private mutating func next() -> UInt64 {
        func rotated(_ value: UInt64, _ by: UInt64) -> UInt64 { value << by | value >> (64 - by) }
        let (first, last) = state
        let mixed = last ^ first
        state = (rotated(first, 24) ^ mixed ^ (mixed << 16), rotated(mixed, 37))
        return first &+ last
    }

    /// Calls `body` with the 32 ASCII bytes of a new identifier, which are valid only during the
    /// call.
    mutating func withNext<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let words = (next(), next())
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
            for index in 0..<32 {
                let word = index < 16 ? words.0 : words.1
                let nibble = UInt8(truncatingIfNeeded: word >> UInt64((15 - index & 15) * 4)) & 15
                buffer[index] = nibble < 10 ? 0x30 + nibble : 0x57 + nibble
            }
            return body(UnsafeRawBufferPointer(buffer))
        }
    }

    mutating func nextText() -> String { withNext { String(decoding: $0, as: UTF8.self) } }
}
