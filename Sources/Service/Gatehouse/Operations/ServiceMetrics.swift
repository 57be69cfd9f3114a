import API
import Domain
import Glibc
import HTTP
import Postgres
import Runtime
import Storage
import Synchronization
import Text

/// The service's metrics for `/metrics`. Every label has a closed set of values: routes are
/// templates and never paths.
package final class ServiceMetrics: Sendable {
    private struct Route: Sendable {
        /// By the first digit of the status; the last one also counts statuses outside 1xx–5xx.
        var classes: [Counter]
        var time: Histogram
    }

    private let registry = Metrics()
    /// By operation id, and for the few resources that are not endpoints.
    private let routes: [String: Route]
    private let decisions: [Outcome: Counter]
    private let verifications: [APIKeyVerdict: Counter]
    private let bounces: [BounceResult: Counter]
    private let swept: [String: Counter]
    private let outages: [Outage: Counter]
    private let failures: Counter
    private let mail: Gauge
    /// How long revocations waited for the acknowledgements of other replicas.
    let revocationWaits: Histogram
    /// PostgreSQL's clock minus this machine's, in whole seconds.
    let clockDifference: Gauge
    /// When the TLS certificate expires, in seconds since 1970.
    let certificateExpires: Gauge
    private let rounds: Counter
    private let memory: ProcessMeasures
    private let total = Atomic<Int>(0)

    private static let noRoute = "none"
    static let preflight = "preflight"
    private static let operations = [
        "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/console",
    ]

    package init() {
        let registry = registry
        var routes: [String: Route] = [:]
        for endpoint in Routes.all {
            routes[endpoint.id] = Self.route(registry, endpoint.method.rawValue, endpoint.path)
        }
        for operation in Self.operations {
            routes[operation] = Self.route(registry, "GET", operation)
        }
        routes[Self.preflight] = Self.route(registry, "OPTIONS", "any")
        routes[Self.noRoute] = Self.route(registry, "any", Self.noRoute)
        self.routes = routes
        decisions = Self.counters(
            registry, "gatehouse_decisions_total", "Provisioning decisions by outcome.", "outcome",
            Outcome.allCases.map { ($0, $0.rawValue) })
        verifications = Self.counters(
            registry, "gatehouse_key_verifications_total", "Verdicts about API keys.", "verdict",
            APIKeyVerdict.allCases.map { ($0, $0.rawValue) })
        bounces = Self.counters(
            registry, "gatehouse_mail_bounces_total", "Messages to return addresses.", "result",
            BounceResult.allCases.map { ($0, $0.rawValue) })
        swept = Self.counters(
            registry, "gatehouse_swept_rows_total", "Ended rows that were removed.", "table",
            Database.sweptTables.map { ($0, $0) })
        rounds = registry.counter(
            "gatehouse_sweeps_total", "Rounds in which this replica removed ended rows.")
        failures = registry.counter(
            "gatehouse_sweep_failures_total", "Rounds that ended by a failure.")
        outages = Self.counters(
            registry, "gatehouse_unavailable_total", "Answers 503, by what was not there.", "cause",
            Outage.allCases.map { ($0, $0.rawValue) })
        mail = registry.gauge("gatehouse_mail_waiting", "Mails that are still to be sent.")
        revocationWaits = registry.histogram(
            "gatehouse_revocation_wait_seconds",
            "From a change's commit until every replica answers by it.")
        clockDifference = registry.gauge(
            "gatehouse_clock_difference_seconds",
            "PostgreSQL's clock less this machine's, which is corrected by it.")
        registry.gauge(
            "gatehouse_build_info", "The version that runs; always 1.",
            labels: [("version", Version.current)]
        ).set(1)
        certificateExpires = registry.gauge(
            "gatehouse_certificate_expiry_timestamp_seconds",
            "When the certificate in use ends; 0 without one.")
        memory = ProcessMeasures(registry)
    }

    /// Records one finished request of the API.
    func record(_ request: RequestRecord) {
        let name = request.operation ?? (request.method == .options ? Self.preflight : Self.noRoute)
        if request.status == 503 { outages[request.outage ?? .other]?.increment() }
        guard let route = routes[name] else { return }
        count(request.isForeseen ? 400 : request.status, route)
        route.time.record(nanoseconds: request.microseconds * 1000)
    }

    /// Counts a response of a resource that is not an endpoint (a file of the console is
    /// `/console`), or a cached response by its operation id: too fast for a histogram.
    func record(operation: String, status: Int) {
        guard let route = routes[operation] else { return }
        count(status, route)
    }

    func record(_ outcome: Outcome) { decisions[outcome]?.increment() }
    func record(_ verdict: APIKeyVerdict) { verifications[verdict]?.increment() }
    func record(_ result: BounceResult) { bounces[result]?.increment() }
    func swept(_ table: String, _ rows: Int) { swept[table]?.increment(by: rows) }
    func mailWaits(_ mails: Int) { mail.set(mails) }
    func sweepEnded(failed: Bool) { (failed ? failures : rounds).increment() }

    /// The metrics of a database role's pools.
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

    /// `limit` is how many connections the pools may have open together.
    func database(limit: Int) {
        registry.gauge(
            "gatehouse_database_connections_limit",
            "Connections that this process may have open to the database."
        ).set(limit)
    }

    /// The reads that may lag, by the server that answered them, and how far the standby is behind.
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

    func spans() -> [TraceExport.Result: Counter] {
        Self.counters(
            registry, "gatehouse_spans_total", "Spans of traces, by what became of them.", "result",
            TraceExport.Result.allCases.map { ($0, $0.rawValue) })
    }

    func server() -> ServerMeasures {
        var measures = ServerMeasures()
        measures.open = registry.gauge("gatehouse_connections", "Open connections of clients.")
        measures.accepted = registry.counter(
            "gatehouse_connections_total", "Accepted connections of clients.")
        measures.pauses = registry.counter(
            "gatehouse_accept_pauses_total", "How often the server was too full to accept.")
        return measures
    }

    /// Prometheus' text format 0.0.4.
    func page() -> Response {
        memory.read()
        var answer = Response(
            200, type: "text/plain; version=0.0.4; charset=utf-8",
            Array(registry.prometheusText().utf8))
        answer.set("cache-control", "no-store")
        return answer
    }

    /// The number of requests that this process has answered.
    var answered: Int { total.load(ordering: .relaxed) }

    private func count(_ status: Int, _ route: Route) {
        total.wrappingAdd(1, ordering: .relaxed)
        route.classes[(1...5).contains(status / 100) ? status / 100 - 1 : 4].increment()
    }

    private static func route(_ registry: Metrics, _ method: String, _ path: String) -> Route {
        let labels: [(StaticString, String)] = [("method", method), ("route", path)]
        return Route(
            classes: (1...5).map {
                registry.counter(
                    "gatehouse_requests_total", "Answered requests.",
                    labels: labels + [("status", "\($0)xx")], sparse: true)
            },
            time: registry.histogram(
                "gatehouse_request_seconds", "Time from the parsed request to its answer.",
                labels: labels, sparse: true))
    }

    private static func counters<Key: Hashable>(
        _ registry: Metrics, _ name: StaticString, _ help: StaticString, _ label: StaticString,
        _ values: [(Key, String)]
    ) -> [Key: Counter] {
        var counters: [Key: Counter] = [:]
        for (key, value) in values {
            counters[key] = registry.counter(name, help, labels: [(label, value)])
        }
        return counters
    }
}

