import Cryptography
import Domain
import Postgres
import Text

/// One tenant's rows: the only way to a store, so that a query cannot forget its tenant.
package struct TenantScope: Sendable {
    /// The nil UUID for the platform's own rows.
    package let tenant: UUID
    package let database: Database

    /// Runs one statement under the tenant's row-level security, in one round trip.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.app.tenantRead(tenant, sql)
    }

    /// Runs one writing statement without an audit row, such as for a counter or a mark of use.
    package func write(_ sql: SQL) async throws -> Rows {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description)]
        ) { try await $0.query(sql) }
    }

    /// The same for several statements, which are sent together.
    func write(_ statements: SQL...) async throws {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description)]
        ) { transaction in
            for sql in statements.dropLast() { transaction.queryLater(sql) }
            if let last = statements.last { try await transaction.query(last) }
        }
    }

    /// A transaction whose audit rows name the actor. It is rolled back if `body` throws. When it
    /// returns, no replica answers from a cache that is older than the change. Within a
    /// `HeldChange` the holder commits it. With `setsTenant: false` no tenant's rows are visible
    /// until the body switches to one. A dry run returns what `body` returned, and is rolled back.
    package func change<Result: Sendable>(
        by actor: Actor, setsTenant: Bool = true, dryRun: Bool = false,
        _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let held = HeldChange.current
        // If a request makes two changes, only the last one is held.
        try await held?.commit()
        let now = database.clock()
        var settings: [(StaticString, String)] = []
        if setsTenant { settings.append(("app.tenant", tenant.description)) }
        let open = OpenChange(
            transaction: try await database.app.begin(settings: settings),
            invalidations: Invalidations(database.replica))
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
