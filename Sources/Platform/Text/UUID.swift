/// A 128-bit identifier (RFC 9562), compared by its bytes and written in lower case.
package struct UUID: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a random id (version 4), the kind of id that objects get. A mobile client checks
    /// that an id has this version.
    package static func random() -> UUID {
        var generator = SystemRandomNumberGenerator()
        return UUID(
            high: (generator.next() & ~0xF000) | 0x4000,
            low: (generator.next() >> 2) | 0x8000_0000_0000_0000)
    }

    /// Whether the id has the form of version 4, as `random` makes it.
    package var isRandom: Bool { high & 0xF000 == 0x4000 && low >> 62 == 0b10 }

    /// Returns an id that is ordered by time (version 7). Records that are only appended, such as
    /// audit events and decisions, get such ids.
    package static func ordered(at time: Timestamp) -> UUID {
        var generator = SystemRandomNumberGenerator()
        let milliseconds = UInt64(max(0, time.microseconds / 1000))
        return UUID(
            high: milliseconds << 16 | 0x7000 | (generator.next() & 0x0FFF),
            low: (generator.next() >> 2) | 0x8000_0000_0000_0000)
    }

    /// Reads an id of 36 characters, in upper or lower case; `nil` for any other text.
    package init?(_ text: some StringProtocol) {
        var value: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for byte in text.utf8 {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = hexDigit(byte) else { return nil }
                if digits < 16 {
                    value.0 = value.0 << 4 | UInt64(digit)
                } else {
                    value.1 = value.1 << 4 | UInt64(digit)
                }
                digits += 1
            }
            position += 1
            if position > 36 { return nil }
        }
        guard digits == 32, position == 36 else { return nil }
        self.init(high: value.0, low: value.1)
    }

    /// Writes the canonical form as 36 ASCII bytes. `buffer` must have room for them.
    package func write(into buffer: UnsafeMutableBufferPointer<UInt8>) {
        precondition(buffer.count >= 36)
        let out = UnsafeMutableRawBufferPointer(buffer)
        let parts = (
            Self.digits(high >> 32), Self.digits(high), Self.digits(low >> 32), Self.digits(low)
        )
        out.storeBytes(of: parts.0.bigEndian, as: UInt64.self)
        Self.store(parts.1, out, 9, 14)
        Self.store(parts.2, out, 19, 24)
        out.storeBytes(of: parts.3.bigEndian, toByteOffset: 28, as: UInt64.self)
        buffer[8] = UInt8(ascii: "-")
        buffer[13] = UInt8(ascii: "-")
        buffer[18] = UInt8(ascii: "-")
        buffer[23] = UInt8(ascii: "-")
    }

    /// Stores eight hexadecimal digits: the first four at the offset `first`, the last four at the
    /// offset `second`.
    @inline(__always)
    private static func store(
        _ digits: UInt64, _ out: UnsafeMutableRawBufferPointer, _ first: Int, _ second: Int
    ) {
        let halves = (UInt32(truncatingIfNeeded: digits >> 32), UInt32(truncatingIfNeeded: digits))
        out.storeBytes(of: halves.0.bigEndian, toByteOffset: first, as: UInt32.self)
        out.storeBytes(of: halves.1.bigEndian, toByteOffset: second, as: UInt32.self)
    }

    /// Returns the lowest eight hexadecimal digits of a word as one ASCII byte each. First each
    /// digit gets a byte of its own; then all bytes are turned into ASCII at once.
    @inline(__always)
    private static func digits(_ word: UInt64) -> UInt64 {
        var spread = word & 0xFFFF_FFFF
        spread = (spread << 16 | spread) & 0x0000_FFFF_0000_FFFF
        spread = (spread << 8 | spread) & 0x00FF_00FF_00FF_00FF
        spread = (spread << 4 | spread) & 0x0F0F_0F0F_0F0F_0F0F
        let isLetter = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return spread &+ 0x3030_3030_3030_3030 &+ isLetter &* 0x27
    }

    /// The id in lower-case hexadecimal with hyphens (RFC 9562).
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
