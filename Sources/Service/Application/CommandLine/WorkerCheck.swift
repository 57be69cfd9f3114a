import Networking
import Postgres
import Text

/// Whether the workers of a distributed database answer as a replica will ask them.
struct WorkerCheck: Sendable {
    /// `GATEHOUSE_WORKER_DATABASE_URL`, with places for the server.
    var url: String

    /// `app`: the coordinator's.
    func look(_ app: Postgres, on loop: EventLoop) async throws -> (Finding.Result, String) {
        guard app.isDistributed else {
            return (
                .failed,
                "the database is on one server: unset GATEHOUSE_WORKER_DATABASE_URL, or run "
                    + "gatehouse migrate --distribute"
            )
        }
        let rows = try await app.read(
            """
            SELECT nodename, nodeport::bigint FROM pg_dist_node
            WHERE groupid > 0 AND noderole = 'primary' AND isactive ORDER BY nodename, nodeport
            """)
        for id in (0..<8).map({ _ in UUID.random() }) where try await !Self.isKnown(id, app) {
            return (.failed, "Citus places tenants by another hash than a replica does")
        }
        var shards = 0
        for row in rows {
            let (host, port): (String, Int64) = try row.columns()
            let server = TenantServers.Server(host: host, port: Int(port))
            for url in [url, ServeCommand.switchingRole(url)] {
                if let fault = Conninfo.fault(server.conninfo(url)) {
                    return (.failed, "\(server): \(fault)")
                }
            }
            var configuration = PostgresConfiguration(worker: server, url: url)
            configuration.readsPerLoop = 1
            configuration.acquireTimeout = 3000
            let worker = Postgres(configuration: configuration, loops: [loop])
            let found = await Self.look(worker)
            await worker.close()
            switch found {
            case .success(let count): shards += count
            case .failure(let fault): return (.failed, "\(server): \(fault.text)")
            }
        }
        return (
            .ok, "\(rows.count) workers answer, row-level security forced on \(shards) shards"
        )
    }

    /// Whether the coordinator would look for a tenant in the shard of our hash.
    private static func isKnown(_ tenant: UUID, _ app: Postgres) async throws -> Bool {
        let rows = try await app.read(
            """
            SELECT \(Int64(tenant.placementHash))::bigint
                BETWEEN shardminvalue::bigint AND shardmaxvalue::bigint
            FROM pg_dist_shard
            WHERE shardid = get_shard_id_for_distribution_column('public.tenants', \(tenant))
            """)
        return try rows.first?.get(0, as: Bool.self) ?? false
    }

    private struct Fault: Error { var text: String }

    /// The number of protected shards at a worker.
    private static func look(_ worker: Postgres) async -> Result<Int, Fault> {
        do {
            let seen = try await worker.read("SELECT 1 FROM audit_events LIMIT 1")
            guard seen.isEmpty else {
                return .failure(Fault(text: "rows are seen without a tenant"))
            }
            // Citus hides the shards of its tables from who does not ask for them.
            let rows = try await worker.transaction(
                settings: [("citus.override_table_visibility", "off")]
            ) { transaction in
                try await transaction.query(
                    """
                    SELECT count(*), count(*) FILTER (WHERE NOT shard.relrowsecurity
                        OR NOT shard.relforcerowsecurity),
                        (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user)
                    FROM pg_dist_shard s
                        JOIN pg_class whole ON whole.oid = s.logicalrelid AND whole.relrowsecurity
                        JOIN pg_class shard
                            ON shard.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
                    """)
            }
            guard let row = rows.first else { return .failure(Fault(text: "it does not say")) }
            let (shards, open, bypasses): (Int, Int, Bool) = try row.columns()
            if bypasses { return .failure(Fault(text: "the role bypasses row security")) }
            guard open == 0 else {
                return .failure(Fault(text: "row-level security is off on \(open) shards"))
            }
            return .success(shards)
        } catch {
            return .failure(Fault(text: inFull(error)))
        }
    }
}
