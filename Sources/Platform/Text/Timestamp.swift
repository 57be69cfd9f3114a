import Glibc

/// A time in UTC with microseconds. In JSON it is written in RFC 3339 with milliseconds.
package struct Timestamp: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Microseconds since 1970-01-01 UTC; negative for earlier times.
    package var microseconds: Int64

    package init(microseconds: Int64) { self.microseconds = microseconds }

    /// Returns the time of the machine's clock. Only the main program calls this; all other code is
    /// given a clock.
    package static func systemClock() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(microseconds: Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000)
    }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microseconds < right.microseconds
    }

    package func adding(seconds: Int64) -> Timestamp {
        Timestamp(microseconds: microseconds + seconds * 1_000_000)
    }

    /// The time as `2026-11-20T09:30:00.000Z`, 24 bytes.
    package var description: String {
        String(unsafeUninitializedCapacity: 24) { buffer in
            write(into: buffer)
            return 24
        }
    }

    /// Writes the 24 bytes of `description`. A year outside 0–9999 is written as the nearest year
    /// in this range.
    package func write(into out: UnsafeMutableBufferPointer<UInt8>) {
        let (date, millis) = civil()
        precondition(out.count >= 24)
        @inline(__always)
        func pair(_ value: Int64, _ at: Int) {
            let value = UInt32(truncatingIfNeeded: value)
            out[at] = UInt8(truncatingIfNeeded: 0x30 + value / 10)
            out[at + 1] = UInt8(truncatingIfNeeded: 0x30 + value % 10)
        }
        let year = min(max(date.year, 0), 9999)
        pair(year / 100, 0)
        pair(year % 100, 2)
        pair(date.month, 5)
        pair(date.day, 8)
        let seconds = millis / 1000
        pair(seconds / 3600, 11)
        pair(seconds / 60 % 60, 14)
        pair(seconds % 60, 17)
        let fraction = millis % 1000
        pair(fraction / 10, 20)
        out[22] = UInt8(truncatingIfNeeded: 0x30 + fraction % 10)
        out[4] = 0x2D
        out[7] = 0x2D
        out[10] = 0x54
        out[13] = 0x3A
        out[16] = 0x3A
        out[19] = 0x2E
        out[23] = 0x5A
    }

    /// Returns the Gregorian date and the milliseconds of the day. The date comes from H. Hinnant's
    /// algorithm, which counts in eras of 400 years.
    private func civil() -> (date: (year: Int64, month: Int64, day: Int64), millis: Int64) {
        let dayLength: Int64 = 86_400_000_000
        let days =
            microseconds >= 0
            ? microseconds / dayLength : (microseconds &- dayLength &+ 1) / dayLength
        let millis = (microseconds - days * dayLength) / 1000
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthPart = (5 * dayOfYear + 2) / 153
        let month = monthPart < 10 ? monthPart + 3 : monthPart - 9
        return (
            (
                yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
                dayOfYear - (153 * monthPart + 2) / 5 + 1
            ),
            millis
        )
    }

    /// Reads a time in the form of RFC 3339, with any offset. There may be any number of fractional
    /// digits, but only the first six count. Returns `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20 else { return nil }
        func number(_ at: Int, _ count: Int) -> Int64? {
            guard at + count <= bytes.count else { return nil }
            var value: Int64 = 0
            for byte in bytes[at..<at + count] {
                guard byte >= 0x30, byte <= 0x39 else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            return value
        }
        guard let year = number(0, 4), bytes[4] == 0x2D, let month = number(5, 2),
            bytes[7] == 0x2D, let day = number(8, 2), bytes[10] == 0x54 || bytes[10] == 0x74,
            let hour = number(11, 2), bytes[13] == 0x3A, let minute = number(14, 2),
            bytes[16] == 0x3A, let second = number(17, 2),
            (1...12).contains(month), day >= 1, hour <= 23, minute <= 59, second <= 59
        else { return nil }
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths: [Int64] = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day <= lengths[Int(month) - 1] else { return nil }
        var at = 19
        var fraction: Int64 = 0
        if bytes[at] == 0x2E {
            var digits = 0
            at += 1
            while at < bytes.count, bytes[at] >= 0x30, bytes[at] <= 0x39 {
                if digits < 6 { fraction = fraction * 10 + Int64(bytes[at] - 0x30) }
                digits += 1
                at += 1
            }
            guard digits > 0 else { return nil }
            for _ in min(digits, 6)..<6 { fraction *= 10 }
        }
        guard at < bytes.count else { return nil }
        var offset: Int64 = 0
        if bytes[at] == 0x5A || bytes[at] == 0x7A {
            guard at + 1 == bytes.count else { return nil }
        } else {
            guard bytes[at] == 0x2B || bytes[at] == 0x2D, at + 6 == bytes.count,
                let offsetHours = number(at + 1, 2), bytes[at + 3] == 0x3A,
                let offsetMinutes = number(at + 4, 2), offsetHours <= 23, offsetMinutes <= 59
            else { return nil }
            offset = (offsetHours * 60 + offsetMinutes) * 60 * (bytes[at] == 0x2D ? -1 : 1)
        }
        let shiftedYear = year - (month <= 2 ? 1 : 0)
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        microseconds = seconds * 1_000_000 + fraction
    }
}
