import Runtime
import Synchronization
import Text

/// Finds rows by tenant and hash for many callers: the look-ups of one loop cycle become one
/// statement. With one statement for each, both sides would spend most of the time describing the
/// same columns again.
package final class HashLookUp: Sendable {
    /// Receives the row, or nil if no row has the tenant and the hash; runs on the caller's loop if
    /// it has one.
    package typealias Finish = (Result<Row?, PostgresError>) -> Void

    /// The most look-ups in one statement.
    package static let limit = 256

    private let postgres: Postgres
    private let text: String
    /// The statement for one tenant, for a database of several servers, where no statement finds
    /// rows of several tenants by a key.
    private let textOfTenant: String
    /// One for each pool, in the order of the pools.
    private let batches: [Batch]

    /// Reads `columns` of the one row of `table` with the tenant and the `hash` (a `bytea` column,
    /// unique within the tenant). All three are trusted as SQL.
    package init(_ postgres: Postgres, columns: String, of table: String, by hash: String) {
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
        batches = postgres.pools.map { _ in Batch() }
    }

    /// Like `Postgres.read` with a callback: the result is `nil` if there is no such row. The
    /// columns are those of `init`, counted from 0.
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
        let batch = batches[index]
        if pool.isPlain.load(ordering: .relaxed) {
            batch.ofAll.add(tenant, hash, finish)
            if batch.ofAll.isFull { return sendAll(batch, pool) }
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

/// The look-ups that wait to be sent.
extension HashLookUp {
    private struct Questions {
        var tenants = BoundArray(of: TypeOID.uuid, in: TypeOID.uuidArray)
        var hashes = BoundArray(of: TypeOID.bytea, in: TypeOID.byteaArray)
        var finishes: [Finish] = []

        var isFull: Bool { finishes.count >= HashLookUp.limit }

        mutating func add(
            _ tenant: UUID, _ hash: UnsafeRawBufferPointer, _ finish: @escaping Finish
        ) {
            tenants.append(tenant)
            hashes.append(hash)
            finishes.append(finish)
        }
    }

    /// Those of one pool. `@unchecked Sendable`: touched on its loop only.
    private final class Batch: @unchecked Sendable {
        var ofAll = Questions()
        var ofTenants: [UUID: Questions] = [:]
        /// Whether it will be sent at the end of this cycle.
        var isAwaited = false
        /// Statements for any tenants that the server has not answered. While there are any, new
        /// look-ups gather.
        var inFlight = 0
    }
}

/// Decides when questions become statements, and hands out the answers.
extension HashLookUp {
    /// While the server works on a statement, the next look-ups gather. Each loop asks it over one
    /// connection, so they would have to wait there; as one statement they cost the server half as
    /// much. The price is that a look-up to a distant server may only begin when another comes
    /// back. Nothing gathers for a server that is away.
    private func schedule(_ batch: Batch, _ pool: Pool) {
        let isWaiting =
            batch.inFlight > 0 && pool.openReaders.load(ordering: .relaxed) > 0
            || batch.ofAll.finishes.isEmpty
        guard !batch.isAwaited, !isWaiting || !batch.ofTenants.isEmpty else { return }
        batch.isAwaited = true
        pool.beforeSending { [self] in
            batch.isAwaited = false
            sendAll(batch, pool)
            for tenant in Array(batch.ofTenants.keys) { sendTenant(tenant, of: batch) }
        }
    }

    private func sendAll(_ batch: Batch, _ pool: Pool) {
        // They were sent already, at the limit.
        guard !batch.ofAll.finishes.isEmpty else { return }
        // A refusal comes at once, and a refused caller may ask again.
        let questions = batch.ofAll
        batch.ofAll = Questions()
        var sql = SQL(raw: text)
        sql.bindUnmarked(questions.tenants)
        sql.bindUnmarked(questions.hashes)
        batch.inFlight += 1
        postgres.read(sql) { [self] answer in
            batch.inFlight -= 1
            finish(questions.finishes, answer) { row, last throws(PostgresError) in
                [try row.get(last)]
            }
            schedule(batch, pool)
        }
    }

    private func sendTenant(_ tenant: UUID, of batch: Batch) {
        guard let questions = batch.ofTenants.removeValue(forKey: tenant) else { return }
        var sql = SQL(raw: textOfTenant)
        sql.bindUnmarked(tenant)
        sql.bindUnmarked(questions.hashes)
        postgres.read(of: tenant, sql) { [self] answer in
            finish(questions.finishes, answer) { row, last throws(PostgresError) in
                try row.get(last, as: [Int64].self)
            }
        }
    }

    /// `numbers` reads from a row's last column which questions the row answers, counted from 1.
    private func finish(
        _ finishes: [Finish], _ answer: Result<Rows, PostgresError>,
        numbers: (Row, Int) throws(PostgresError) -> [Int64]
    ) {
        do throws(PostgresError) {
            // The rows arrive in any order, and missing rows are left out.
            var found = [Row?](repeating: nil, count: finishes.count)
            for row in try answer.get() {
                for number in try numbers(row, row.columnCount - 1) {
                    guard found.indices.contains(Int(number) - 1) else {
                        throw row.undecodable(row.columnCount - 1)
                    }
                    found[Int(number) - 1] = row
                }
            }
            for (finish, row) in zip(finishes, found) { finish(.success(row)) }
        } catch {
            for finish in finishes { finish(.failure(error)) }
        }
    }
}
