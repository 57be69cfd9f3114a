import Glibc

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

/// Receives the lines instead of the descriptor.
package protocol LogSink: Sendable {
    /// A whole line, its end included.
    func write(_ line: [UInt8])
}

/// Writes one line for each event, as JSON or as text, by one write(2), so that lines of several
/// threads and processes do not mix. Messages are literals; variable parts are fields, whose
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