/// `/metrics` on the service's own port, readable from this machine or with the platform's
/// credential. A request that a proxy forwarded does not come from this machine, whatever its
/// address.
struct MetricsEndpoint: Sendable {
    let metrics: ServiceMetrics
    let authenticate: @Sendable (Request) async throws -> CallerPrincipal

    func respond(to request: Request) async -> Response {
        if isLocal(request) { return metrics.page() }
        do {
            let principal = try await authenticate(request)
            if principal.kind == .anonymous { throw Problem.unauthorized() }
            guard principal.platform else { throw Problem.forbidden() }
            return metrics.page()
        } catch {
            let problem = Problem(error) ?? .internalError
            var answer = problem.response(requestID: request.id)
            answer.set("x-request-id", request.id)
            answer.set("cache-control", "no-store")
            return answer
        }
    }

    private func isLocal(_ request: Request) -> Bool {
        IPAddress(request.remoteAddress)?.isLoopback ?? false
            && request.first("origin") == nil && request.first("authorization") == nil
            && !request.isPassedOn
    }
}

/// Measurements of the process from Linux under Prometheus' usual names; read on each scrape.
struct ProcessMeasures: Sendable {
    private let resident: Gauge
    private let descriptors: Gauge
    private let processor: Gauge

    init(_ registry: Metrics) {
        resident = registry.gauge("process_resident_memory_bytes", "Resident memory.")
        descriptors = registry.gauge("process_open_fds", "Open file descriptors.")
        processor = registry.seconds(
            "process_cpu_seconds_total", "Time on a processor, of the system for it included.")
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        registry.gauge("process_start_time_seconds", "When the process began, in Unix time.")
            .set(Int(now.tv_sec))
    }

    func read() {
        let fields = (DataDirectory.read("/proc/self/statm") ?? []).split(separator: 0x20)
        if fields.count > 1, let pages = Int(String(decoding: fields[1], as: UTF8.self)) {
            resident.set(pages * Int(sysconf(Int32(_SC_PAGESIZE))))
        }
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        processor.set(Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000)
        guard let folder = opendir("/proc/self/fd") else { return }
        defer { closedir(folder) }
        // `.`, `..` and the folder's own descriptor do not count.
        var count = -3
        while readdir(folder) != nil { count += 1 }
        descriptors.set(max(0, count))
    }
}
