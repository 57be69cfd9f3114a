import API
import Runtime
import Storage
import Synchronization

/// Runs a task periodically on one event loop. The interval is counted from the end of the previous
/// run.
final class PeriodicTask: Sendable {
    private let loop: EventLoop
    /// The seconds between the end of one run and the beginning of the next.
    private let interval: Int64
    private let first: Int64
    private let name: StaticString
    private let logger: Logger
    private let work: @Sendable () async throws -> Void
    private let stopped = Atomic<Bool>(false)
    private let outage = RepeatedFailure()
    /// Returns whether a failure is already logged elsewhere.
    private let isTold: @Sendable (any Error) -> Bool

    /// Creates the task. `name` is the event that is logged when a run fails. A failure does not
    /// change the time of the next run. `isTold` returns whether a failure is already logged
    /// elsewhere.
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
            .notice, "task.recovered",
            [
                ("task", .text(name.description)), ("seconds", .int(news.seconds)),
                ("failures", .int(news.failures)),
            ])
    }
}

/// The regular housekeeping of a process. It removes expired rows (an advisory lock lets one
/// replica at a time do so), writes the key uses and sign-in times that this process has counted,
/// and returns its unused memory to the system.
struct Housekeeping: Sendable {
    /// Seconds between two writes of the counts. A process that is killed loses only the counts
    /// since its last write.
    static let writeInterval: Int64 = 10

    let database: Database
    let metrics: ServiceMetrics

    func sweep() async throws {
        // After the start of the process, and after each burst of requests, freed memory remains
        // between cached objects. The allocator does not return it by itself, so return it here.
        Memory.trim()
        do {
            if try await database.sweep(removed: { metrics.swept($0, $1) }) {
                metrics.sweepEnded(failed: false)
            }
        } catch {
            metrics.sweepEnded(failed: true)
            throw error
        }
    }

    /// Adds users to the index of an attribute if the users are older than the index.
    func index() async throws { try await database.indexAttributes() }

    /// Writes the counts of this process, and measures how many mails wait. Then throws the first
    /// fault, if there is one; an outage of the database is not thrown.
    func write() async throws {
        let fault = await database.writeCounted()
        // If the mails cannot be counted, the metric keeps its last value.
        if let mails = try? await database.waitingMail() { metrics.mailWaits(mails) }
        if let fault { throw fault }
    }
}
