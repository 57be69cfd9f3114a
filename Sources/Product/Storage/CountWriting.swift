import Postgres
import Synchronization
import Text

/// Writes what one kind of counter has gathered in memory, one writing at a time of each tenant: a
/// caller that reads afterwards also sees what another call took shortly before, since it waited for it.
package final class CountWriting: Sendable {
    private typealias Waiter = CheckedContinuation<Bool, Never>

    /// A tenant is present while its counts are being written; the others wait for the end.
    private let running = Mutex<[UUID: [Waiter]]>([:])

    /// Calls that wait for another's writing.
    package var waitingCount: Int {
        running.withLock { $0.values.reduce(0) { $0 + $1.count } }
    }

    /// Writes those of one tenant, or of all that have some: `among`, and those being written. `write`
    /// takes the counts of a tenant, and gives back what it could not write and what is not to be
    /// lost. Returns the first fault that is no outage.
    func write(
        of tenant: UUID?, among pending: @autoclosure () -> Set<UUID>,
        _ write: (UUID) async throws -> Void
    ) async -> (any Error)? {
        var fault: (any Error)?
        for tenant in tenant.map({ [$0] }) ?? pending().union(running.withLock { $0.keys }) {
            // What another call failed to write is written the next time.
            guard await enter(tenant) else { continue }
            do {
                try await write(tenant)
                leave(tenant, isWritten: true)
            } catch {
                leave(tenant, isWritten: false)
                // Each of a thousand tenants would wait for a connection in vain, and so would the
                // service's stop.
                if (error as? PostgresError)?.isUnavailable ?? false { return fault }
                fault = fault ?? error
            }
        }
        return fault
    }

    /// Waits for the tenant's turn; false if another's writing failed meanwhile: then an outage is
    /// waited for once, and not by each in turn.
    private func enter(_ tenant: UUID) async -> Bool {
        while true {
            let isFirst = running.withLock { running in
                if running[tenant] != nil { return false }
                running[tenant] = []
                return true
            }
            if isFirst { return true }
            let isWritten = await withCheckedContinuation { waiter in
                let isOver = running.withLock { running in
                    running[tenant]?.append(waiter)
                    return running[tenant] == nil
                }
                if isOver { waiter.resume(returning: true) }
            }
            if !isWritten { return false }
        }
    }

    private func leave(_ tenant: UUID, isWritten: Bool) {
        let waiters = running.withLock { $0.removeValue(forKey: tenant) } ?? []
        for waiter in waiters { waiter.resume(returning: isWritten) }
    }
}
