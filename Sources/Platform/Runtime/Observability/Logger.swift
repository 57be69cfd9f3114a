import Glibc
import Synchronization
import Text

/// Ordered by severity; lines below the logger's level are dropped.
package enum Level: Int, Sendable, Comparable, CaseIterable {
    case debug, info, notice, warning, error

    package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

    var name: StaticString {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .notice: "notice"
        case .warning: "warning"
        case .error: "error"
        }
    }
}

/// The value of one field of a log line.
package enum LogValue: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case text(String)
    case int(Int)
    case bool(Bool)
    case double(Double)

    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int) { self = .int(value) }
}

/// Receives the lines in place of the descriptor.
package protocol LogSink: Sendable {
    /// A whole line, its end included.
    func write(_ line: [UInt8])
}

/// Writes one line for each event, as JSON or as text, with one write(2), so that lines of several
/// threads and processes do not mix. Messages are literals. Variable parts are fields, whose
/// control characters are escaped, so that input cannot forge a line.
package struct Logger: Sendable {
    package enum Format: Sendable { case json, text }

    package var level: Level
    package var format: Format
    /// The descriptor of the lines; standard error by default.
    package var descriptor: Int32
    private var sink: (any LogSink)?

    package init(level: Level = .info, format: Format = .json, descriptor: Int32 = 2) {
        self.level = level
        self.format = format
        self.descriptor = descriptor
    }

    package func writing(to sink: any LogSink) -> Logger {
        var logger = self
        logger.sink = sink
        return logger
    }

    package func log(
        _ level: Level, _ message: StaticString, _ fields: [(StaticString, LogValue)] = []
    ) {
        guard level >= self.level else { return }
        var line = LogLine()
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        switch format {
        case .json: line.writeJSON(now, level, message, fields)
        case .text: line.writeText(now, level, message, fields)
        }
        if let sink { sink.write(line.bytes) } else { Self.write(line.bytes, to: descriptor) }
    }

    /// Repeats interrupted writes; ignores failures.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { bytes in
            // A log that cannot be written must not stop the service.
            while Glibc.write(descriptor, bytes.baseAddress, bytes.count) < 0, errno == EINTR {}
        }
    }
}

/// The bytes of one line.
struct LogLine {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(256) }

    mutating func writeJSON(
        _ now: timespec, _ level: Level, _ message: StaticString,
        _ fields: [(StaticString, LogValue)]
    ) {
        append("{\"time\":\"")
        time(now)
        append("\",\"level\":\"")
        append(level.name)
        append("\",\"message\":")
        quoted(message.description)
        for (name, value) in fields {
            append(",")
            quoted(name)
            append(":")
            json(value)
        }
        append("}\n")
    }

    mutating func writeText(
        _ now: timespec, _ level: Level, _ message: StaticString,
        _ fields: [(StaticString, LogValue)]
    ) {
        time(now)
        append(" ")
        append(level.name)
        append(" ")
        append(message)
        for (name, value) in fields {
            append(" ")
            append(name)
            append("=")
            json(value)
        }
        append("\n")
    }

    private mutating func json(_ value: LogValue) {
        switch value {
        case .text(let text): quoted(text)
        case .int(let number): bytes += String(number).utf8
        case .bool(let truth): append(truth ? "true" : "false")
        case .double(let number) where number.isFinite: bytes += String(number).utf8
        case .double: append("null")
        }
    }

    /// The fast path for texts that need no escapes: appends the text in one piece. Otherwise
    /// appends nothing and returns false.
    private mutating func appendPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { run in
            for byte in run
            where byte < 0x20 || byte >= 0x7F || byte == 0x22 || byte == 0x5C { return false }
            bytes.append(contentsOf: run)
            return true
        }
    }

    private mutating func quoted(_ text: StaticString) {
        append("\"")
        append(text)
        append("\"")
    }

    /// A JSON string. DEL and the C1 controls are escaped too, since terminals may interpret them.
    private mutating func quoted(_ text: String) {
        append("\"")
        if appendPlain(text) { return append("\"") }
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: append("\\\"")
            case 0x5C: append("\\\\")
            case 0x0A: append("\\n")
            case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
                append("\\u")
                for shift in [12, 8, 4, 0] as [UInt32] {
                    let nibble = UInt8(scalar.value >> shift & 15)
                    bytes.append(nibble < 10 ? 0x30 + nibble : 0x57 + nibble)
                }
            default: bytes += String(scalar).utf8
            }
        }
        append("\"")
    }

    /// RFC 3339 in UTC with milliseconds.
    private mutating func time(_ now: timespec) {
        let time = Timestamp(
            microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 24) {
            time.write(into: $0)
            bytes.append(contentsOf: $0)
        }
    }

    private mutating func append(_ text: StaticString) {
        bytes += UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }
}

/// Logs a repeated failure at its beginning, once a minute, and at its end, with the count.
package final class RepeatedFailure: Sendable {
    /// What should be logged now.
    package struct News: Sendable, Equatable {
        /// The failures of this outage, including the one that is logged.
        package var failures: Int
        /// Seconds since its first failure.
        package var seconds: Int

        /// Appended to the line about the failure; empty for the first one.
        package var suffix: String {
            failures == 1 ? "" : "; \(failures) times in \(seconds) s"
        }
    }

    private struct State {
        var failures = 0
        var began: Int64 = 0
        var last: Int64 = 0
        var logged: Int64 = 0
    }

    private static let second: Int64 = 1_000_000_000
    private static let pause: Int64 = 60 * second

    /// Nanoseconds without a failure after which the outage is over.
    private let calm: Int64
    private let state = Mutex(State())
    private let isOut = Atomic(false)

    /// `calm` is in seconds. What fails and works in turn is one outage unless it works for this
    /// long.
    package init(calm: Int64 = 5) { self.calm = calm * Self.second }

    package var isOn: Bool { isOut.load(ordering: .relaxed) }

    /// Call on a failure. `now` is nanoseconds of a monotonic clock. `nil` if nothing is to be
    /// logged.
    package func failed(at now: Int64) -> News? {
        state.withLock { state in
            if state.failures == 0 { (state.began, state.logged) = (now, now) }
            state.failures += 1
            state.last = now
            isOut.store(true, ordering: .relaxed)
            if state.failures > 1 {
                guard now - state.logged >= Self.pause else { return nil }
                state.logged = now
            }
            return Self.news(state, until: now)
        }
    }

    /// Call on a success. `nil` if it worked before, or if it is too early to say so.
    package func worked(at now: Int64) -> News? {
        guard isOut.load(ordering: .relaxed) else { return nil }
        return state.withLock { state in
            guard state.failures > 0, now - state.last >= calm else { return nil }
            defer { state = State() }
            isOut.store(false, ordering: .relaxed)
            return Self.news(state, until: state.last)
        }
    }

    private static func news(_ state: State, until now: Int64) -> News {
        News(failures: state.failures, seconds: Int((now - state.began) / second))
    }
}
