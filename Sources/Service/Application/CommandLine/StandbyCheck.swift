import Networking
import Postgres

/// Whether the standby of `GATEHOUSE_READ_DATABASE_URL` can answer lists. Without it the primary does,
/// so that only a database of another system is a failure.
struct StandbyCheck: Sendable {
    var reads: ReadConfiguration

    private static let state: SQL = """
        SELECT pg_is_in_recovery(), (SELECT system_identifier FROM pg_control_system()),
            (SELECT count(*) FROM schema_migrations), (SELECT max(name) FROM schema_migrations)
        """

    /// `app`: the primary's.
    func look(_ app: Postgres, on loop: EventLoop) async throws -> (Finding.Result, String) {
        let clients = [reads.appConninfo, reads.platformConninfo].map { conninfo in
            var configuration = PostgresConfiguration(conninfo: conninfo)
            configuration.readsPerLoop = 1
            configuration.transactionsPerLoop = 0
            configuration.acquireTimeout = 3000
            return Postgres(configuration: configuration, loops: [loop])
        }
        let found: (Finding.Result, String)
        do {
            found = try await look(app, standby: clients[0], platform: clients[1])
        } catch let error as PostgresError {
            let cause =
                Conninfo.fault(reads.appConninfo) ?? Conninfo.fault(reads.platformConninfo)
                ?? "\(error)"
            found = (.warning, "it cannot be asked, so the primary answers: \(cause)")
        }
        for client in clients { await client.close() }
        return found
    }

    private func look(
        _ app: Postgres, standby: Postgres, platform: Postgres
    ) async throws -> (Finding.Result, String) {
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
        _ = try await platform.read("SELECT 1 FROM tenants LIMIT 1")
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
