/// A 128-bit identifier (RFC 9562), compared on its bytes and written in lower case.
package struct UUID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Version 4: random. For objects; a mobile client checks the version.
    package static func random() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return UUID(
            high: (generator.next() & ~0xF000) | 0x4000,
            low: (generator.next() >> 2) | 0x8000_0000_0000_0000)
    }

    /// Version 7: ordered by time. For append-only records (audit events, decisions).
    package static func ordered(at time: Timestamp) -> UUID {
        var generator = SystemRandomNumberGenerator()
        let milliseconds = UInt64(max(0, time.microseconds / 1000))
        return UUID(
            high: milliseconds << 16 | 0x7000 | (generator.next() & 0x0FFF),
            low: (generator.next() >> 2) | 0x8000_0000_0000_0000)
    }

    /// Reads the 36-character form, in either case; nil for anything else.
    package init?(_ text: some StringProtocol) {
        var value: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for byte in text.utf8 {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = Self.hexDigit(byte) else { return nil }
                if digits < 16 {
                    value.0 = value.0 << 4 | digit
                } else {
                    value.1 = value.1 << 4 | digit
                }
                digits += 1
            }
            position += 1
            if position > 36 { return nil }
        }
        guard digits == 32, position == 36 else { return nil }
        self.init(high: value.0, low: value.1)
    }

    private static func hexDigit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x61...0x66: UInt64(byte - 0x57)
        case 0x41...0x46: UInt64(byte - 0x37)
        default: nil
        }
    }

    /// Writes the 36 ASCII bytes of the canonical form; `buffer` has room for them.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        precondition(buffer.count >= 36)
        Self.write(high >> 32, 8, buffer, at: 0)
        Self.write(high >> 16, 4, buffer, at: 9)
        Self.write(high, 4, buffer, at: 14)
        Self.write(low >> 48, 4, buffer, at: 19)
        Self.write(low, 12, buffer, at: 24)
        buffer[8] = UInt8(ascii: "-")
        buffer[13] = UInt8(ascii: "-")
        buffer[18] = UInt8(ascii: "-")
        buffer[23] = UInt8(ascii: "-")
    }

    /// The lowest `count` hexadecimal digits of a word.
    @inline(__always)
    private static func write(
        _ word: UInt64, _ count: Int, _ buffer: UnsafeMutableBufferPointer<UInt8>, at: Int
    ) {
        var rest = word
        for index in stride(from: at + count - 1, through: at, by: -1) {
            let nibble = UInt8(truncatingIfNeeded: rest & 15)
            buffer[index] = nibble &+ (nibble < 10 ? 0x30 : 0x57)
            rest >>= 4
        }
    }

    package var description: String {
        String(unsafeUninitializedCapacity: 36) {
            write(into: $0)
            return 36
        }
    }

    package static func < (left: UUID, right: UUID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }
}
