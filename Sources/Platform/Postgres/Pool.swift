import Runtime
import Synchronization

/// The connections of one login role on one loop.
///
/// `@unchecked Sendable`: used only on its loop's thread, except for the atomics. Other threads
/// must use `perform`.
final class Pool: @unchecked Sendable {
    let loop: EventLoop
    let configuration: PostgresConfiguration
    let connector: Connector
    var readers: [PostgresConnection] = []
    var readersOpening = 0
    var waitingReads: [Statement] = []
    private var gathering: [() -> Void] = []
    var idle: [PostgresConnection] = []
    var writers: [PostgresConnection] = []
    var writersOpening = 0
    /// Write connections that the pool no longer hands out. Each of them closes once its pending
    /// statements are answered.
    var leaving: [PostgresConnection] = []
    var waitingWriters: [Waiter] = []
    var backoff = Backoff()
    /// The loop time before which no connection is opened.
    var nextAttempt: Int64 = 0
    var retryTimer: TimerID?
    var tick: TimerID?
    /// The loop time before which no further connection for reads is opened.
    var nextGrowth: Int64 = 0
    private(set) var closed = false
    /// Connections that the pool does not use itself, such as a listener's, but closes when it is
    /// closed.
    var companions: [PostgresConnection] = []
    /// The number of open connections for reads. Other loops check it to find a pool that can serve
    /// their reads.
    let openReaders = Atomic<Int>(0)
    let openWriters = Atomic<Int>(0)
    /// Whether the last connection was to a database that is not distributed; false before the
    /// first connection.
    let isPlain = Atomic<Bool>(false)
    /// Whether the last attempt to connect failed.
    let isRefused = Atomic<Bool>(false)

    struct Waiter {
        var since: Int64
        var deadline: Int64
        var finish: (PostgresConnection?) -> Void
    }

    init(configuration: PostgresConfiguration, loop: EventLoop) {
        self.configuration = configuration
        self.loop = loop
        connector = Connector(configuration: configuration)
    }

    func start() {
        loop.atCycleEnd { [weak self] in
            self?.endCycle()
            return self != nil
        }
        openMissing()
    }

    var unavailable: PostgresError {
        PostgresError(.unavailable, closed ? "closed" : "no connection in time")
    }

    private var acquireNanoseconds: Int64 { Int64(configuration.acquireTimeout) * 1_000_000 }

    /// Whether the pool has no open connection for reads (or, without `ofReaders`, for writes), and
    /// its last attempt to connect failed.
    func isStarved(ofReaders: Bool) -> Bool {
        guard isRefused.load(ordering: .relaxed) else { return false }
        return ofReaders
            ? openReaders.load(ordering: .relaxed) == 0
            : openWriters.load(ordering: .relaxed) == 0
    }

    func read(_ statement: Statement) {
        guard !closed else { return statement.complete(.failure(unavailable)) }
        statement.began = loop.now
        statement.deadline = min(loop.now + acquireNanoseconds, statement.latest)
        guard waitingReads.count < configuration.queueLimit else {
            configuration.measures.refusals.increment()
            return statement.complete(.failure(PostgresError(.unavailable, "queue full")))
        }
        // A pool without connections for reads sends them over its connections for writes.
        if configuration.readsPerLoop == 0 { return sendAlone(statement) }
        if waitingReads.isEmpty, let least = leastLoaded() {
            if least.inFlight >= configuration.growsAt { growReaders() }
            least.submit(statement)
        } else {
            waitingReads.append(statement)
            startTick()
            if readers.isEmpty { openMissing() }
        }
    }

