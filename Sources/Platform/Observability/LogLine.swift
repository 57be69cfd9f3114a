import Glibc
import Text

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

    /// The fast path for texts without escapes: appends in one piece. Otherwise appends nothing and
    /// returns false.
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
