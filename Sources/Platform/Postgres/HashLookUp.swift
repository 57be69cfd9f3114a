import Networking
import Synchronization
import Text

/// Finds rows by tenant and hash for many callers: the look-ups of one loop cycle become one
/// statement. With a statement for each, both sides spent most of the time describing the same
/// columns again.
package final class HashLookUp: Sendable {
    /// Receives the row, or nil if no row has the tenant and the hash; runs on the caller's loop if
    /// it has one.
    package typealias Finish = (Result<Row?, PostgresError>) -> Void

    /// The most that one statement asks for.
    package static let limit = 256

    let postgres: Postgres
    let text: String
    /// The same for one tenant, which the coordinator of several servers wants.
    let textOfTenant: String
    /// The same for the tenants of one shard, at its server.
    let textAtShard: String
    /// The same for any tenants, at the coordinator.
    let textOfAny: String
    /// One for each pool, in their order.
    private let batches: [Batches]

    /// Reads `columns` of the one row of `table` with the tenant and the `hash` (a `bytea` column,
    /// unique within the tenant). All three are trusted as SQL. `function`: of tenants and hashes,
    /// gives the columns and a `position` at the coordinator of a distributed database, where no
    /// statement names the tables of several tenants.
    package init(
        _ postgres: Postgres, columns: String, of table: String, by hash: String, function: String
    ) {
        self.postgres = postgres
        text = """
            SELECT found.*, asked.position
            FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS asked (tenant, hash, position)
            CROSS JOIN LATERAL (SELECT \(columns) FROM \(table)
                WHERE tenant_id = asked.tenant AND \(hash) = asked.hash LIMIT 1) AS found
            """
        textOfTenant = """
            SELECT \(columns), array_positions($2::bytea[], \(hash))::bigint[] FROM \(table)
            WHERE tenant_id = $1 AND \(hash) = ANY ($2)
            """
        textAtShard = "\(text) WHERE \(TenantShards.guardCondition("$3"))"
        textOfAny = "SELECT \(columns), position FROM \(function)($1::uuid[], $2::bytea[])"
        batches = postgres.pools.map { _ in Batches(postgres) }
    }

    /// Like `Postgres.read` with a callback: nil if there is no such row. Columns are those of
    /// `init`, counted from 0.
    package func find(
        _ tenant: UUID, _ hash: UnsafeRawBufferPointer, then finish: @escaping Finish
    ) {
        let index = postgres.index(forReads: true)
        let loop = postgres.pools[index].loop
        if loop.isCurrent { return add(tenant, hash, finish, at: index) }
        var answer = finish
        if let caller = EventLoop.current {
            let bound = LoopBound(finish, loop: caller)
            answer = { found in caller.perform { bound.value(found) } }
        }
        let question = Question(tenant: tenant, hash: [UInt8](hash), finish: answer)
        loop.perform { [self] in
            question.hash.withUnsafeBytes { add(question.tenant, $0, question.finish, at: index) }
        }
    }

    private func add(
        _ tenant: UUID, _ hash: UnsafeRawBufferPointer, _ finish: @escaping Finish, at index: Int
    ) {
        let pool = postgres.pools[index]
        var batch = batches[index].own
        if pool.isPlain.load(ordering: .relaxed) {
            batch.ofAll.add(tenant, hash, finish)
            if batch.ofAll.isFull { return sendAll(batch, pool) }
        } else if let location = postgres.location(of: tenant) {
            batch = batches[index].batch(of: location.server)
            let id = location.shards.id
            batch.ofShards[id, default: (location, Questions())].questions.add(tenant, hash, finish)
            if batch.ofShards[id]?.questions.isFull == true { sendShard(id, of: batch, pool) }
        } else {
            batch.ofTenants[tenant, default: Questions()].add(tenant, hash, finish)
            if batch.ofTenants[tenant]?.isFull == true { sendTenant(tenant, of: batch) }
        }
        schedule(batch, pool)
    }

    /// `@unchecked Sendable`: made by the caller, then handed to the loop and touched only there.
    private struct Question: @unchecked Sendable {
        let tenant: UUID
        let hash: [UInt8]
        let finish: Finish
    }
}
