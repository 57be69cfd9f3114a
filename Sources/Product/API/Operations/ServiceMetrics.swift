import Domain
import HTTP
import Runtime
import Storage
import Synchronization
import Text

/// The service's metrics for `/metrics`. Each label has a fixed set of values; routes are recorded
/// as patterns and never as paths.
package final class ServiceMetrics: Sendable {
    private struct Route: Sendable {
        /// The numbers of responses, by the first digit of the status. The last counter also counts
        /// statuses outside 1xx–5xx.
        var classes: [Counter]
        var time: Histogram
    }

    /// The registry in which other parts of the process add their metrics.
    package let registry = Metrics()
    /// The metrics of each endpoint, by operation id. A few resources that are not endpoints are
    /// included.
    private let routes: [String: Route]
    private let decisions: [Outcome: Counter]
    private let verifications: [APIKeyVerdict: Counter]
    private let bounces: [BounceResult: Counter]
    private let swept: [String: Counter]
    private let outages: [Outage: Counter]
    private let failures: Counter
    private let mail: Gauge
    /// How long revocations waited for other replicas to acknowledge them.
    package let revocationWaits: Histogram
    /// PostgreSQL's clock minus this machine's, in whole seconds.
    package let clockDifference: Gauge
    /// The time when the TLS certificate expires, in seconds since 1970.
    package let certificateExpires: Gauge
    private let rounds: Counter
    private let memory: ProcessMeasures
    private let total = Atomic<Int>(0)

    private static let noRoute = "none"
    package static let preflight = "preflight"
    private static let resources = [
        "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/console",
    ]

    /// `operations` are the API's endpoints. `version` is the version of this program.
    package init(operations: [(id: String, method: String, path: String)], version: String) {
        let registry = registry
        var routes: [String: Route] = [:]
        for operation in operations {
            routes[operation.id] = Self.route(registry, operation.method, operation.path)
        }
        for operation in Self.resources {
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
            labels: [("version", version)]
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

    /// Counts a response without its duration. This is for resources that are not endpoints, and
    /// for cached responses, whose duration is too short for a histogram. All files of the console
    /// count as `/console`.
    package func record(operation: String, status: Int) {
        guard let route = routes[operation] else { return }
        count(status, route)
    }

    package func record(_ outcome: Outcome) { decisions[outcome]?.increment() }
    package func record(_ verdict: APIKeyVerdict) { verifications[verdict]?.increment() }
    func record(_ result: BounceResult) { bounces[result]?.increment() }
    package func swept(_ table: String, _ rows: Int) { swept[table]?.increment(by: rows) }
    package func mailWaits(_ mails: Int) { mail.set(mails) }
    package func sweepEnded(failed: Bool) { (failed ? failures : rounds).increment() }

    package func spans() -> [Tracer.Result: Counter] {
        Self.counters(
            registry, "gatehouse_spans_total", "Spans of traces, by what became of them.", "result",
            Tracer.Result.allCases.map { ($0, $0.rawValue) })
    }

    package func server() -> ServerMeasures {
        var measures = ServerMeasures()
        measures.open = registry.gauge("gatehouse_connections", "Open connections of clients.")
        measures.accepted = registry.counter(
            "gatehouse_connections_total", "Accepted connections of clients.")
        measures.pauses = registry.counter(
            "gatehouse_accept_pauses_total", "How often the server was too full to accept.")
        return measures
    }

    /// The response with all metrics, in Prometheus' text format 0.0.4.
    package func page() -> Response {
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

    package static func counters<Key: Hashable>(
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