    func leastLoaded() -> PostgresConnection? {
        var best: PostgresConnection?
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
            configuration.measures.waits.record(nanoseconds: loop.now - statement.began)
            if statement.retried { reader.submitAlone(statement) } else { reader.submit(statement) }
            sent += 1
        }
        if sent > 0 { waitingReads.removeFirst(sent) }
    }

    /// Calls `call` once at the end of this cycle, before the cycle's reads are sent.
    func beforeSending(_ call: @escaping () -> Void) { gathering.append(call) }

    private func endCycle() {
        // Take the calls one by one, because a caller whose look-up is refused may register another
        // call at once.
        while let call = gathering.popLast() { call() }
        if !waitingReads.isEmpty { sendWaitingReads() }
        for reader in readers {
            reader.seal()
            reader.flush()
        }
    }

    /// Sends a read a second time, on another connection.
    func again(_ statement: Statement) {
        guard !closed, waitingReads.count < configuration.queueLimit, loop.now < statement.latest
        else { return statement.complete(.failure(unavailable)) }
        if configuration.readsPerLoop == 0 { return sendAlone(statement) }
        statement.began = loop.now
        statement.deadline = min(loop.now + acquireNanoseconds, statement.latest)
        waitingReads.append(statement)
        startTick()
        if readers.isEmpty { openMissing() }
    }

    /// Sends a statement over a connection for writes, as a transaction of its own.
    func sendAlone(_ statement: Statement) {
        acquire(until: statement.latest) { [self] connection in
            guard let connection else { return statement.complete(.failure(unavailable)) }
            connection.submitCommitting(statement)
            // Release the connection before the answer arrives: the statements of its next user are
            // queued behind this statement.
            release(connection)
        }
    }

    /// Calls `finish` with a connection for exclusive use. Calls it with `nil` if the pool is
    /// closed, if the queue is full, or if no connection becomes free before the acquire timeout or
    /// the loop time `latest`, whichever is earlier.
    func acquire(until latest: Int64, _ finish: @escaping (PostgresConnection?) -> Void) {
        guard !closed else { return finish(nil) }
        while let connection = idle.popLast() {
            if connection.isOpen { return finish(connection) }
        }
        guard waitingWriters.count < configuration.queueLimit else {
            configuration.measures.refusals.increment()
            return finish(nil)
        }
        waitingWriters.append(
            Waiter(
                since: loop.now, deadline: min(loop.now + acquireNanoseconds, latest),
                finish: finish))
        startTick()
        openMissing()
    }

    /// Takes back a connection that has no open transaction. A closed connection is ignored.
    func release(_ connection: PostgresConnection) {
        guard connection.isOpen else { return }
        if closed { return connection.close("closing") }
        if writers.count > 1, leaving.isEmpty, shouldGiveBack(isIdle: waitingWriters.isEmpty) {
            return leaving.append(connection)
        }
        if waitingWriters.isEmpty {
            idle.append(connection)
        } else {
            let waiter = waitingWriters.removeFirst()
            configuration.measures.waits.record(nanoseconds: loop.now - waiter.since)
            waiter.finish(connection)
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

/// Opens the connections that a pool needs, and closes the others.
extension Pool {
    static let idleCause = "idle"
    /// The least time between two attempts to open a further reader, in nanoseconds.
    private static let growthPause: Int64 = 100_000_000

    /// How many connections are borrowed from the budget: all except the first connection for reads
    /// and the first for writes.
    private var borrowed: Int {
        max(0, readers.count + readersOpening - 1) + max(0, writers.count + writersOpening - 1)
    }

    func shouldGiveBack(isIdle: Bool) -> Bool {
        configuration.budget?.shouldGiveBack(self, borrowed: borrowed, isIdle: isIdle) ?? false
    }

    func openMissing() {
        guard !closed, retryTimer == nil else { return }
        if loop.now < nextAttempt {
            retryTimer = loop.after(nextAttempt - loop.now) { [weak self] in
                self?.retryTimer = nil
                self?.nextAttempt = 0
                self?.openMissing()
            }
            return
        }
        let wanted = max(configuration.readsAtRest, waitingReads.isEmpty ? 0 : 1)
        while readers.count + readersOpening < min(wanted, configuration.readsPerLoop) {
            guard readers.count + readersOpening == 0 || borrow() else { break }
            readersOpening += 1
            open(reader: true)
        }
        while writers.count + writersOpening < configuration.transactionsPerLoop,
            writersOpening < waitingWriters.count
        {
            guard writers.count + writersOpening == 0 || borrow() else { return wish() }
            writersOpening += 1
            open(reader: false)
        }
    }

    /// Opens another connection for reads, because all of them are busy. Does so only if the budget
    /// then still has a connection that can be lent for writes.
    func growReaders() {
        guard loop.now >= nextGrowth, loop.now >= nextAttempt, readersOpening == 0, !closed,
            readers.count < configuration.readsPerLoop
        else { return }
        nextGrowth = loop.now + Self.growthPause
        guard borrow(leaving: 1) else { return }
        readersOpening += 1
        open(reader: true)
    }

    private func borrow(leaving rest: Int = 0) -> Bool {
        configuration.budget?.borrow(leaving: rest) ?? true
    }

    private func wish() {
        configuration.budget?.wish(for: self, borrowed: borrowed) { [weak self] in
            guard let self else { return }
            loop.perform { self.openMissing() }
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
                let connection = PostgresConnection(
                    handle: handle, loop: loop, configuration: configuration,
                    isDistributed: established.isDistributed)
            {
                backoff.reset()
                isPlain.store(!established.isDistributed, ordering: .relaxed)
                isRefused.store(false, ordering: .relaxed)
                adopt(connection, reader: reader)
                return openMissing()
            }
        }
        isRefused.store(true, ordering: .relaxed)
        gaveUp(reader: reader)
        configuration.outages.lost("postgres.refused", cause, self)
        // Attempts in parallel that fail together count as one failure.
        if loop.now >= nextAttempt { nextAttempt = loop.now + backoff.next() }
        openMissing()
    }

    private func adopt(_ connection: PostgresConnection, reader: Bool) {
        connection.onCollateral = { [weak self] statement in
            self?.again(statement)
        }
        connection.onRepeat = { [weak self] statement in
            guard let self else { return statement.complete(.failure(PostgresError(.unavailable))) }
            sendAlone(statement)
        }
        connection.onFault = { [weak self] error in
            if let self { configuration.outages.report(error, self) }
        }
        connection.onLost = { [weak self, weak connection] cause in
            guard let self else { return }
            configuration.measures.connections.add(-1)
            if reader {
                readers.removeAll { $0 === connection }
                openReaders.subtract(1, ordering: .relaxed)
            } else {
                writers.removeAll { $0 === connection }
                openWriters.subtract(1, ordering: .relaxed)
            }
            idle.removeAll { $0 === connection }
            leaving.removeAll { $0 === connection }
            gaveUp(reader: reader)
            guard !closed else { return }
            if cause != Self.idleCause {
                configuration.outages.lost("postgres.lost", cause, self)
            }
            openMissing()
        }
        configuration.measures.connections.add(1)
        startTick()
        if reader {
            readers.append(connection)
            openReaders.add(1, ordering: .relaxed)
        } else {
            writers.append(connection)
            openWriters.add(1, ordering: .relaxed)
            release(connection)
        }
    }

    /// Called after a connection has closed. If the connection was borrowed from the budget, gives
    /// it back.
    private func gaveUp(reader: Bool) {
        let left = reader ? readers.count + readersOpening : writers.count + writersOpening
        if left > 0 { configuration.budget?.giveBack() }
    }

    /// Closes a connection that has no statement in progress.
    func retire(_ connection: PostgresConnection) { connection.close(Self.idleCause) }

    /// Closes connections that have been idle for a while. If another pool waits for a connection,
    /// idle ones are closed at once.
    func closeIdle(_ now: Int64) {
        let patience = Int64(configuration.idleTimeout) * 1_000_000
        for reader in readers
        where reader.isIdle && readers.count > configuration.readsAtRest && waitingReads.isEmpty {
            let isOld = now - reader.lastProgress > patience
            if isOld || (readers.count > 1 && shouldGiveBack(isIdle: true)) { retire(reader) }
        }
        for writer in leaving where writer.isIdle { retire(writer) }
        for writer in idle where writer.isIdle {
            let isOld = now - writer.lastProgress > patience
            if isOld || (writers.count > 1 && shouldGiveBack(isIdle: true)) { retire(writer) }
        }
    }
}

/// Enforces the pool's time limits, every 50 ms.
extension Pool {
    func startTick() {
        guard tick == nil, !closed else { return }
        tick = loop.after(50_000_000) { [weak self] in
            self?.tick = nil
            self?.sweep()
        }
    }

    /// Fails statements that have waited too long, and closes connections whose server has gone
    /// silent.
    private func sweep() {
        let now = loop.now
        let late = waitingReads.filter { $0.deadline <= now }
        if !late.isEmpty {
            waitingReads.removeAll { $0.deadline <= now }
            configuration.measures.refusals.increment(by: late.count)
            for statement in late { statement.complete(.failure(unavailable)) }
        }
        // Requests have different time limits, so the first in the queue is not always the first to
        // expire.
        let gone = waitingWriters.filter { $0.deadline <= now }
        if !gone.isEmpty {
            waitingWriters.removeAll { $0.deadline <= now }
            configuration.measures.refusals.increment(by: gone.count)
            for waiter in gone { waiter.finish(nil) }
        }
        // The server cancels a statement after its timeout, so a server that is silent for longer
        // is gone.
        let patience = Int64(configuration.statementTimeout + configuration.silence) * 1_000_000
        if configuration.statementTimeout > 0 {
            for connection in readers + writers
            where !connection.isIdle && now - connection.lastProgress > patience {
                connection.close("no answer")
            }
        }
        closeIdle(now)
        if readers.contains(where: \.isOpen) || writers.contains(where: \.isOpen) {
            configuration.outages.worked(self)
        }
        let isIdle = readers.isEmpty && writers.isEmpty
        if !isIdle || !waitingReads.isEmpty || !waitingWriters.isEmpty { startTick() }
    }
}
