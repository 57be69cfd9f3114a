import Runtime
import Synchronization
import Text

/// The workers of a distributed database, for the reads of one role. A tenant's rows lie in one
/// shard; a read of that tenant goes to the worker with it, which Citus plans there as a local one.
/// A worker that no longer has the shard asks the one that has it, so an old place is only slower.
package final class CitusWorkers: Sendable {
    /// A worker as the coordinator knows it.
    package struct Server: Sendable, Hashable, CustomStringConvertible {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        package var description: String { "\(host):\(port)" }

        /// `template` is a URL with the placeholders `{host}` and `{port}`.
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
        /// The shard of each tenant that was asked for.
        var shards: [UUID: Int64] = [:]
        /// Tenants whose shard is being asked for.
        var asked: Set<UUID> = []
        /// The worker with each shard. Without those that could not be reached.
        var places: [Int64: Server] = [:]
        /// When the coordinator gave `places`, in nanoseconds of `Deadline.now`.
        var learned: Int64 = 0
        var pools: [Server: Postgres] = [:]
    }

    /// The most tenants whose shard is kept.
    private static let tenantLimit = 100_000
    /// Nanoseconds for which the coordinator's answer counts. A worker that was removed keeps its
    /// last picture of the others, and should soon not be asked any more.
    private static let longestTrust: Int64 = 10_000_000_000

    private let state = Mutex(State())
    private let open: @Sendable (Server) -> Postgres

    /// `open` opens the connections to a worker, when the coordinator names it for the first time.
    package init(open: @escaping @Sendable (Server) -> Postgres) { self.open = open }

    /// The worker with the rows of a tenant; `nil` while that is unknown. An unknown shard is asked
    /// for.
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

    /// Whether a worker is one no more, or refuses connections. Then the coordinator answers for its
    /// tenants until it names a place again.
    func isGone(_ worker: Postgres) -> Bool {
        state.withLock { state in
            let isKnown = state.pools.values.contains { $0 === worker }
            guard !isKnown || worker.configuration.outages.isAway else { return false }
            state.places = state.places.filter { state.pools[$0.value] !== worker }
            return true
        }
    }

    /// Asks the coordinator where the shards lie. On a database of one server, nothing is learned.
    /// Call it every few seconds. `now` is the time of the question, in nanoseconds of
    /// `Deadline.now`.
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
            // If there are no shards, every read belongs to the coordinator.
            state.learned = found.isEmpty ? 0 : now
            // A shard keeps its id when it moves. One that was split is gone.
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

    /// Closes the connections to all workers.
    package func close() async {
        let pools = state.withLock { state in
            defer { state = State() }
            return state.pools.values
        }
        for postgres in pools { await postgres.close() }
    }
}
