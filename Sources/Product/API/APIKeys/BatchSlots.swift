import Synchronization
import Text

/// Limits the concurrent batches of look-ups of each caller in this process, so that one caller
/// cannot occupy the database alone.
package final class BatchSlots: Sendable {
    /// Concurrent batches of one caller; each has `Database.lookUpsAtOnce` concurrent look-ups.
    package static let atOnce = 8

    private let underWay = Mutex<[UUID: Int]>([:])

    package init() {}

    /// Throws 429 at the caller's limit. Calls without look-ups (`isFree`) are not counted.
    package func one<Result>(
        of caller: CallerPrincipal, _ isFree: Bool, _ body: () async throws -> Result
    ) async throws -> Result {
        guard !isFree, let id = caller.id else { return try await body() }
        let isIn = underWay.withLock { counts in
            let count = counts[id, default: 0]
            guard count < Self.atOnce else { return false }
            counts[id] = count + 1
            return true
        }
        guard isIn else {
            throw Problem.rateLimited(
                "\(Self.atOnce) batches of this credential are under way; send fewer at once.",
                retryAfter: 1)
        }
        defer {
            underWay.withLock { counts in
                let left = (counts[id] ?? 1) - 1
                counts[id] = left > 0 ? left : nil
            }
        }
        return try await body()
    }
}
