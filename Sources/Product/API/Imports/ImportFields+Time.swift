import JSON
import Text

extension ImportFields {
    /// RFC 3339, PostgreSQL's form of it, a date, or seconds or milliseconds since 1970. Without a zone
    /// it is UTC.
    func time(_ names: String...) -> Timestamp? { zonedTime(names)?.time }

    /// The same, and whether a zone is missing, which is to be said.
    func zonedTime(_ names: [String]) -> (time: Timestamp, hasZone: Bool)? {
        switch value(names) {
        case .number(let text): return Self.time(number: text).map { ($0, true) }
        case .string(let text):
            let text = Self.standard(DisplayText.stripped(text))
            if let time = Timestamp(text) ?? Self.time(number: text) { return (time, true) }
            let whole = text.utf8.count == 10 ? text + "T00:00:00" : text
            return Timestamp(whole + "Z").map { ($0, false) }
        case .object(let members): return ImportFields(.object(members)).zonedTime(["$date"])
        default: return nil
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

    /// `2024-05-01 10:00:00.5+00` or `2024-05-01 10:00 UTC` as RFC 3339 writes it.
    private static func standard(_ text: String) -> String {
        var bytes = Array(text.utf8)
        guard bytes.count > 13, bytes[10] == 0x20 || bytes[10] == 0x54 else { return text }
        bytes[10] = 0x54
        for zone in [" UTC", " Z"] where bytes.reversed().starts(with: zone.utf8.reversed()) {
            bytes = bytes.dropLast(zone.utf8.count) + [0x5A]
        }
        let sign = bytes[bytes.count - 3]
        if bytes.count > 19, sign == 0x2B || sign == 0x2D { bytes += Array(":00".utf8) }
        // Without seconds.
        if bytes.count == 16 { bytes += Array(":00".utf8) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
