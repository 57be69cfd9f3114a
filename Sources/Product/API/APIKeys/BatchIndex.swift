import Domain
import Synchronization
import Text

/// How many batches of look-ups one caller may have under way in this process: what one asks for
/// must not take the places of all others at the database.
package final class BatchIndex: Sendable {
    /// Batches of one caller at once; each keeps `Database.lookUpsAtOnce` look-ups under way.
    package static let atOnce = 8

    private let underWay = Mutex<[UUID: Int]>([:])

    package init() {}

    /// Throws 429 where the caller has all its places taken. Without look-ups (`isFree`) none is.
    package func one<Result>(
        of caller: Principal, _ isFree: Bool, _ body: () async throws -> Result
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
