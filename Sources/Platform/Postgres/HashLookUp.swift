import Networking
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

    private let postgres: Postgres
    private let text: String
    /// One for each pool, in their order.
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
        batches = postgres.pools.map { _ in Batch() }
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
        let batch = batches[index]
        batch.tenants.append(tenant)
        batch.hashes.append(hash)
        batch.finishes.append(finish)
        if batch.finishes.count == Self.limit {
            send(batch)
        } else if batch.finishes.count == 1 {
            postgres.pools[index].beforeSending { [self] in send(batch) }
        }
    }

    private func send(_ batch: Batch) {
        let finishes = batch.finishes
        // Sent already, at the limit.
        guard !finishes.isEmpty else { return }
        var sql = SQL(raw: text)
        sql.bindUnmarked(batch.tenants)
        sql.bindUnmarked(batch.hashes)
        batch.clear()
        postgres.read(sql) { answer in
            do throws(PostgresError) {
                let found = try Self.inOrder(try answer.get(), of: finishes.count)
                for (finish, row) in zip(finishes, found) { finish(.success(row)) }
            } catch {
                for finish in finishes { finish(.failure(error)) }
            }
        }
    }

    /// The rows arrive in any order, and missing rows are left out.
    private static func inOrder(_ rows: Rows, of count: Int) throws(PostgresError) -> [Row?] {
        var found = [Row?](repeating: nil, count: count)
        for row in rows {
            let index: Int = try row.get(row.columnCount - 1)
            guard found.indices.contains(index - 1) else {
                throw row.undecodable(row.columnCount - 1)
            }
            found[index - 1] = row
        }
        return found
    }

    /// `@unchecked Sendable`: touched on its pool's loop only.
    private final class Batch: @unchecked Sendable {
        var tenants = BoundArray(of: TypeOID.uuid, in: TypeOID.uuidArray)
        var hashes = BoundArray(of: TypeOID.bytea, in: TypeOID.byteaArray)
        var finishes: [Finish] = []

        func clear() {
            tenants.clear()
            hashes.clear()
            finishes.removeAll(keepingCapacity: true)
        }
    }

    /// `@unchecked Sendable`: made by the caller, then handed to the loop and touched only there.
    private struct Question: @unchecked Sendable {
        let tenant: UUID
        let hash: [UInt8]
        let finish: Finish
    }
}
