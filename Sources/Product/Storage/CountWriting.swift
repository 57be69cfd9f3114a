import Postgres
import Runtime
import Synchronization
import Text

/// Writes what one kind of counter has gathered in memory, one writing at a time of each tenant: a
/// caller that reads from the primary afterwards also sees what another call took shortly before, since
/// it waited for it. While the database is away nothing is seen, and a request does not wait for a long
/// backlog.
package final class CountWriting: Sendable {
    /// Gets whether there is anything to try.
    private typealias Waiter = CheckedContinuation<Bool, Never>

    /// The most writings that a request waits for: the second one took its counts after the request had
    /// begun.
    private static let waits = 2

    /// A tenant is present while its counts are being written; the others wait for the end.
    private let running = Mutex<[UUID: [Waiter]]>([:])

    /// Calls that wait for another's writing.
    package var waitingCount: Int {
        running.withLock { $0.values.reduce(0) { $0 + $1.count } }
    }

    /// Writes those of one tenant, or of all that have some: `pending`, and those being written. `write`
    /// takes counts of a tenant, at most as many as one transaction writes, and gives back what it could
    /// not write and what is not to be lost; true if more are left. Returns the first fault that is no
    /// outage.
    func write(
        of tenant: UUID?, among pending: @autoclosure () -> Set<UUID>,
        _ write: (UUID) async throws -> Bool
    ) async -> (any Error)? {
        var fault: (any Error)?
        for tenant in tenant.map({ [$0] }) ?? pending().union(running.withLock { $0.keys }) {
            var (isMore, isAway) = (true, false)
            // What a late request takes it could not write.
            while isMore, !isLate, await enter(tenant) {
                do {
                    isMore = isLate ? false : try await write(tenant)
                } catch {
                    isMore = false
                    let isUnavailable = (error as? PostgresError)?.isUnavailable ?? false
                    if !isUnavailable { fault = fault ?? error }
                    // A late request finds no connection in the time that it has left.
                    isAway = isUnavailable && !isLate
                }
                leave(tenant, isAway: isAway)
            }
            // Each of a thousand tenants would wait for a connection in vain, and so would the service's
            // stop.
            if isAway { return fault }
        }
        return fault
    }

    private var isLate: Bool { Deadline.current?.isOver == true }

    /// Waits for the tenant's turn; false if a request has waited for enough, or if another call found
    /// the database away: an outage is waited for once, not by each call in turn.
    private func enter(_ tenant: UUID) async -> Bool {
        var waits = 0
        while waits < Self.waits || Deadline.current == nil {
            waits += 1
            let isFirst = running.withLock { running in
                if running[tenant] != nil { return false }
                running[tenant] = []
                return true
            }
            if isFirst { return true }
            let isWorthwhile = await withCheckedContinuation { waiter in
                let isOver = running.withLock { running in
                    running[tenant]?.append(waiter)
                    return running[tenant] == nil
                }
                if isOver { waiter.resume(returning: true) }
            }
            if !isWorthwhile { return false }
        }
        return false
    }

    private func leave(_ tenant: UUID, isAway: Bool) {
        let waiters = running.withLock { $0.removeValue(forKey: tenant) } ?? []
        for waiter in waiters { waiter.resume(returning: !isAway) }
    }
}
