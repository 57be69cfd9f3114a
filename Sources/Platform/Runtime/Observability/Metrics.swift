import Synchronization

/// The metrics that `/metrics` shows. Register a metric at start and keep the result: registering
/// takes a lock, but counting does not. Registering the same name and labels again returns the same
/// metric.
package final class Metrics: Sendable {
    private enum Kind {
        case counter(Counter)
        /// A total in milliseconds that is shown in seconds.
        case seconds(Gauge)
        case gauge(Gauge)
        case histogram(Histogram)
    }

    private struct Entry {
        var name: String
        var help: String
        var labels: String
        var kind: Kind
        var isSparse: Bool

        var isUnused: Bool {
            switch kind {
            case .counter(let counter): counter.current == 0
            case .gauge, .seconds: false
            case .histogram(let histogram): histogram.isEmpty
            }
        }
    }

    private struct Entries {
        var all: [Entry] = []
        /// The index of each metric by name and labels. There are over a thousand metrics, and all
        /// are registered at every start, so a search through the list would take too long.
        var indexes: [String: Int] = [:]
    }

    private let entries = Mutex(Entries())

    package init() {}

    /// Registers a counter. Its name consists of `[a-z0-9_]`, and by convention begins with
    /// `gatehouse_` and ends in `_total`. With `sparse`, the counter is not shown while it is 0;
    /// use this for labels with many possible values, of which few occur.
    package func counter(
        _ name: StaticString, _ help: StaticString, labels: [(StaticString, String)] = [],
        sparse: Bool = false
    ) -> Counter {
        register(
            name, help, labels, sparse: sparse, make: { .counter(Counter()) },
            unwrap: {
                if case .counter(let found) = $0 { found } else { nil }
            }) ?? Counter()
    }

    package func gauge(
        _ name: StaticString, _ help: StaticString, labels: [(StaticString, String)] = []
    ) -> Gauge {
        register(
            name, help, labels, make: { .gauge(Gauge()) },
            unwrap: {
                if case .gauge(let found) = $0 { found } else { nil }
            }) ?? Gauge()
    }

    /// Registers a counter that is shown in seconds. The caller sets it, in milliseconds, from a
    /// total that is counted elsewhere.
    func seconds(_ name: StaticString, _ help: StaticString) -> Gauge {
        register(
            name, help, [], make: { .seconds(Gauge()) },
            unwrap: {
                if case .seconds(let found) = $0 { found } else { nil }
            }) ?? Gauge()
    }

    package func histogram(
        _ name: StaticString, _ help: StaticString, labels: [(StaticString, String)] = [],
        sparse: Bool = false
    ) -> Histogram {
        register(
            name, help, labels, sparse: sparse, make: { .histogram(Histogram()) },
            unwrap: {
                if case .histogram(let found) = $0 { found } else { nil }
            }) ?? Histogram()
    }

    private func register<Metric: Sendable>(
        _ name: StaticString, _ help: StaticString, _ labels: [(StaticString, String)],
        sparse: Bool = false, make: () -> Kind, unwrap: (Kind) -> Metric?
    ) -> Metric? {
        let text = labels.map { "\($0.0)=\"\(Self.escaped($0.1))\"" }.joined(separator: ",")
        let key = "\(name){\(text)}"
        return entries.withLock { entries -> Metric? in
            if let index = entries.indexes[key] { return unwrap(entries.all[index].kind) }
            let kind = make()
            entries.indexes[key] = entries.all.count
            entries.all.append(
                Entry(
                    name: name.description, help: help.description, labels: text, kind: kind,
                    isSparse: sparse))
            return unwrap(kind)
        }
    }

    /// Returns all metrics in Prometheus' text format 0.0.4; times are in seconds.
    package func prometheusText() -> String {
        var text = ""
        var described: Set<String> = []
        let sorted = entries.withLock { $0.all }
            .sorted { ($0.name, $0.labels) < ($1.name, $1.labels) }
        for entry in sorted where !(entry.isSparse && entry.isUnused) {
            if described.insert(entry.name).inserted {
                text += "# HELP \(entry.name) \(entry.help)\n# TYPE \(entry.name) "
                text += "\(Self.type(entry.kind))\n"
            }
            Self.write(entry, to: &text)
        }
        return text
    }

    private static func type(_ kind: Kind) -> String {
        switch kind {
        case .counter, .seconds: "counter"
        case .gauge: "gauge"
        case .histogram: "histogram"
        }
    }

    private static func write(_ entry: Entry, to text: inout String) {
        let braces = entry.labels.isEmpty ? "" : "{\(entry.labels)}"
        switch entry.kind {
        case .counter(let counter): text += "\(entry.name)\(braces) \(counter.current)\n"
        case .gauge(let gauge): text += "\(entry.name)\(braces) \(gauge.current)\n"
        case .seconds(let gauge):
            text += "\(entry.name)\(braces) \(Double(gauge.current) / 1000)\n"
        case .histogram(let histogram):
            let (counts, sum) = histogram.snapshot
            let prefix = entry.labels.isEmpty ? "" : entry.labels + ","
            var running = 0
            for (index, count) in counts.enumerated() {
                running += count
                let bound =
                    index == Histogram.bounds.count
                    ? "+Inf" : "\(Double(Histogram.bounds[index]) / 1e9)"
                text += "\(entry.name)_bucket{\(prefix)le=\"\(bound)\"} \(running)\n"
            }
            text += "\(entry.name)_sum\(braces) \(Double(sum) / 1e9)\n"
            text += "\(entry.name)_count\(braces) \(running)\n"
        }
    }

    private static func escaped(_ value: String) -> String {
        var text = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": text += "\\\\"
            case "\"": text += "\\\""
            case "\n": text += "\\n"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}

/// A number that only grows.
package final class Counter: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// Adds to the count. May be called from any thread and takes no lock.
    package func increment(by amount: Int = 1) { value.wrappingAdd(amount, ordering: .relaxed) }
    /// The count; it may not yet include increments by other threads.
    package var current: Int { value.load(ordering: .relaxed) }
}

