/// A position in PostgreSQL's write-ahead log, as `16/B374D848`. It grows with each change.
package struct WALPosition: Sendable, Comparable, CustomStringConvertible {
    package let offset: UInt64

    package init(offset: UInt64) { self.offset = offset }

    /// Before every change.
    package static let start = WALPosition(offset: 0)
    /// After every change that there will ever be.
    package static let end = WALPosition(offset: .max)

    /// Two hexadecimal numbers of at most 32 bits each, with a slash between; nil for other text.
    package init?(_ text: String) {
        let halves = text.split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, let high = Self.number(halves[0]), let low = Self.number(halves[1])
        else { return nil }
        offset = UInt64(high) << 32 | UInt64(low)
    }

    private static func number(_ text: Substring) -> UInt32? {
        guard (1...8).contains(text.utf8.count), text.utf8.first != UInt8(ascii: "+") else {
            return nil
        }
        return UInt32(text, radix: 16)
    }

    /// As PostgreSQL writes it.
    package var description: String {
        let high = String(offset >> 32, radix: 16, uppercase: true)
        return high + "/" + String(offset & 0xFFFF_FFFF, radix: 16, uppercase: true)
    }

    package static func < (one: WALPosition, other: WALPosition) -> Bool {
        one.offset < other.offset
    }
}

extension WALPosition: PostgresDecodable {
    /// A `pg_lsn`; nil for NULL.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer?, type: UInt32
    ) -> WALPosition? {
        guard let bytes, bytes.count == 8 else { return nil }
        return bytes.bigEndian(UInt64.self).map(WALPosition.init(offset:))
    }
}
