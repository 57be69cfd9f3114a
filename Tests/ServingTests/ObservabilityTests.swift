import Glibc
import Runtime
import Testing

@Suite struct ObservabilityTests {
    /// What a logger writes for these calls.
    private func written(
        _ level: Level, _ format: Logger.Format, _ body: (Logger) -> Void
    ) -> String {
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        body(Logger(level: level, format: format, descriptor: ends[1]))
        close(ends[1])
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(ends[0], &buffer, buffer.count)
        close(ends[0])
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    @Test func `a line is one JSON object with its fields in order`() {
        let line = written(.info, .json) {
            $0.log(.warning, "slow", [("path", "/a"), ("status", 200), ("ok", .bool(true))])
        }
        #expect(line.hasPrefix("{\"time\":\"2"))
        #expect(
            line.hasSuffix(
                "Z\",\"level\":\"warning\",\"message\":\"slow\",\"path\":\"/a\",\"status\":200,"
                    + "\"ok\":true}\n"))
    }

    @Test(arguments: [Logger.Format.json, .text])
    func `no value can forge a line or move a terminal`(_ format: Logger.Format) {
        let line = written(.info, format) {
            $0.log(.info, "m", [("a", "x\r\n\"y\\\u{1B}[2J\u{9B}\u{0}\u{2028}é")])
        }
        #expect(line.utf8.filter { $0 < 0x20 } == [0x0A])
        #expect(line.contains("x\\u000d\\n\\\"y\\\\\\u001b[2J\\u009b\\u0000\\u2028é\""))
    }

    @Test func `a line below the level is not written`() {
        #expect(written(.warning, .json) { $0.log(.info, "m") } == "")
    }

    @Test func `metrics are written in Prometheus' form`() {
        let metrics = Metrics()
        let counter = metrics.counter("a_total", "All a.", labels: [("k", "x\"\n\\")])
        counter.increment()
        metrics.counter("a_total", "All a.", labels: [("k", "x\"\n\\")]).increment(by: 2)
        metrics.gauge("b", "Now b.").set(-4)
        let text = metrics.prometheusText()
        #expect(
            text == "# HELP a_total All a.\n# TYPE a_total counter\n"
                + "a_total{k=\"x\\\"\\n\\\\\"} 3\n# HELP b Now b.\n# TYPE b gauge\nb -4\n")
    }

    @Test func `a histogram counts each time in its bucket and in all above`() {
        let metrics = Metrics()
        let histogram = metrics.histogram("t_seconds", "Time.")
        for nanoseconds: Int64 in [0, 50_000, 50_001, 100_000_000, 1 << 40] {
            histogram.record(nanoseconds: nanoseconds)
        }
        let text = metrics.prometheusText()
        #expect(text.contains("t_seconds_bucket{le=\"5e-05\"} 2\n"))
        #expect(text.contains("t_seconds_bucket{le=\"0.0001\"} 3\n"))
        #expect(text.contains("t_seconds_bucket{le=\"0.1\"} 4\n"))
        #expect(text.contains("t_seconds_bucket{le=\"30.0\"} 4\n"))
        #expect(text.contains("t_seconds_bucket{le=\"+Inf\"} 5\n"))
        #expect(text.contains("t_seconds_count 5\n"))
    }

    @Test func `what fails again and again is told first, once a minute, and at its end`() {
        let second: Int64 = 1_000_000_000
        let failure = RepeatedFailure(calm: 5)
        #expect(failure.worked(at: 0) == nil && !failure.isOn)
        #expect(failure.failed(at: 10 * second)?.suffix == "")
        let told = (11..<150).compactMap { failure.failed(at: $0 * second)?.suffix }
        #expect(told == ["; 61 times in 60 s", "; 121 times in 120 s"])
        #expect(failure.worked(at: 153 * second) == nil && failure.isOn)
        #expect(failure.failed(at: 154 * second) == nil)
        let end = failure.worked(at: 159 * second)
        #expect(end?.failures == 141 && end?.seconds == 144 && !failure.isOn)
        #expect(failure.worked(at: 160 * second) == nil)
        #expect(failure.failed(at: 161 * second)?.failures == 1)
    }
}
