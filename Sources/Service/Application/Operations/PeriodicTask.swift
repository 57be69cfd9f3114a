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
    private let outage = RepeatedFailure()
    /// Whether a failure is logged elsewhere.
    private let isTold: @Sendable (any Error) -> Bool

    /// `name`: the log line of a failed run; the next round tries again. `isTold`: whether a failure is
    /// another's, which logs it.
    init(
        _ name: StaticString, every seconds: Int64, first: Int64? = nil, on loop: EventLoop,
        logger: Logger, isTold: @escaping @Sendable (any Error) -> Bool = { _ in false },
        _ work: @escaping @Sendable () async throws -> Void
    ) {
        self.isTold = isTold
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
                    do {
                        try await self.work()
                        self.worked()
                    } catch {
                        self.failed(error)
                    }
                    self.next(after: self.interval)
                }
            }
        }
    }

    private func failed(_ error: any Error) {
        guard !isTold(error), let news = outage.failed(at: loop.now) else { return }
        logger.log(.warning, name, [("fault", .text("\(error)\(news.suffix)"))])
    }

    private func worked() {
        guard let news = outage.worked(at: loop.now) else { return }
        logger.log(
            .notice, "works again",
            [
                ("task", .text(name.description)), ("seconds", .int(news.seconds)),
                ("failures", .int(news.failures)),
            ])
    }
}
