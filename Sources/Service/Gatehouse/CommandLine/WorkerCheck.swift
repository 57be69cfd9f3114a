import Postgres
import Runtime
import Text

/// Checks whether the workers of a distributed database answer reads. The reads are sent as a
/// replica sends them.
struct WorkerCheck: Sendable {
    /// The value of GATEHOUSE_WORKER_DATABASE_URL, with placeholders for a worker's host and port.
    var url: String

    /// Returns the result of the check. `app` is a connection to the coordinator.
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
        var shards = 0
        for row in rows {
            let (host, port): (String, Int64) = try row.columns()
            let server = CitusWorkers.Server(host: host, port: Int(port))
            let (lists, lookUps) = (url, ServeCommand.switchingRole(url))
            for url in [lists, lookUps] {
                if let fault = Conninfo.fault(server.conninfo(url)) {
                    return (.failed, "\(server): \(fault)")
                }
            }
            for (url, look) in [(lists, Self.lookAsApp), (lookUps, Self.lookAsPlatform)] {
                var configuration = PostgresConfiguration(worker: server, url: url)
                configuration.readsPerLoop = 1
                configuration.acquireTimeout = 3000
                let worker = Postgres(configuration: configuration, loops: [loop])
                let found = await look(worker)
                await worker.close()
                switch found {
                case .success(let count): shards += count
                case .failure(let fault): return (.failed, "\(server): \(fault.text)")
                }
            }
        }
        return (
            .ok, "\(rows.count) workers answer, row-level security forced on \(shards) shards"
        )
    }

    private struct Fault: Error { var text: String }

    /// Asks one worker, as the platform's role, for rows that are on all workers. A worker forwards
    /// reads of a tenant that has moved, so each worker must be able to connect to every other
    /// worker.
    private static func lookAsPlatform(_ worker: Postgres) async -> Result<Int, Fault> {
        do {
            _ = try await worker.read("SELECT 1 FROM api_keys LIMIT 1")
            return .success(0)
        } catch {
            return .failure(Fault(text: inFull(error)))
        }
    }

    /// Returns the number of a worker's shards that have row-level security. Like `lookAsPlatform`,
    /// it first asks the worker for rows that are on all workers.
    private static func lookAsApp(_ worker: Postgres) async -> Result<Int, Fault> {
        do {
            let seen = try await worker.read("SELECT 1 FROM audit_events LIMIT 1")
            guard seen.isEmpty else {
                return .failure(Fault(text: "rows are seen without a tenant"))
            }
            // Citus hides the shards of its tables unless a session asks for them.
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

/// Checks whether the standby of `GATEHOUSE_READ_DATABASE_URL` can answer lists. If the standby is
/// unreachable or has another schema, the result is only a warning, because the primary answers
/// instead. If reads must never go to the standby, for example because it belongs to another
/// system, the result is a failure.
struct StandbyCheck: Sendable {
    var reads: ReadConfiguration

    private static let state: SQL = """
        SELECT pg_is_in_recovery(), (SELECT system_identifier FROM pg_control_system()),
            (SELECT count(*) FROM schema_migrations), (SELECT max(name) FROM schema_migrations)
        """

    private static let names = [
        "GATEHOUSE_READ_DATABASE_URL", "GATEHOUSE_READ_PLATFORM_DATABASE_URL",
    ]

    private func clients(on loop: EventLoop) -> [Postgres] {
        [reads.appConninfo, reads.platformConninfo].map { conninfo in
            var configuration = PostgresConfiguration(conninfo: conninfo)
            configuration.readsPerLoop = 1
            configuration.transactionsPerLoop = 1
            configuration.acquireTimeout = 3000
            return Postgres(configuration: configuration, loops: [loop])
        }
    }

    /// Returns a failure if `serve` must not send reads to the standby: if its logins have the
    /// wrong rights, or if a pooler lends out the connections to it. Returns `nil` if `serve` may
    /// send reads, or if the standby is unreachable.
    func blocker(on loop: EventLoop) async -> Finding? {
        let clients = clients(on: loop)
        let fault = try? await Self.fault(app: clients[0], platform: clients[1])
        for client in clients { await client.close() }
        return (fault ?? nil).map { Finding(name: "standby", result: .failed, detail: $0) }
    }

    private static func fault(app: Postgres, platform: Postgres) async throws -> String? {
        for (client, name) in zip([app, platform], names) {
            let isShared: Bool
            do {
                isShared = try await client.sharesServerConnections()
            } catch let error as PostgresError where error.losesPreparedStatements {
                isShared = true
            }
            guard !isShared else {
                return DatabaseChecks.lentOut(
                    "connections are lent out for each transaction", name)
            }
        }
        for (result, detail) in try await [
            DatabaseChecks.appRole(app, names[0]), DatabaseChecks.platformRole(platform, names[1]),
        ] where result == .failed { return detail }
        return nil
    }

    /// Returns the result of the check. `app` is a connection to the primary.
    func look(_ app: Postgres, on loop: EventLoop) async throws -> (Finding.Result, String) {
        let clients = clients(on: loop)
        let found: (Finding.Result, String)
        do {
            found = try await look(app, standby: clients[0], platform: clients[1])
        } catch let error as PostgresError {
            let cause =
                Conninfo.fault(reads.appConninfo) ?? Conninfo.fault(reads.platformConninfo)
                ?? inFull(error)
            found = (.warning, "it cannot be asked, so the primary answers: \(cause)")
        }
        for client in clients { await client.close() }
        return found
    }

    private func look(
        _ app: Postgres, standby: Postgres, platform: Postgres
    ) async throws -> (Finding.Result, String) {
        if let fault = try await Self.fault(app: standby, platform: platform) {
            return (.failed, fault)
        }
        let here = try await State(app.read(Self.state))
        guard !app.isDistributed else {
            return (
                .failed,
                "the tenants lie on several servers: unset GATEHOUSE_READ_DATABASE_URL"
            )
        }
        let position = try await app.flushedPosition()
        let there = try await State(standby.read(Self.state))
        guard there.system == here.system else {
            return (.failed, "it is of another system than the primary")
        }
        guard there.migrations == here.migrations, there.last == here.last else {
            return (.warning, "its schema is another than the primary's: \(there.last)")
        }
        guard there.isStandby else {
            return (.warning, "it is no standby but accepts writes, so that nothing is spared")
        }
        let replayed = try await standby.replayed() ?? .start
        let behind = position.offset - min(position.offset, replayed.offset)
        return (.ok, "it follows the primary, \(behind) bytes of its log behind")
    }

    private struct State {
        var isStandby: Bool
        var system: Int
        var migrations: Int
        var last: String

        init(_ rows: Rows) throws(PostgresError) {
            guard let row = rows.first else { throw PostgresError(.decoding) }
            (isStandby, system, migrations, last) = try row.columns()
        }
    }
}
