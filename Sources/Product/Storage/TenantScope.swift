import Cryptography
import Domain
import Postgres
import Text

/// Access to one tenant's rows. Stores can be reached only through it, so that no query forgets its
/// tenant.
package struct TenantScope: Sendable {
    /// The tenant's id; the nil UUID for the platform's own rows.
    package let tenant: UUID
    package let database: Database

    /// Runs one statement under the tenant's row-level security, in one round trip.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.app.tenantRead(tenant, sql)
    }

    /// Runs one statement that writes without an audit row, such as to a counter.
    package func write(_ sql: SQL) async throws -> Rows {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description)]
        ) { try await $0.query(sql) }
    }

    /// Runs several statements that write without an audit row, in one transaction. They are sent
    /// together.
    func write(_ statements: SQL...) async throws {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description)]
        ) { transaction in
            for sql in statements.dropLast() { transaction.queryLater(sql) }
            if let last = statements.last { try await transaction.query(last) }
        }
    }

    /// Runs `body` in a transaction whose audit rows name the actor; it is rolled back if `body`
    /// throws. When this returns, no replica answers from a cache that is older than the change.
    ///
    /// - Within a `HeldChange` the transaction stays open, and the holder commits it later.
    /// - With `setsTenant: false` no tenant's rows are visible until the body switches to one.
    /// - A dry run is rolled back, and still returns the result of `body`.
    package func change<Result: Sendable>(
        by actor: Actor, setsTenant: Bool = true, dryRun: Bool = false,
        _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let held = HeldChange.current
        // If a request makes several changes, only the last one is delayed; earlier ones are
        // committed here.
        try await held?.commit()
        let now = database.clock()
        var settings: [(StaticString, String)] = []
        if setsTenant { settings.append(("app.tenant", tenant.description)) }
        let open = OpenChange(
            transaction: try await database.app.begin(settings: settings),
            invalidations: InvalidationPublisher(database.replica))
        let result: Result
        do {
            result = try await body(
                Change(
                    database: database, tenant: tenant, actor: actor, now: now,
                    transaction: open.transaction.transaction, invalidations: open.invalidations))
            if !dryRun {
                try await open.invalidations.publish(in: open.transaction.transaction)
            }
        } catch {
            await open.rollback()
            throw error
        }
        if dryRun {
            await open.rollback()
        } else if let held {
            held.hold(open)
        } else {
            try await open.commit()
        }
        return result
    }
}
