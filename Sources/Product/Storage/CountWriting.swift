import Postgres
import Runtime
import Synchronization
import Text

/// Writes the counts of one kind that this process holds in memory, one write at a time for each
/// tenant. A caller waits for the write that is running, so a read from the primary afterwards
/// includes what another call took shortly before. While the database is unavailable nothing is
/// written, and a request does not wait for a long backlog.
package final class CountWriting: Sendable {
    /// Is resumed with whether its call should try to write now.
    private typealias Waiter = CheckedContinuation<Bool, Never>

    /// The most writes that a request waits for: the second one took its counts after the request
    /// began.
    private static let waits = 2

    /// Contains a tenant while its counts are being written; the calls in the list wait for the
    /// end.
    private let running = Mutex<[UUID: [Waiter]]>([:])

    /// The number of calls that wait for another call's write.
    package var waitingCount: Int {
        running.withLock { $0.values.reduce(0) { $0 + $1.count } }
    }

    /// Writes the counts of one tenant, or of every tenant that has some: those in `pending`, and
    /// those that are being written. `write` takes the counts of one tenant, at most as many as one
    /// transaction writes, and returns true if more are left. If it fails, it restores what must
    /// not be lost. Returns the first error that is not an outage.
    func write(
        of tenant: UUID?, among pending: @autoclosure () -> Set<UUID>,
        _ write: (UUID) async throws -> Bool
    ) async -> (any Error)? {
        var fault: (any Error)?
        for tenant in tenant.map({ [$0] }) ?? pending().union(running.withLock { $0.keys }) {
            var (isMore, isAway) = (true, false)
            // Once the deadline is over, counts that were taken could not be written any more.
            while isMore, !isLate, await enter(tenant) {
                do {
                    isMore = isLate ? false : try await write(tenant)
                } catch {
                    isMore = false
                    let isUnavailable = (error as? PostgresError)?.isUnavailable ?? false
                    if !isUnavailable { fault = fault ?? error }
                    // After its deadline a request gets no connection, which does not show an
                    // outage.
                    isAway = isUnavailable && !isLate
                }
                leave(tenant, isAway: isAway)
            }
            // Otherwise each of a thousand tenants would wait for a connection in vain, and so
            // would the stop of the service.
            if isAway { return fault }
        }
        return fault
    }

    /// The same for counts that one transaction writes. What fails is retried the next time.
    func write<Batch>(
        of tenant: UUID?, among pending: @autoclosure () -> Set<UUID>, taking: (UUID) -> Batch,
        restoring: (Batch, UUID) -> Void, _ write: (Batch, UUID) async throws -> Void
    ) async -> (any Error)? {
        await self.write(of: tenant, among: pending()) { tenant in
            let batch = taking(tenant)
            do {
                try await write(batch, tenant)
                return false
            } catch {
                // What may have been written is not counted twice.
                if (error as? PostgresError)?.kind != .commitUnknown { restoring(batch, tenant) }
                throw error
            }
        }
    }

    private var isLate: Bool { Deadline.current?.isOver == true }

    /// Waits for the tenant's turn. Returns false if a request has waited often enough, or if
    /// another call found the database unavailable: calls wait for an outage once, not one after
    /// the other.
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

extension Database {
    /// A transaction that writes counts of one tenant; nothing once the tenant is purged.
    func writeCounts(
        of tenant: UUID, _ body: (Transaction) async throws -> Void
    ) async throws {
        try await app.tenantTransaction(tenant) { transaction in
            if tenant != .platform {
                let found = try await transaction.query(
                    "SELECT 1 FROM tenants WHERE id = \(tenant) FOR KEY SHARE")
                if found.isEmpty { return }
            }
            try await body(transaction)
        }
    }
}
