import Glibc

/// The Date field (RFC 9110 §5.6.7), formatted once a second.
package struct HTTPDate {
    private var text: [UInt8] = []
    private var takenAt = Int64.min / 2

    /// `now` in monotonic nanoseconds.
    mutating func refresh(_ now: Int64) {
        guard text.isEmpty || now - takenAt >= 1_000_000_000 || now < takenAt else { return }
        takenAt = now
        text = Self.format(time(nil))
    }

    func withBytes(_ body: (UnsafeRawBufferPointer) -> Void) { text.withUnsafeBytes { body($0) } }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, from seconds since 1970.
    package static func text(_ seconds: Int64) -> String {
        String(decoding: format(time_t(seconds)), as: UTF8.self)
    }

    static func format(_ seconds: time_t) -> [UInt8] {
        var seconds = seconds
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let days = Array("SunMonTueWedThuFriSat".utf8)
        let months = Array("JanFebMarAprMayJunJulAugSepOctNovDec".utf8)
        func name(_ table: [UInt8], _ index: Int32) -> ArraySlice<UInt8> {
            table[Int(index) * 3..<Int(index) * 3 + 3]
        }
        func two(_ value: Int32) -> [UInt8] {
            [UInt8(0x30 + value / 10 % 10), UInt8(0x30 + value % 10)]
        }
        let year = parts.tm_year + 1900
        return name(days, parts.tm_wday) + Array(", ".utf8) + two(parts.tm_mday) + [0x20]
            + name(months, parts.tm_mon) + [0x20] + two(year / 100) + two(year % 100) + [0x20]
            + two(parts.tm_hour) + [0x3A] + two(parts.tm_min) + [0x3A] + two(parts.tm_sec)
            + Array(" GMT".utf8)
    }
}
