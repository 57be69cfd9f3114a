import Text

/// The shards of all tables with one range of tenants, which lie on one server of a distributed
/// database. PostgreSQL plans a statement that names them as on one server, and keeps the plan. If
/// a statement names the tables, Citus takes part in each run, at several times the cost.
///
/// The server must still have the shards when it answers. So each such statement comes with
/// `guardText` or `guardCondition`, which fail with `division_by_zero` if the server's own catalog
/// says that it has not. A move commits there before writers at the new server go on, unless the
/// coordinator loses the old server at that moment: then it commits a second later, by Citus'
/// recovery.
/// moment: then a second later, by Citus' recovery.
final class TenantShards: Sendable {
    /// Sets `app.tenant` to `$1` until the transaction ends, if this server has the shard `$2`.
    static let guardText = """
        SELECT set_config('app.tenant', $1, (1 / (count(*) = 1)::int) = 1) FROM \(placement("$2"))
        """

    /// True if this server has the shard of `parameter`.
    static func guardCondition(_ parameter: String) -> String {
        "(SELECT 1 / (count(*) = 1)::int FROM \(placement(parameter))) = 1"
    }

    // Citus changes these rows where a shard was and where it goes, in the transaction that moves
    // it.
    private static func placement(_ parameter: String) -> String {
        """
        pg_dist_placement WHERE shardid = \(parameter)::bigint
            AND groupid = (SELECT groupid FROM pg_dist_local_group)
        """
    }

    /// The shard of the table of tenants; the other tables' shards of the range move with it.
    let id: Int64
    /// The names of the shards, by the names of their tables.
    private let names: [String: String]
    private let texts: ShardTexts

    init(_ id: Int64, _ names: [String: String], _ texts: ShardTexts) {
        self.id = id
        self.names = names
        self.texts = texts
    }

    /// A read that names the shards instead of the tables; `nil` if Citus must plan it.
    func statement(_ sql: SQL) -> SQL? { text(sql.text).map { sql.with(text: $0) } }

    /// The text of a read with the shards in place of the tables; `nil` if Citus must plan it.
    func text(_ text: String) -> String? {
        guard let pieces = texts.pieces(of: text) else { return nil }
        var result = ""
        result.reserveCapacity(text.utf8.count + 16 * pieces.count)
        for piece in pieces {
            switch piece {
            case .text(let text): result += text
            case .table(let table):
                guard let name = names[table] else { return nil }
                result += name
            }
        }
        return result
    }

    /// From now on Citus plans this text, because the server could not answer it by the shards'
    /// names.
    func decline(_ text: String) { texts.decline(text) }

    /// The shards of all ranges by id, as the coordinator knows them.
    static func all(_ coordinator: Postgres) async throws -> [Int64: TenantShards] {
        let rows = try await coordinator.read(
            """
            SELECT t.shardid, c.relname::text, shard_name(s.logicalrelid, s.shardid)
            FROM pg_dist_partition anchor
                JOIN pg_dist_partition p ON p.colocationid = anchor.colocationid AND p.partmethod = 'h'
                JOIN pg_class c ON c.oid = p.logicalrelid
                JOIN pg_dist_shard t ON t.logicalrelid = anchor.logicalrelid
                JOIN pg_dist_shard s
                    ON s.logicalrelid = p.logicalrelid AND s.shardminvalue = t.shardminvalue
            WHERE anchor.logicalrelid = to_regclass('public.tenants')
            """)
        var names: [Int64: [String: String]] = [:]
        var tables: Set<String> = []
        for row in rows {
            let (id, table, shard): (Int64, String, String) = try row.columns()
            names[id, default: [:]][table] = shard
            tables.insert(table)
        }
        let elsewhere = try await coordinator.read(
            """
            SELECT c.relname::text FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
            WHERE p.partmethod <> 'h'
            UNION ALL
            SELECT p.proname::text FROM pg_dist_object o JOIN pg_proc p ON p.oid = o.objid
            WHERE o.classid = 'pg_proc'::regclass AND o.force_delegation
            """)
        let texts = ShardTexts(
            tables: tables,
            elsewhere: Set(try elsewhere.map { row throws(PostgresError) in try row.get(0) }))
        return names.reduce(into: [:]) { $0[$1.key] = TenantShards($1.key, $1.value, texts) }
    }
}
