import API
import HTTP
import Postgres
import Runtime

/// The metrics of the database connections and of the API's endpoints.
extension ServiceMetrics {
    convenience init() {
        self.init(
            operations: Routes.all.map { ($0.id, $0.method.rawValue, $0.path) },
            version: Version.current)
    }

    /// Returns the metrics of the connection pools of a database role.
    func database(role: String) -> PostgresMeasures {
        var measures = PostgresMeasures()
        let labels: [(StaticString, String)] = [("role", role)]
        measures.connections = registry.gauge(
            "gatehouse_database_connections", "Open connections to the database.", labels: labels)
        measures.waits = registry.histogram(
            "gatehouse_database_wait_seconds",
            "Waits for a free connection, of those who had to wait.", labels: labels)
        measures.refusals = registry.counter(
            "gatehouse_database_refusals_total", "Waits that ended without a connection.",
            labels: labels)
        return measures
    }

    /// Registers the metric for the maximum number of connections. `limit` is this maximum, for all
    /// pools together.
    func database(limit: Int) {
        registry.gauge(
            "gatehouse_database_connections_limit",
            "Connections that this process may have open to the database."
        ).set(limit)
    }

    /// Returns the metrics of reads whose answers may be slightly old: how many reads each server
    /// answered, and how far the standby is behind.
    func standbys() -> StandbyMeasures {
        var measures = StandbyMeasures()
        let reads = Self.counters(
            registry, "gatehouse_reads_total", "Reads that may lag, by who answered them.",
            "server", ["standby", "primary"].map { ($0, $0) })
        measures.standby = reads["standby"] ?? Counter()
        measures.primary = reads["primary"] ?? Counter()
        measures.fallbacks = Self.counters(
            registry, "gatehouse_read_fallbacks_total",
            "Reads that the primary answered instead of the standby.", "cause",
            StandbyFallback.allCases.map { ($0, $0.rawValue) })
        measures.lagBytes = registry.gauge(
            "gatehouse_standby_lag_bytes", "Log that the standby has not replayed.")
        measures.lagSeconds = registry.gauge(
            "gatehouse_standby_lag_seconds", "Age of the oldest change that it has not replayed.")
        return measures
    }

    func standbyConnections() -> Gauge {
        registry.gauge("gatehouse_standby_connections", "Open connections to the standby.")
    }

    func workerConnections() -> Gauge {
        registry.gauge(
            "gatehouse_worker_connections", "Open connections to workers of a distributed database."
        )
    }
}
