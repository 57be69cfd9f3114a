import CPostgres
import Glibc

/// Whether a worker of Citus keeps the plan of a read that is prepared once and run often. Releases before the mend
/// of its pull request 8824, 13.2.2 among them, plan at each run and keep each of these plans until the connection ends.
package enum KeptPlans {
    /// How a worker treats the plans of a connection.
    package enum Answer: Sendable {
        /// Planned once: an answer takes a fifth of the time.
        case kept
        /// Planned at each run and forgotten, by `plan_cache_mode`.
        case forgotten
        /// Planned at each run and never freed: the server's memory grows.
        case piledUp
        /// The worker has no part of the table of tenants.
        case unknown
    }

    /// The runs of the read: PostgreSQL keeps no plan before the sixth, Citus none before the seventh.
    private static let runs = 12

    /// Looks how the worker's plans of this role's connections are kept; `asConfigured` false: how they would be under
    /// `plan_cache_mode=auto`. Blocks; not for a loop.
    package static func look(
        _ configuration: PostgresConfiguration, asConfigured: Bool
    ) throws -> Answer {
        let handle: OpaquePointer
        let defaults = Conninfo.defaults(of: configuration)
        switch Conninfo.connect(configuration.conninfo, defaults: defaults) {
        case .success(let opened): handle = opened
        case .failure(let failure): throw PostgresError(.unavailable, failure.cause)
        }
        defer { PQfinish(handle) }
        let made = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        made.initialize(to: 0)
        defer { made.deallocate() }
        // Citus reports at this level each plan that it makes to keep it.
        PQsetNoticeProcessor(
            handle,
            { count, text in
                guard let count, let text, strstr(text, "going to be cached") != nil else { return }
                count.assumingMemoryBound(to: Int.self).pointee += 1
            }, made)
        if !asConfigured { _ = try first("SET plan_cache_mode = auto", handle) }
        guard let mode = try first("SHOW plan_cache_mode", handle),
            let tenant = try first(
                """
                SELECT id FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, 1000)) AS ids
                WHERE get_shard_id_for_distribution_column('public.tenants', id) IN (
                    SELECT shardid FROM pg_dist_placement
                    WHERE groupid = (SELECT groupid FROM pg_dist_local_group)) LIMIT 1
                """, handle)
        else { return .unknown }
        _ = try first("SET client_min_messages = debug5", handle)
        _ = try first(
            "PREPARE kept (uuid) AS SELECT status FROM public.tenants WHERE id = $1", handle)
        for _ in 0..<runs { _ = try first("EXECUTE kept ('\(tenant)')", handle) }
        if made.pointee > 1 { return .piledUp }
        return mode == "force_custom_plan" ? .forgotten : .kept
    }

    /// The first column of the first row, if there is one.
    private static func first(
        _ text: String, _ handle: OpaquePointer
    ) throws(PostgresError) -> String? {
        let result = PQexec(handle, text)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
            throw PostgresError(.unavailable, String(cString: PQerrorMessage(handle)))
        }
        guard PQntuples(result) > 0, let value = PQgetvalue(result, 0, 0) else { return nil }
        return String(cString: value)
    }
}
