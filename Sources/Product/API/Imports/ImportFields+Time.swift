import JSON
import Text

extension ImportFields {
    /// RFC 3339, PostgreSQL's form of it, or seconds or milliseconds since 1970.
    func time(_ names: String...) -> Timestamp? {
        switch value(names) {
        case .number(let text): Self.time(number: text)
        case .string(let text):
            Timestamp(text) ?? Self.time(number: text) ?? Timestamp(Self.standard(text))
        case .object(let members): ImportFields(.object(members)).time("$date")
        default: nil
        }
    }

    private static func time(number text: String) -> Timestamp? {
        guard let number = Int64(text), number > 0 else { return nil }
        // Seconds of before the year 5138 are fewer than milliseconds of after 1973.
        let (milliseconds, isOver) = number.multipliedReportingOverflow(by: 1000)
        if number < 100_000_000_000 {
            return Timestamp(microseconds: milliseconds * 1000)
        }
        return isOver || number > 100_000_000_000_000 ? nil : Timestamp(microseconds: milliseconds)
    }

    /// `2024-05-01 10:00:00.5+00` as RFC 3339 writes it.
    private static func standard(_ text: String) -> String {
        var bytes = Array(text.utf8)
        guard bytes.count > 13, bytes[10] == 0x20 else { return text }
        bytes[10] = 0x54
        let sign = bytes[bytes.count - 3]
        if sign == 0x2B || sign == 0x2D { bytes += Array(":00".utf8) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
