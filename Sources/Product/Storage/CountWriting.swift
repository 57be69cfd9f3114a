import Postgres
import Runtime
import Synchronization
import Text

/// Writes one kind of counts that this process holds in memory. Each tenant has at most one write
/// at a time. A caller waits for a write that is already running, so that the caller's next read
/// from the primary includes the counts of that write. During an outage of the database nothing is
/// written. A request waits for at most two writes.
package final class CountWriting: Sendable {
    /// The continuation of a waiting call; it receives whether the call should try to write now.
    private typealias Waiter = CheckedContinuation<Bool, Never>

    /// The maximum number of writes that a request waits for. Two are enough: the second write
    /// takes its counts after the request began.
    private static let waits = 2

    /// The tenants whose counts are being written now, each with the calls that wait for the end of
    /// the write.
    private let running = Mutex<[UUID: [Waiter]]>([:])

    /// The number of calls that wait for another call's write.
    package var waitingCount: Int {
        running.withLock { $0.values.reduce(0) { $0 + $1.count } }
    }

    /// Writes the counts of one tenant. If `tenant` is nil, writes those of every tenant in
    /// `pending` and of every tenant with a running write. `write` writes one batch of a tenant's
    /// counts and returns whether more are left. If it fails, it must put back the counts that may
    /// not be lost. Returns the first error that is not an outage.
    func write(
        of tenant: UUID?, among pending: @autoclosure () -> Set<UUID>,
        _ write: (UUID) async throws -> Bool
    ) async -> (any Error)? {
        var fault: (any Error)?
        for tenant in tenant.map({ [$0] }) ?? pending().union(running.withLock { $0.keys }) {
            var (isMore, isAway) = (true, false)
            // Stops at the request's deadline, since after it the counts could be taken, but not
            // written.
            while isMore, !isLate, await enter(tenant) {
                do {
                    isMore = isLate ? false : try await write(tenant)
                } catch {
                    isMore = false
                    let isUnavailable = (error as? PostgresError)?.isUnavailable ?? false
                    if !isUnavailable { fault = fault ?? error }
                    // A request whose deadline has passed gets no connection. That does not show an
                    // outage.
                    isAway = isUnavailable && !isLate
                }
                leave(tenant, isAway: isAway)
            }
            // Stops at an outage. Otherwise each of a thousand tenants would wait in vain for a
            // connection, and the stop of the service would wait for all of them.
            if isAway { return fault }
        }
        return fault
    }

    /// Like the other `write`, for counts that fit into one transaction. `taking` takes a tenant's
    /// counts, and `restoring` puts them back after a failure, so that the next call writes them.
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
                // If the result of COMMIT is unknown, the counts may be stored already and must not
                // be counted twice.
                if (error as? PostgresError)?.kind != .commitUnknown { restoring(batch, tenant) }
                throw error
            }
        }
    }

    private var isLate: Bool { Deadline.current?.isOver == true }

    /// Waits until no other call writes the tenant's counts. Returns false in two cases: a request
    /// has waited for two writes, or the awaited write found the database unavailable, so that a
    /// further try would be in vain.
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
    /// Runs `body` in a transaction that writes counts of one tenant. Does nothing if the tenant
    /// was purged.
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