/// A number that rises and falls.
package final class Gauge: Sendable {
    private let value = Atomic<Int>(0)

    package init() {}

    /// Sets the value. May be called from any thread and takes no lock.
    package func set(_ new: Int) { value.store(new, ordering: .relaxed) }
    package func add(_ amount: Int) { value.wrappingAdd(amount, ordering: .relaxed) }
    /// The value; it may not yet include changes by other threads.
    package var current: Int { value.load(ordering: .relaxed) }
}

/// A distribution of durations in nanoseconds, counted in buckets with round bounds from 50 µs to
/// 30 s.
package final class Histogram: Sendable {
    /// The upper bounds of the buckets in nanoseconds. Common goals, such as "under 100 ms", are
    /// among the bounds. One more bucket counts all longer times.
    static let bounds = [
        50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000,
        50_000_000, 100_000_000, 250_000_000, 500_000_000, 1_000_000_000, 2_500_000_000,
        5_000_000_000, 10_000_000_000, 30_000_000_000,
    ]

    private let buckets = (0...bounds.count).map { _ in Counter() }
    private let total = Atomic<Int>(0)

    package init() {}

    /// Adds one duration to the distribution. May be called from any thread and takes no lock.
    package func record(nanoseconds: Int64) {
        let value = max(0, Int(nanoseconds))
        buckets[Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count].increment()
        total.wrappingAdd(value, ordering: .relaxed)
    }

    var isEmpty: Bool { buckets.allSatisfy { $0.current == 0 } }

    /// The count of each bucket, and the sum of all durations in nanoseconds.
    var snapshot: (counts: [Int], sum: Int) {
        (buckets.map(\.current), total.load(ordering: .relaxed))
    }
}
