import Networking
import Observability
import Synchronization

/// Runs a task periodically on one loop: the interval starts when the previous run ends.
final class PeriodicTask: Sendable {
    private let loop: EventLoop
    /// Seconds between the end of one round and the next, and before the first.
    private let interval: Int64
    private let first: Int64
    private let name: StaticString
    private let logger: Logger
    private let work: @Sendable () async throws -> Void
    private let stopped = Atomic<Bool>(false)

    /// `name`: the log line of a failed run; the next round tries again.
    init(
        _ name: StaticString, every seconds: Int64, first: Int64? = nil, on loop: EventLoop,
        logger: Logger, _ work: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        interval = seconds
        self.first = first ?? seconds
        self.loop = loop
        self.logger = logger
        self.work = work
    }

    func start() { next(after: first) }
    func stop() { stopped.store(true, ordering: .relaxed) }

    private func next(after seconds: Int64) {
        loop.perform { [self] in
            loop.after(seconds * 1_000_000_000) { [weak self] in
                guard let self, !stopped.load(ordering: .relaxed) else { return }
                loop.spawn {
                    do { try await self.work() } catch {
                        self.logger.log(.warning, self.name, [("fault", .text("\(error)"))])
                    }
                    self.next(after: self.interval)
                }
            }
        }
    }
}
