import HTTP
import Synchronization
import Text

/// How much is exported at the most.
package struct ExportLimits: Sendable {
    /// Rows of one export; what is longer is cut off behind them.
    package var rows = 10_000_000
    /// Exports at once on this replica: each asks the database for a page as soon as the one before
    /// is sent.
    package var atOnce = 8
    /// Of these, one credential's.
    package var ofOneCaller = 2

    package init() {}
}

/// Counts the exports that are running.
final class ExportPlaces: Sendable {
    /// Held while an export runs, and given back when nothing holds it any more, however it ended.
    final class Place: Sendable {
        private let places: ExportPlaces
        private let caller: UUID?

        fileprivate init(_ places: ExportPlaces, _ caller: UUID?) {
            self.places = places
            self.caller = caller
        }

        deinit { places.free(caller) }
    }

    let limits: ExportLimits
    private let running = Mutex<[UUID?: Int]>([:])

    init(_ limits: ExportLimits) { self.limits = limits }

    /// 429 for who has enough of them, 503 when the replica has.
    func take(for caller: UUID?) throws(Problem) -> Place {
        let refusal: Problem? = running.withLock { running in
            guard running[caller] ?? 0 < limits.ofOneCaller else {
                return .rateLimited(
                    "\(limits.ofOneCaller) exports of yours are running; wait for one to end.",
                    retryAfter: Self.retryAfter)
            }
            guard running.values.reduce(0, +) < limits.atOnce else {
                return Problem(
                    .unavailable, "Too many exports are running; try again.",
                    fields: [Field("retry-after", "\(Self.retryAfter)")])
            }
            running[caller, default: 0] += 1
            return nil
        }
        if let refusal { throw refusal }
        return Place(self, caller)
    }

    private static let retryAfter: Int64 = 5

    private func free(_ caller: UUID?) {
        running.withLock { running in
            let left = (running[caller] ?? 1) - 1
            running[caller] = left > 0 ? left : nil
        }
    }
}
