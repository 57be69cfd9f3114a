import Runtime
import Synchronization
import Text

/// The connections of one role to the worker servers of a distributed (Citus) database, for reads.
/// All rows of a tenant are in one shard, so a read of that tenant is sent to the worker that has
/// the shard. A worker that no longer has the shard forwards the read, so outdated knowledge only
/// makes a read slower.
package final class CitusWorkers: Sendable {
    /// The host and port of a worker, as the coordinator lists them.
    package struct Server: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        package var description: String { "\(host):\(port)" }

        /// Returns the connection string of this worker: `template`, a URL, with its placeholders
        /// `{host}` and `{port}` filled in.
        package func conninfo(_ template: String) -> String {
            func filled(_ text: String, _ mark: String, _ value: String) -> String {
                text.split(separator: mark, omittingEmptySubsequences: false).joined(
                    separator: value)
            }
            let literal = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
            return filled(filled(template, "{host}", literal), "{port}", "\(port)")
        }
    }

    private struct State {
        /// The shard of each tenant, as far as the coordinator has named it.
        var shards: [UUID: Int64] = [:]
        /// The tenants whose shard the coordinator is being asked for.
        var asked: Set<UUID> = []
        /// The worker that has each shard. Workers that could not be reached are left out.
        var places: [Int64: Server] = [:]
        /// When the coordinator was asked for `places`, in nanoseconds of `Deadline.now`; 0 if they
        /// are not to be used.
        var learned: Int64 = 0
        var pools: [Server: Postgres] = [:]
    }

    /// The most tenants whose shard is remembered.
    private static let tenantLimit = 100_000
    /// Nanoseconds for which the coordinator's answer is used. It is short, because a worker that
    /// was removed from the database keeps an outdated list of the others and should soon get no
    /// more reads.
    private static let longestTrust: Int64 = 10_000_000_000

    private let state = Mutex(State())
    private let open: @Sendable (Server) -> Postgres

    /// Makes an empty list. `open` opens the connections to a worker; it is called when the
    /// coordinator first names that worker.
    package init(open: @escaping @Sendable (Server) -> Postgres) { self.open = open }

    /// Returns the worker that has the rows of a tenant, or `nil` while that is unknown. If the
    /// tenant's shard is unknown, the coordinator is asked for it.
    func worker(of tenant: UUID, _ coordinator: Postgres) -> Postgres? {
        let (worker, asks) = state.withLock { state -> (Postgres?, Bool) in
            guard Deadline.now - state.learned < Self.longestTrust else { return (nil, false) }
            guard let shard = state.shards[tenant] else {
                return (nil, state.asked.insert(tenant).inserted)
            }
            return (state.places[shard].flatMap { state.pools[$0] }, false)
        }
        if asks { askForShard(of: tenant, coordinator) }
        return worker
    }

    private func askForShard(of tenant: UUID, _ coordinator: Postgres) {
        coordinator.read(
            "SELECT get_shard_id_for_distribution_column('public.tenants', \(tenant))"
        ) { [self] answer in
            let shard = try? answer.get().first?.get(0, as: Int64.self)
            state.withLock { state in
                state.asked.remove(tenant)
                if state.shards.count >= Self.tenantLimit { state.shards.removeAll() }
                state.shards[tenant] = shard
            }
        }
    }

    /// Whether a worker was removed or refuses connections. If so, the coordinator answers the
    /// reads of its tenants until it names a worker for their shards again.
    func isGone(_ worker: Postgres) -> Bool {
        state.withLock { state in
            let isKnown = state.pools.values.contains { $0 === worker }
            guard !isKnown || worker.configuration.outages.isAway else { return false }
            state.places = state.places.filter { state.pools[$0.value] !== worker }
            return true
        }
    }

    /// Asks the coordinator which worker has which shard. Call it every few seconds. Without Citus,
    /// nothing changes. `now` is when the question is sent, in nanoseconds of `Deadline.now`.
    package func refresh(
        from coordinator: Postgres, at now: Int64 = Deadline.now
    ) async throws {
        let spread = try await coordinator.read(
            "SELECT to_regclass('pg_dist_shard') IS NOT NULL")
        guard try spread.first?.get(0, as: Bool.self) == true else { return }
        let rows = try await coordinator.read(
            """
            SELECT s.shardid, n.nodename, n.nodeport::bigint
            FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
                JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
            WHERE s.logicalrelid = to_regclass('public.tenants')
            """)
        var places: [Int64: Server] = [:]
        for row in rows {
            let (shard, host, port): (Int64, String, Int64) = try row.columns()
            places[shard] = Server(host: host, port: Int(port))
        }
        let found = places
        let unused = state.withLock { state in
            state.places = found
            // If there are no shards, the coordinator answers every read.
            state.learned = found.isEmpty ? 0 : now
            // A shard keeps its id when it moves to another worker. A shard that was split no
            // longer exists.
            state.shards = state.shards.filter { found[$0.value] != nil }
            for server in found.values where state.pools[server] == nil {
                state.pools[server] = open(server)
            }
            let servers = Set(found.values)
            let unused = state.pools.filter { !servers.contains($0.key) }
            for server in unused.keys { state.pools[server] = nil }
            return unused.values
        }
        for postgres in unused { await postgres.close() }
    }

    /// Closes the connections to all workers and forgets what is known.
    package func close() async {
        let pools = state.withLock { state in
            defer { state = State() }
            return state.pools.values
        }
        for postgres in pools { await postgres.close() }
    }
}
