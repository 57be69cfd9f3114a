import Glibc
import Synchronization
import Text

/// The severity of a log line, in rising order. Lines below the logger's level are discarded.
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

/// Receives log lines in place of a file descriptor.
package protocol LogSink: Sendable {
    /// Writes a whole line, which includes its line break.
    func write(_ line: [UInt8])
}

/// Writes each event as one line, as JSON or as text. One write(2) for each line keeps the lines of
/// several threads and processes apart. Messages are literals; everything variable is a field whose
/// control characters are escaped, so that input cannot forge a line.
package struct Logger: Sendable {
    package enum Format: Sendable { case json, text }

    var level: Level
    var format: Format
    /// The file descriptor for the lines; standard error by default.
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

    /// Writes bytes to a descriptor. An interrupted write is repeated; other failures are ignored.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { bytes in
            // Failures other than an interruption are ignored, because the service must not stop
            // when its log cannot be written.
            while Glibc.write(descriptor, bytes.baseAddress, bytes.count) < 0, errno == EINTR {}
        }
    }
}

/// Builds the bytes of one line.
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

    /// Appends a text in one piece if it needs no escapes. Otherwise appends nothing and returns
    /// false.
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

    /// Appends a JSON string. DEL and the C1 controls are escaped too, because terminals may
    /// interpret them.
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

    /// Appends the time in RFC 3339, in UTC with milliseconds.
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

/// Decides when a repeated failure is logged: at its beginning, once a minute, and at its end, each
/// time with the count so far.
package final class RepeatedFailure: Sendable {
    /// The numbers for the line that should be logged now.
    package struct News: Sendable, Equatable {
        /// How many failures this outage has had so far.
        package var failures: Int
        /// Seconds since the outage's first failure.
        package var seconds: Int

        /// The text to append to the log line of the failure; empty for the first failure.
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

    /// Makes a detector. `calm` is the number of seconds without a failure after which an outage is
    /// over.
    package init(calm: Int64 = 5) { self.calm = calm * Self.second }

    package var isOn: Bool { isOut.load(ordering: .relaxed) }

    /// Records a failure at `now`, in monotonic nanoseconds. Returns what to log; `nil` if nothing
    /// should be logged.
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

    /// Records a success at `now`, in monotonic nanoseconds. Returns what to log if the outage is
    /// over now. Returns `nil` if there is no outage, or if its last failure is too recent.
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
