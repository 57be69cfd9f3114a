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

    let postgres: Postgres
    let text: String
    /// The statement for one tenant, which the coordinator of several servers wants.
    let textOfTenant: String
    /// The statement for the tenants of one shard, at its server.
    let textAtShard: String
    /// The statement for any tenants, at the coordinator.
    let textOfAny: String
    /// One for each pool, in the order of the pools.
    private let batches: [Batches]

    /// Reads `columns` of the one row of `table` with the tenant and the `hash` (a `bytea` column,
    /// unique within the tenant). All three are trusted as SQL. `function` takes tenants and hashes
    /// and returns the columns and a `position`. It is for the coordinator of a distributed
    /// database, where no statement may name the tables of several tenants.
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

/// The look-ups that wait for one server, by shard or by tenant.
extension HashLookUp {
    struct Questions {
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

    /// `@unchecked Sendable`: touched on its pool's loop only.
    final class Batch: @unchecked Sendable {
        var ofAll = Questions()
        var ofShards: [Int64: (location: TenantServers.Location, questions: Questions)] = [:]
        var ofTenants: [UUID: Questions] = [:]
        /// Whether it will be sent at the end of this cycle.
        var isAwaited = false
        /// Statements that the server has not answered. While there are any, new look-ups gather.
        var inFlight = 0
        let server: Postgres

        init(_ server: Postgres) { self.server = server }

        var isEmpty: Bool { ofAll.finishes.isEmpty && ofShards.isEmpty && ofTenants.isEmpty }
    }

    /// The batches of one pool. `@unchecked Sendable`: touched on its loop only.
    final class Batches: @unchecked Sendable {
        /// For the only server, or for the coordinator.
        let own: Batch
        private var ofServers: [ObjectIdentifier: Batch] = [:]

        init(_ postgres: Postgres) { own = Batch(postgres) }

        /// The batch of a server with shards.
        func batch(of server: Postgres) -> Batch {
            if let known = ofServers[ObjectIdentifier(server)] { return known }
            // This drops the batches of servers that are gone.
            ofServers = ofServers.filter { !$0.value.isEmpty || $0.value.inFlight > 0 }
            let batch = Batch(server)
            ofServers[ObjectIdentifier(server)] = batch
            return batch
        }
    }
}

/// Decides when questions become statements, and hands out the answers.
extension HashLookUp {
    /// While a server works on a statement, the next look-ups gather. Each loop asks a server over
    /// one connection, so they would have to wait there; as one statement they cost the server half
    /// as much. The price is that a look-up to a distant server may only begin when another comes
    /// back. Nothing gathers for a server that is away.
    func schedule(_ batch: Batch, _ pool: Pool) {
        guard !batch.isAwaited, !batch.isEmpty else { return }
        guard batch.inFlight == 0 || !batch.ofTenants.isEmpty || !batch.server.hasOpenReader else {
            return
        }
        batch.isAwaited = true
        pool.beforeSending { [self] in send(batch, pool) }
    }

    private func send(_ batch: Batch, _ pool: Pool) {
        batch.isAwaited = false
        sendAll(batch, pool)
        for id in Array(batch.ofShards.keys) { sendShard(id, of: batch, pool) }
        for tenant in Array(batch.ofTenants.keys) { sendTenant(tenant, of: batch) }
    }

    /// Sends a statement. Others gather until it is answered.
    private func ask(
        _ batch: Batch, _ pool: Pool, _ sql: SQL,
        then finish: @escaping (Result<Rows, PostgresError>) -> Void
    ) {
        batch.inFlight += 1
        batch.server.read(sql) { [self] answer in
            batch.inFlight -= 1
            finish(answer)
            schedule(batch, pool)
        }
    }

    func sendShard(_ id: Int64, of batch: Batch, _ pool: Pool) {
        guard let (location, questions) = batch.ofShards.removeValue(forKey: id) else { return }
        guard let text = location.shards.text(textAtShard) else {
            return readAnywhere(questions)
        }
        var sql = statement(text, questions)
        sql.bindUnmarked(id)
        ask(batch, pool, sql) { [self] answer in
            if case .failure(let error) = answer, error.isElsewhere {
                location.note(error, of: textAtShard)
                return readAnywhere(questions)
            }
            finish(questions.finishes, answer, numbers: Self.position)
        }
    }

    func sendTenant(_ tenant: UUID, of batch: Batch) {
        guard let questions = batch.ofTenants.removeValue(forKey: tenant) else { return }
        var sql = SQL(raw: textOfTenant)
        sql.bindUnmarked(tenant)
        sql.bindUnmarked(questions.hashes)
        postgres.read(sql) { [self] answer in
            finish(questions.finishes, answer) { row, last throws(PostgresError) in
                try row.get(last, as: [Int64].self)
            }
        }
    }

    func sendAll(_ batch: Batch, _ pool: Pool) {
        // They were sent already, at the limit.
        guard !batch.ofAll.finishes.isEmpty else { return }
        // A refusal comes at once, and a refused caller may ask again.
        let questions = batch.ofAll
        batch.ofAll = Questions()
        ask(batch, pool, statement(text, questions)) { [self] in
            finish(questions.finishes, $0, numbers: Self.position)
        }
    }

    /// Asks the coordinator; used for the questions that a server refused.
    private func readAnywhere(_ questions: Questions) {
        postgres.read(statement(textOfAny, questions)) { [self] in
            finish(questions.finishes, $0, numbers: Self.position)
        }
    }

    private func statement(_ text: String, _ questions: Questions) -> SQL {
        var sql = SQL(raw: text)
        sql.bindUnmarked(questions.tenants)
        sql.bindUnmarked(questions.hashes)
        return sql
    }

    @Sendable private static func position(
        _ row: Row, _ last: Int
    ) throws(PostgresError) -> [Int64] { [try row.get(last)] }

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
