import Mail
import Networking
import Observability
import Synchronization

/// Sends what waits, every few seconds, on one loop.
final class MailRounds: Sendable {
    /// Nanoseconds.
    static let interval: Int64 = 2_000_000_000

    private let loop: EventLoop
    private let postman: Postman
    private let logger: Logger
    private let stopped = Atomic<Bool>(false)

    init(loop: EventLoop, postman: Postman, logger: Logger) {
        self.loop = loop
        self.postman = postman
        self.logger = logger
    }

    func start() { next() }
    func stop() { stopped.store(true, ordering: .relaxed) }

    private func next() {
        loop.perform { [self] in
            loop.after(Self.interval) { [weak self] in
                guard let self, !stopped.load(ordering: .relaxed) else { return }
                loop.spawn {
                    await self.round()
                    self.next()
                }
            }
        }
    }

    private func round() async {
        do {
            try await postman.round()
        } catch {
            // The letters are still there, so the next round finds them.
            logger.log(.warning, "mail is not looked after", [("fault", .text("\(error)"))])
        }
    }
}
