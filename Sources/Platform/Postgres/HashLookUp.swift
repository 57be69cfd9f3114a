import Runtime
import Synchronization
import Text

/// Finds rows by tenant and hash for many callers. The look-ups of one loop cycle are combined into
/// one statement: with a statement for each, client and server would spend most of their time
/// describing the same columns again.
package final class HashLookUp: Sendable {
    /// Receives the row, or `nil` if no row has the tenant and the hash. It runs on the caller's
    /// loop if the caller is on one.
    package typealias Finish = (Result<Row?, PostgresError>) -> Void

    /// The most look-ups that are combined into one statement.
    static let limit = 256

    private let postgres: Postgres
    private let text: String
    /// The statement for a single tenant, used if the database spreads tenants over several
    /// servers: there, no statement can find rows of several tenants by key.
    private let textOfTenant: String
    /// The collected look-ups of each pool, in the order of the pools.
    private let batches: [Batch]

    /// Makes a look-up in `table`, which reads `columns` of the row with a given tenant and a given
    /// value in the column `hash`. That column is a `bytea` and unique within the tenant. All three
    /// texts are trusted as SQL.
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

    /// Finds one row and calls `finish` as `Postgres.read` does. The row has the `columns` that
    /// were passed to `init`, counted from 0.
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

    /// One look-up. `@unchecked Sendable`: the caller makes it and then passes it to the loop,
    /// which alone uses it.
    private struct Question: @unchecked Sendable {
        let tenant: UUID
        let hash: [UInt8]
        let finish: Finish
    }
}

/// Collects the look-ups that are to be sent.
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

    /// The look-ups of one pool. `@unchecked Sendable`: used only on the pool's loop.
    private final class Batch: @unchecked Sendable {
        var ofAll = Questions()
        var ofTenants: [UUID: Questions] = [:]
        /// Whether the batch is already registered to be sent at the end of this cycle.
        var isAwaited = false
        /// The number of unanswered statements that look up rows of any tenants. While it is not 0,
        /// new look-ups are collected instead of sent.
        var inFlight = 0
    }
}

/// Sends the collected look-ups as statements, and gives each caller its row.
extension HashLookUp {
    /// Arranges for the collected look-ups to be sent at the end of the cycle, unless the server is
    /// still working on an earlier statement. In that case they are sent together after its answer.
    /// Sent earlier, they would wait at the server anyway, since each loop uses one connection, and
    /// combined look-ups cost the server half as much. The price is that with a distant server a
    /// look-up may wait a round trip before it is sent. If no connection is open, the look-ups do
    /// not wait for an earlier statement.
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
        // If nothing is left, the batch was full and was sent earlier.
        guard !batch.ofAll.finishes.isEmpty else { return }
        // Empty the batch first: a refusal comes at once, and the refused caller may add a new
        // look-up.
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

    /// Calls each `finish` with its row. `numbers` reads the last column of a row: the numbers of
    /// the look-ups that the row answers, counted from 1.
    private func finish(
        _ finishes: [Finish], _ answer: Result<Rows, PostgresError>,
        numbers: (Row, Int) throws(PostgresError) -> [Int64]
    ) {
        do throws(PostgresError) {
            // The rows arrive in any order, and there is none for a look-up that found nothing.
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
