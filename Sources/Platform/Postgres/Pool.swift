import Networking
import Observability

/// The connections of one login role on one loop.
///
/// `@unchecked Sendable`: touched on its loop's thread only; others get to it by `perform`.
final class Pool: @unchecked Sendable {
    let loop: EventLoop
    let configuration: PostgresConfiguration
    private let connector: Connector
    private var readers: [Connection] = []
    private var readersOpening = 0
    private var waitingReads: [Statement] = []
    private var gathering: [() -> Void] = []
    private var idle: [Connection] = []
    private var writers: [Connection] = []
    private var writersOpening = 0
    private var waitingWriters: [Waiter] = []
    private var backoff = Backoff()
    /// No connection is opened before this loop time.
    private var nextAttempt: Int64 = 0
    private var retryTimer: TimerID?
    private var tick: TimerID?
    private(set) var closed = false
    /// Connections kept by others, ended with the pool.
    var companions: [Connection] = []

    struct Waiter {
        var since: Int64
        var deadline: Int64
        var finish: (Connection?) -> Void
    }

    init(configuration: PostgresConfiguration, loop: EventLoop) {
        self.configuration = configuration
        self.loop = loop
        connector = Connector(configuration: configuration)
    }

    func start() {
        loop.atCycleEnd { [weak self] in self?.endCycle() }
        openMissing()
    }

    var unavailable: PostgresError {
        PostgresError(.unavailable, closed ? "closed" : "no connection in time")
    }

    private var acquireNanoseconds: Int64 { Int64(configuration.acquireTimeout) * 1_000_000 }

    // MARK: reads

    func read(_ statement: Statement) {
        guard !closed else { return statement.complete(.failure(unavailable)) }
        statement.deadline = loop.now + acquireNanoseconds
        guard waitingReads.count < configuration.queueLimit else {
            configuration.measures.refusals.increment()
            return statement.complete(.failure(PostgresError(.unavailable, "queue full")))
        }
        // A pool without read connections of its own serves reads from the others.
        if configuration.readsPerLoop == 0 { return sendAlone(statement) }
        if waitingReads.isEmpty, let reader = leastLoaded() {
            reader.submit(statement)
        } else {
            waitingReads.append(statement)
            startTick()
        }
    }

    private func leastLoaded() -> Connection? {
        var best: Connection?
        for reader in readers
        where reader.isOpen && reader.inFlight < configuration.pipelineLimit
            && reader.inFlight < best?.inFlight ?? .max
        {
            best = reader
        }
        return best
    }

    private func sendWaitingReads() {
        var sent = 0
        while sent < waitingReads.count, let reader = leastLoaded() {
            let statement = waitingReads[sent]
            let began = statement.deadline - acquireNanoseconds
            configuration.measures.waits.record(nanoseconds: loop.now - began)
            if statement.retried { reader.submitAlone(statement) } else { reader.submit(statement) }
            sent += 1
        }
        if sent > 0 { waitingReads.removeFirst(sent) }
    }

    /// Calls once at the end of this cycle, before its reads are sent.
    func beforeSending(_ call: @escaping () -> Void) {
        gathering.append(call)
    }

    private func endCycle() {
        // What is refused at once may ask again.
        while let call = gathering.popLast() { call() }
        if !waitingReads.isEmpty { sendWaitingReads() }
        for reader in readers {
            reader.seal()
            reader.flush()
        }
    }

    // MARK: writers

    /// Sends a statement as a transaction of its own.
    func sendAlone(_ statement: Statement) {
        acquire { [self] connection in
            guard let connection else { return statement.complete(.failure(unavailable)) }
            connection.submitAlone(statement)
            // The next holder's statements queue behind this one.
            release(connection)
        }
    }

    /// Hands out a connection for its holder alone, or nil after the acquire timeout.
    func acquire(_ finish: @escaping (Connection?) -> Void) {
        guard !closed else { return finish(nil) }
        while let connection = idle.popLast() {
            if connection.isOpen { return finish(connection) }
        }
        guard waitingWriters.count < configuration.queueLimit else {
            configuration.measures.refusals.increment()
            return finish(nil)
        }
        waitingWriters.append(
            Waiter(since: loop.now, deadline: loop.now + acquireNanoseconds, finish: finish))
        startTick()
        openMissing()
    }

    /// Takes back a connection on which no transaction is open; closed ones are forgotten.
    func release(_ connection: Connection) {
        guard connection.isOpen else { return }
        if closed { return connection.close("closing") }
        if waitingWriters.isEmpty {
            idle.append(connection)
        } else {
            let waiter = waitingWriters.removeFirst()
            configuration.measures.waits.record(nanoseconds: loop.now - waiter.since)
            waiter.finish(connection)
        }
    }

