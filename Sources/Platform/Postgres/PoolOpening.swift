import Networking
import Observability
import Synchronization

/// Opens a pool's connections, and closes those that it does not need.
extension Pool {
    static let idleCause = "idle"
    /// Nanoseconds between two attempts to open a further reader.
    private static let growthPause: Int64 = 100_000_000

    /// Beyond its first reader and its first writer a pool borrows.
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

    /// Every reader is busy: opens one more if the budget allows it and writers still find one.
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
        // Parallel attempts fail together and count as one.
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

    /// A connection was closed: returns what was borrowed for it.
    private func gaveUp(reader: Bool) {
        let left = reader ? readers.count + readersOpening : writers.count + writersOpening
        if left > 0 { configuration.budget?.giveBack() }
    }

    /// Closes a connection that has nothing in flight.
    func retire(_ connection: PostgresConnection) { connection.close(Self.idleCause) }

    /// Closes connections that were idle for a while, and at once those that another pool waits
    /// for.
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
