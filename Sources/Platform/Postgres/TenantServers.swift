import Runtime
import Synchronization
import Text

/// The workers of a distributed database. A read of one tenant goes to the server with its rows,
/// and to the shards themselves, so it costs what it does on one server. The coordinator is asked
/// for what a server refuses, such as a read of a tenant that it no longer has; a server that is
/// away is not replaced.
package final class TenantServers: Sendable {
    /// A server as the coordinator knows it.
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

    /// A range of hashes whose tenants lie in one shard.
    private struct Share {
        var last: Int32
        var server: Server
        var shards: TenantShards
    }

    /// Where a tenant's rows are.
    struct Location {
        let server: Postgres
        let shards: TenantShards

        /// Logs why the server did not answer a text, and stops asking it by the shards' names. A
        /// shard that has moved is not a reason for that.
        func note(_ error: PostgresError, of text: String) {
            guard error.sqlstate != PostgresError.divisionByZero else { return }
            shards.decline(text)
            server.configuration.log("postgres.read_declined", error.sqlstate ?? "")
        }
    }

    private struct State {
        /// In the order of the hashes, without gaps. If empty, ask the coordinator.
        var shares: [Share] = []
        /// By shard id; they stay while one of their servers is unknown.
        var known: [Int64: TenantShards] = [:]
        /// The highest id of a shard when `known` was learned.
        var newest: Int64 = 0
        var pools: [Server: Postgres] = [:]
    }

    private let state = Mutex(State())
    private let open: @Sendable (Server) -> Postgres

    /// `open` opens the connections to a server, when a tenant lies there for the first time.
    package init(open: @escaping @Sendable (Server) -> Postgres) { self.open = open }

    /// Where the rows of a tenant are; `nil` while that is unknown.
    func location(of tenant: UUID) -> Location? {
        let hash = tenant.placementHash
        return state.withLock { state in
            guard let share = state.shares.first(where: { hash <= $0.last }),
                let server = state.pools[share.server]
            else { return nil }
            return Location(server: server, shards: share.shards)
        }
    }

    /// Asks the coordinator where tenants lie. On a database of one server, nothing is learned.
    /// Call it from time to time: tenants move, and the coordinator must be asked for what a server
    /// no longer has.
    package func refresh(from coordinator: Postgres) async throws {
        let spread = try await coordinator.read(
            "SELECT to_regclass('pg_dist_shard') IS NOT NULL")
        guard try spread.first?.get(0, as: Bool.self) == true else { return }
        let rows = try await coordinator.read(
            """
            SELECT s.shardid, s.shardminvalue::bigint, s.shardmaxvalue::bigint, n.nodename,
                n.nodeport::bigint, (SELECT max(shardid) FROM pg_dist_shard)
            FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
                JOIN pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary'
            WHERE s.logicalrelid = to_regclass('public.tenants') ORDER BY s.shardminvalue::bigint
            """)
        var known = state.withLock { (shards: $0.known, newest: $0.newest) }
        // A shard keeps its id when it is moved. The parts of a shard that was split, and the
        // shards of a new table, have new ids.
        let newest = try rows.first?.get(5, as: Int64.self) ?? 0
        if newest != known.newest {
            known = (try await TenantShards.all(coordinator), newest)
            state.withLock { ($0.known, $0.newest) = known }
        }
        var shares: [Share] = []
        var next = Int64(Int32.min)
        for row in rows {
            let (id, first, last, host, port, _): (Int64, Int64, Int64, String, Int64, Int64) =
                try row.columns()
            guard first == next, let end = Int32(exactly: last), let shards = known.shards[id]
            else {
                return await set([])
            }
            next = last + 1
            let server = Server(host: host, port: Int(port))
            shares.append(Share(last: end, server: server, shards: shards))
        }
        await set(next == Int64(Int32.max) + 1 ? shares : [])
    }

    private func set(_ shares: [Share]) async {
        let unused = state.withLock { state in
            state.shares = shares
            for share in shares where state.pools[share.server] == nil {
                state.pools[share.server] = open(share.server)
            }
            let servers = Set(shares.map(\.server))
            let unused = state.pools.filter { !servers.contains($0.key) }
            for server in unused.keys { state.pools[server] = nil }
            return unused.values
        }
        for postgres in unused { await postgres.close() }
    }

    /// Closes the connections to all servers.
    package func close() async {
        let pools = state.withLock { state in
            defer { state = State() }
            return state.pools.values
        }
        for postgres in pools { await postgres.close() }
    }
}

extension UUID {
    /// The hash by which Citus places a row: PostgreSQL's hash of a `uuid` (`hash_any` in
    /// src/common/hashfn.c).
    package var placementHash: Int32 {
        func word(_ half: UInt64, _ shift: UInt64) -> UInt32 {
            UInt32(truncatingIfNeeded: half >> shift).byteSwapped
        }
        var a: UInt32 = 0x9e37_79b9 &+ 16 &+ 3_923_095
        var b = a
        var c = a
        a &+= word(high, 32)
        b &+= word(high, 0)
        c &+= word(low, 32)
        func rotated(_ value: UInt32, _ bits: UInt32) -> UInt32 {
            value << bits | value >> (32 - bits)
        }
        func mix(_ x: inout UInt32, _ y: inout UInt32, _ z: inout UInt32, _ bits: UInt32) {
            x &-= z
            x ^= rotated(z, bits)
            z &+= y
        }
        mix(&a, &b, &c, 4)
        mix(&b, &c, &a, 6)
        mix(&c, &a, &b, 8)
        mix(&a, &b, &c, 16)
        mix(&b, &c, &a, 19)
        mix(&c, &a, &b, 4)
        a &+= word(low, 0)
        func finish(_ x: inout UInt32, _ y: UInt32, _ bits: UInt32) {
            x ^= y
            x &-= rotated(y, bits)
        }
        finish(&c, b, 14)
        finish(&a, c, 11)
        finish(&b, a, 25)
        finish(&c, b, 16)
        finish(&a, c, 4)
        finish(&b, a, 14)
        finish(&c, b, 24)
        return Int32(bitPattern: c)
    }
}
