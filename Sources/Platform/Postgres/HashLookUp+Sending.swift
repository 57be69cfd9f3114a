import Text

/// When questions become statements, and what becomes of the answers.
extension HashLookUp {
    /// While a server works on some, the next ones gather: each loop asks it by one connection, so they would wait
    /// there, and as one statement they cost it half. The price is a look-up's way to a server that is far away: it
    /// may begin when another comes back. Nothing gathers for a server that is away.
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

    /// Others gather until the answer.
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
        // Sent already, at the limit.
        guard !batch.ofAll.finishes.isEmpty else { return }
        // A refusal comes at once, and who is refused may ask again.
        let questions = batch.ofAll
        batch.ofAll = Questions()
        ask(batch, pool, statement(text, questions)) { [self] in
            finish(questions.finishes, $0, numbers: Self.position)
        }
    }

    /// By the coordinator; those of the server that refused go on.
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

    /// `numbers` reads from a row's last column which questions it answers, counted from 1.
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
