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
        /// The shards of tenants, each as the coordinator has named it.
        var shards: [UUID: Int64] = [:]
        /// The worker that has each shard.
        var places: [Int64: Server] = [:]
        /// When the coordinator was asked for these `places`, in nanoseconds of `BootClock.now`.
        var learned: Int64?
        var pools: [Server: Postgres] = [:]
        /// The reads that wait for an early question for `places`; `nil` if none is in progress.
        var waiting: [UnsafeContinuation<Void, Never>]?
        /// When the last early question was answered, in nanoseconds of `BootClock.now`.
        var answeredEarly: Int64?
        /// The refused reads that were logged already, each as the worker's address and the
        /// SQLSTATE.
        var logged: Set<String> = []
    }

    /// The maximum number of tenants whose shards are remembered.
    private static let tenantLimit = 100_000
    /// Nanoseconds for which the coordinator's list of shards and workers is used. The time is
    /// short, so that a worker that was removed from the database soon gets no more reads: such a
    /// worker no longer learns which worker has which shard.
    private static let longestTrust: Int64 = 10_000_000_000
    /// The least number of nanoseconds between two early questions. With an early question, the
    /// coordinator is asked which worker has which shard, because a read failed.
    private static let pause: Int64 = 1_000_000_000

    /// The event that `logRefusal` logs.
    private static let readRefused: StaticString = "worker.read_refused"

    private let state = Mutex(State())
    private let coordinator: Postgres
    private let open: @Sendable (Server) -> Postgres

    /// Makes an empty list. `coordinator` is asked which worker has which tenant; its connections
    /// should be used for nothing else, so that no slow read delays these questions. `open` opens
    /// the connections to a worker; it is called when the coordinator first names that worker.
    package init(asking coordinator: Postgres, open: @escaping @Sendable (Server) -> Postgres) {
        self.coordinator = coordinator
        self.open = open
    }

    /// Calls `found` with the worker that has the rows of a tenant, on the calling loop and usually
    /// before this function returns. If the tenant's shard is unknown, the coordinator is asked for
    /// it first. `nil` means that the coordinator should run the read itself, because it has not
    /// said lately which worker has the shard.
    func find(of tenant: UUID, then found: @escaping (Postgres?) -> Void) {
        let (worker, isUnknown) = state.withLock { state -> (Postgres?, Bool) in
            guard let learned = state.learned, BootClock.now - learned < Self.longestTrust,
                !state.places.isEmpty
            else { return (nil, false) }
            guard let shard = state.shards[tenant] else { return (nil, true) }
            return (state.places[shard].flatMap { state.pools[$0] }, false)
        }
        guard isUnknown else { return found(worker) }
        coordinator.read(
            "SELECT get_shard_id_for_distribution_column('public.tenants', \(tenant))"
        ) { [self] answer in
            let shard = try? answer.get().first?.get(0, as: Int64.self)
            found(
                state.withLock { state in
                    // A shard that was split meanwhile has no place.
                    guard let shard, let place = state.places[shard] else { return nil }
                    if state.shards.count < Self.tenantLimit { state.shards[tenant] = shard }
                    return state.pools[place]
                })
        }
    }

    /// Does the same as `find` with a callback, but returns the worker.
    func find(of tenant: UUID) async -> Postgres? {
        await withUnsafeContinuation { continuation in
            find(of: tenant) { continuation.resume(returning: $0) }
        }
    }

    /// Returns the server for a second attempt, after a read of a tenant failed at `worker`. If the
    /// worker refused the read, this is `standIn`, the coordinator. If the worker cannot be
    /// reached, this is the worker to which the tenant has moved. Throws `error` if there is no
    /// such worker: the coordinator would wait for the old worker too, and the other tenants would
    /// then wait for the coordinator.
    func successor(
        of worker: Postgres, after error: PostgresError, for tenant: UUID, standIn: Postgres
    ) async throws(PostgresError) -> Postgres {
        switch error.kind {
        // Class 22 is a value that the statement does not accept, on any server.
        case .server(let sqlstate, _, _) where !sqlstate.hasPrefix("22"): return standIn
        case .unavailable:
            await refreshEarly()
            guard let now = await find(of: tenant), now !== worker else { throw error }
            return now
        case .server, .timeout, .cancelled, .decoding, .commitUnknown: throw error
        }
    }

    /// Asks the coordinator which worker has which shard, because a worker cannot be reached.
    /// Callers wait for a question that is in progress already. Does nothing if such a question was
    /// answered a moment ago.
    private func refreshEarly() async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let asks: Bool? = state.withLock { state in
                if state.waiting?.append(continuation) != nil { return false }
                if let last = state.answeredEarly, BootClock.now - last < Self.pause { return nil }
                state.waiting = [continuation]
                return true
            }
            guard let asks else { return continuation.resume() }
            guard asks else { return }
            // In a task of its own, because the request that asks may be over before the answer.
            coordinator.firstLoop.spawn { [self] in
                try? await refresh()
                let waiting = state.withLock { state in
                    state.answeredEarly = BootClock.now
                    defer { state.waiting = nil }
                    return state.waiting ?? []
                }
                for each in waiting { each.resume() }
            }
        }
    }

    /// Logs that `worker` refused a read with `error`, and that the coordinator answered the read
    /// instead. Operators should know this, because each such read is run twice. Each pair of a
    /// worker and an SQLSTATE is logged only once.
    func logRefusal(_ error: PostgresError, by worker: Postgres) {
        guard let sqlstate = error.sqlstate else { return }
        let isNew = state.withLock { state in
            let server = state.pools.first { $0.value === worker }?.key.description ?? ""
            return state.logged.insert("\(server) \(sqlstate)").inserted
        }
        if isNew { worker.configuration.log(Self.readRefused, error.detail) }
    }

    /// Asks the coordinator which worker has which shard. Call it every few seconds. Without Citus,
    /// nothing changes. `now` is when the question is sent, in nanoseconds of `BootClock.now`.
    package func refresh(at now: Int64 = BootClock.now) async throws {
        let spread = try await coordinator.read(
            "SELECT to_regclass('pg_dist_shard') IS NOT NULL")
        guard try spread.first?.get(0, as: Bool.self) == true else { return }
        let rows = try await coordinator.read(
            """
            SELECT s.shardid, n.nodename, n.nodeport::bigint
            FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
                JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
                    AND n.isactive AND n.hasmetadata AND n.metadatasynced
            WHERE s.logicalrelid = to_regclass('public.tenants')
            """)
        var places: [Int64: Server] = [:]
        for row in rows {
            let (shard, host, port): (Int64, String, Int64) = try row.columns()
            places[shard] = Server(host: host, port: Int(port))
        }
        let found = places
        let unused = state.withLock { state -> [Server: Postgres].Values in
            // The answer to a later question may have arrived before this one.
            if let learned = state.learned, learned > now { return [Server: Postgres]().values }
            // Forget the tenants whose shards no longer exist, for example because a shard was
            // split. A shard that moved to another worker still has the same id.
            if state.places.keys != found.keys {
                state.shards = state.shards.filter { found[$0.value] != nil }
            }
            state.places = found
            state.learned = now
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

    /// Closes the connections to all workers and forgets which worker has which shard.
    package func close() async {
        let pools = state.withLock { state in
            defer { state = State() }
            return state.pools.values
        }
        for postgres in pools { await postgres.close() }
    }
}

/// Reads the rows of one tenant, on whichever server they are.
extension Postgres {
    /// Like `read` with a callback, but for rows of one tenant. The statement itself must name the
    /// tenant, because `app.tenant` is not set: this is for a role that may read the rows of all
    /// tenants.
    package func read(
        of tenant: UUID, _ sql: SQL, then finish: @escaping (Result<Rows, PostgresError>) -> Void
    ) {
        guard let workers else { return read(sql, then: finish) }
        workers.find(of: tenant) { [self] worker in
            guard let worker else { return read(sql, then: finish) }
            worker.read(sql) { [self] answer in
                guard case .failure(let error) = answer, let loop = EventLoop.current else {
                    return finish(answer)
                }
                let bound = LoopBound(finish, loop: loop)
                loop.spawn { [self] in
                    let second = await readAgain(of: tenant, sql, after: error, at: worker)
                    loop.perform { bound.value(second) }
                }
            }
        }
    }

    /// Reads rows of one tenant like `read`, but with `app.tenant` set. The setting and the
    /// statement are sent in a single round trip.
    package func tenantRead(_ tenant: UUID, _ sql: SQL) async throws(PostgresError) -> Rows {
        guard let workers, let worker = await workers.find(of: tenant) else {
            return try await send(sql, .read, in: tenant)
        }
        do {
            return try await worker.send(sql, .read, in: tenant)
        } catch {
            return try await readAgain(of: tenant, sql, in: tenant, after: error, at: worker).get()
        }
    }

    /// Repeats a read after it failed at `worker`, if another server may have the rows.
    private func readAgain(
        of tenant: UUID, _ sql: SQL, in setting: UUID? = nil, after error: PostgresError,
        at worker: Postgres
    ) async -> Result<Rows, PostgresError> {
        do throws(PostgresError) {
            guard let workers else { throw error }
            let server = try await workers.successor(
                of: worker, after: error, for: tenant, standIn: self)
            let rows = try await server.send(sql, .read, in: setting)
            workers.logRefusal(error, by: worker)
            return .success(rows)
        } catch {
            return .failure(error)
        }
    }
}
