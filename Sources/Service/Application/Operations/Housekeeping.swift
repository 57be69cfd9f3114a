import Networking
import Observability
import Storage
import Synchronization

/// Periodically removes expired rows; an advisory lock lets one replica do it. Writes the key uses
/// that this process has counted.
final class Housekeeping: Sendable {
    /// Nanoseconds between rounds, and from the start to the first.
    static let interval: Int64 = 600_000_000_000
    static let firstAfter: Int64 = 30_000_000_000
    /// Nanoseconds between two writes of key uses; a killed process loses at most these.
    static let keyUseInterval: Int64 = 10_000_000_000

    private let loop: EventLoop
    private let database: Database
    private let metrics: ServiceMetrics
    private let logger: Logger
    private let stopped = Atomic<Bool>(false)

    init(loop: EventLoop, database: Database, metrics: ServiceMetrics, logger: Logger) {
        self.loop = loop
        self.database = database
        self.metrics = metrics
        self.logger = logger
    }

    func start() {
        next(after: Self.firstAfter)
        nextKeyUses()
    }

    func stop() { stopped.store(true, ordering: .relaxed) }

    private func next(after time: Int64) {
        loop.perform { [self] in
            loop.after(time) { [weak self] in
                guard let self, !stopped.load(ordering: .relaxed) else { return }
                loop.spawn {
                    await self.round()
                    self.next(after: Self.interval)
                }
            }
        }
    }

    private func nextKeyUses() {
        loop.perform { [self] in
            loop.after(Self.keyUseInterval) { [weak self] in
                guard let self, !stopped.load(ordering: .relaxed) else { return }
                loop.spawn {
                    await self.database.writeKeyUses()
                    await self.database.writeSignIns()
                    // If the query fails, the gauge keeps its last value.
                    if let mails = try? await self.database.waitingMail() {
                        self.metrics.mailWaits(mails)
                    }
                    self.nextKeyUses()
                }
            }
        }
    }

    func round() async {
        do {
            let metrics = metrics
            if try await database.sweep(removed: { metrics.swept($0, $1) }) {
                metrics.sweepEnded(failed: false)
            }
        } catch {
            // The rows are still there, so the next round removes them.
            metrics.sweepEnded(failed: true)
            logger.log(.warning, "housekeeping failed", [("fault", .text("\(error)"))])
        }
    }
}