    // MARK: opening

    private func openMissing() {
        guard !closed, retryTimer == nil else { return }
        if loop.now < nextAttempt {
            retryTimer = loop.after(nextAttempt - loop.now) { [weak self] in
                self?.retryTimer = nil
                self?.nextAttempt = 0
                self?.openMissing()
            }
            return
        }
        while readers.count + readersOpening < configuration.readsPerLoop {
            readersOpening += 1
            open(reader: true)
        }
        while writers.count + writersOpening < configuration.transactionsPerLoop,
            writersOpening < waitingWriters.count
        {
            writersOpening += 1
            open(reader: false)
        }
    }

    private func open(reader: Bool) {
        connector.connect(on: loop) { [weak self] result in
            self?.opened(result, reader: reader)
        }
    }

    private func opened(_ result: Result<Established, ConnectFailure>, reader: Bool) {
        if reader { readersOpening -= 1 } else { writersOpening -= 1 }
        guard !closed else { return }
        var cause = "out of memory"
        switch result {
        case .failure(let failure): cause = failure.cause
        case .success(let established):
            if let handle = established.take(),
                let connection = Connection(
                    handle: handle, loop: loop, statementLimit: configuration.statementLimit)
            {
                backoff.reset()
                adopt(connection, reader: reader)
                return openMissing()
            }
        }
        configuration.log("postgres.refused", cause)
        // Attempts made side by side fail together and count as one.
        if loop.now >= nextAttempt { nextAttempt = loop.now + backoff.next() }
        openMissing()
    }

    private func adopt(_ connection: Connection, reader: Bool) {
        connection.onCollateral = { [weak self] statement in
            self?.again(statement)
        }
        connection.onRepeat = { [weak self] statement in
            guard let self else { return statement.complete(.failure(PostgresError(.unavailable))) }
            sendAlone(statement)
        }
        connection.onLost = { [weak self, weak connection] cause in
            guard let self else { return }
            configuration.measures.connections.add(-1)
            readers.removeAll { $0 === connection }
            writers.removeAll { $0 === connection }
            idle.removeAll { $0 === connection }
            guard !closed else { return }
            configuration.log("postgres.lost", cause)
            openMissing()
        }
        configuration.measures.connections.add(1)
        startTick()
        if reader {
            readers.append(connection)
        } else {
            writers.append(connection)
            release(connection)
        }
    }

    private func again(_ statement: Statement) {
        guard !closed, waitingReads.count < configuration.queueLimit else {
            return statement.complete(.failure(unavailable))
        }
        if configuration.readsPerLoop == 0 { return sendAlone(statement) }
        statement.deadline = loop.now + acquireNanoseconds
        waitingReads.append(statement)
        startTick()
    }

    // MARK: deadlines

    private func startTick() {
        guard tick == nil, !closed else { return }
        tick = loop.after(50_000_000) { [weak self] in
            self?.tick = nil
            self?.sweep()
        }
    }

    /// Refuses what waited too long, and drops connections on which the server went silent.
    private func sweep() {
        let now = loop.now
        let late = waitingReads.filter { $0.deadline <= now }
        if !late.isEmpty {
            waitingReads.removeAll { $0.deadline <= now }
            configuration.measures.refusals.increment(by: late.count)
            for statement in late { statement.complete(.failure(unavailable)) }
        }
        while let first = waitingWriters.first, first.deadline <= now {
            waitingWriters.removeFirst()
            configuration.measures.refusals.increment()
            first.finish(nil)
        }
        // The server ends a statement by itself at its timeout; past it, nobody is there.
        let patience = Int64(configuration.statementTimeout + 1000) * 1_000_000
        if configuration.statementTimeout > 0 {
            for connection in readers + writers
            where !connection.isIdle && now - connection.lastProgress > patience {
                connection.close("no answer")
            }
        }
        let busy = (readers + writers).contains { !$0.isIdle }
        if busy || !waitingReads.isEmpty || !waitingWriters.isEmpty || !readers.isEmpty {
            startTick()
        }
    }

    func close() {
        guard !closed else { return }
        closed = true
        if let retryTimer { loop.cancel(retryTimer) }
        if let tick { loop.cancel(tick) }
        let reads = waitingReads
        let waiters = waitingWriters
        waitingReads = []
        waitingWriters = []
        for statement in reads { statement.complete(.failure(unavailable)) }
        for waiter in waiters { waiter.finish(nil) }
        for connection in readers + writers + companions { connection.close("closing") }
    }
}
