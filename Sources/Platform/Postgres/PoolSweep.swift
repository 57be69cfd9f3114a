import Networking
import Observability

/// The pool's deadlines, checked every 50 ms.
extension Pool {
    func startTick() {
        guard tick == nil, !closed else { return }
        tick = loop.after(50_000_000) { [weak self] in
            self?.tick = nil
            self?.sweep()
        }
    }

    /// Fails what waited too long, and closes connections whose server is silent.
    private func sweep() {
        let now = loop.now
        let late = waitingReads.filter { $0.deadline <= now }
        if !late.isEmpty {
            waitingReads.removeAll { $0.deadline <= now }
            configuration.measures.refusals.increment(by: late.count)
            for statement in late { statement.complete(.failure(unavailable)) }
        }
        // Requests have different time limits, so the first in the queue need not be due first.
        let gone = waitingWriters.filter { $0.deadline <= now }
        if !gone.isEmpty {
            waitingWriters.removeAll { $0.deadline <= now }
            configuration.measures.refusals.increment(by: gone.count)
            for waiter in gone { waiter.finish(nil) }
        }
        // The server ends a statement at its timeout; silence beyond it means that the server is
        // gone.
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
