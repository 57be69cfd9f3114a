import Configuration
import Postgres

/// Whether PostgreSQL has room for what this process may open.
struct ConnectionCheck: Sendable {
    /// What the process opens at most.
    var limit: Int

    init(_ settings: Settings) {
        limit = settings.databaseConnections ?? ConnectionPlan.standard(loops: settings.threads)
    }

    func look(_ app: Postgres) async throws -> (Finding.Result, String) {
        let rows = try await app.read(
            """
            SELECT current_setting('max_connections')::int,
                current_setting('superuser_reserved_connections')::int,
                (SELECT count(*)::int FROM pg_stat_activity
                    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()),
                (SELECT count(*)::int FROM replicas WHERE lease_until > clock_timestamp())
            """)
        guard let row = rows.first else { return (.failed, "PostgreSQL does not say") }
        let reserved = try row.get(1, as: Int.self)
        return verdict(
            room: try row.get(0, as: Int.self) - reserved, used: try row.get(2, as: Int.self),
            replicas: try row.get(3, as: Int.self))
    }

    /// `room`: connections that PostgreSQL allows roles without superuser rights; `replicas`:
    /// running ones.
    func verdict(room: Int, used: Int, replicas: Int) -> (Finding.Result, String) {
        let sentence =
            "this process opens \(limit) at most, PostgreSQL takes \(room), of which \(used) are in use"
        if limit > room {
            return (
                .failed,
                "\(sentence); lower GATEHOUSE_DATABASE_CONNECTIONS or raise max_connections"
            )
        }
        // One more process of this size beside the running ones.
        let all = limit * (replicas + 1)
        if all > room {
            return (
                .warning,
                "\(sentence); with \(replicas) replicas running there may be \(all)"
            )
        }
        return (.ok, sentence)
    }
}
