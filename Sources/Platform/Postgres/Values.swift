import Text

/// A value that can be bound, in PostgreSQL's binary format.
package protocol PostgresEncodable: Sendable {
    /// The type's OID in `pg_type`.
    static var postgresType: UInt32 { get }
    /// Appends the binary form; false for NULL.
    func encode(into bytes: inout [UInt8]) -> Bool
}

/// A value that can be read from a result column, from PostgreSQL's binary format.
package protocol PostgresDecodable {
    /// The value for these bytes (nil: NULL) of a column with this type OID; nil if it is not one.
    static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self?
}

enum TypeOID {
    static let bool: UInt32 = 16
    static let bytea: UInt32 = 17
    static let int8: UInt32 = 20
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let byteaArray: UInt32 = 1001
    static let textArray: UInt32 = 1009
    static let timestamptz: UInt32 = 1184
    static let uuid: UInt32 = 2950
    static let uuidArray: UInt32 = 2951
    static let jsonb: UInt32 = 3802
}

extension [UInt8] {
    mutating func appendBigEndian<T: FixedWidthInteger>(_ value: T) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }
}

extension UnsafeRawBufferPointer {
    func bigEndian<T: FixedWidthInteger>(_ type: T.Type, at offset: Int = 0) -> T? {
        guard offset >= 0, offset + MemoryLayout<T>.size <= count else { return nil }
        return T(bigEndian: loadUnaligned(fromByteOffset: offset, as: T.self))
    }
}

extension UUID: PostgresEncodable, PostgresDecodable {
    /// OID of `uuid`.
    package static var postgresType: UInt32 { TypeOID.uuid }

    /// 16 bytes, the high half first.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(high)
        bytes.appendBigEndian(low)
        return true
    }

    /// nil unless the column holds exactly 16 bytes.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> UUID? {
        guard let bytes, bytes.count == 16, let high = bytes.bigEndian(UInt64.self),
            let low = bytes.bigEndian(UInt64.self, at: 8)
        else { return nil }
        return UUID(high: high, low: low)
    }
}

extension String: PostgresEncodable, PostgresDecodable {
    /// OID of `text`.
    package static var postgresType: UInt32 { TypeOID.text }

    /// UTF-8 without a terminator; the server refuses U+0000.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }

    /// Also reads `jsonb`, whose binary form has a version byte first.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> String? {
        guard let bytes else { return nil }
        // jsonb's binary form is a version byte, then the text.
        guard type == TypeOID.jsonb else { return String(decoding: bytes, as: UTF8.self) }
        guard bytes.first == 1 else { return nil }
        return String(decoding: bytes.dropFirst(), as: UTF8.self)
    }
}

/// A JSON document as text, bound as `jsonb`.
package struct JSONB: PostgresEncodable, PostgresDecodable, Hashable {
    /// The document as written; the server checks it and stores it in its own order.
    package var text: String

    /// `text` must be one JSON document: PostgreSQL refuses anything else.
    package init(_ text: String) {
        self.text = text
    }

    /// OID of `jsonb`.
    package static var postgresType: UInt32 { TypeOID.jsonb }

    /// Version byte 1, then the text.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(1)
        bytes.append(contentsOf: text.utf8)
        return true
    }

    /// Reads `jsonb` and any text type; nil for an unknown version byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> JSONB? {
        String.decode(bytes, type: type).map(JSONB.init)
    }
}

/// Integers are bound as `bigint`, and read from any integer column if the value fits.
extension Int64: PostgresEncodable, PostgresDecodable {
    /// OID of `bigint`.
    package static var postgresType: UInt32 { TypeOID.int8 }

    /// 8 bytes, big-endian.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(self)
        return true
    }

    /// Reads 2, 4 or 8 bytes; nil for another length.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Int64? {
        guard let bytes else { return nil }
        return switch bytes.count {
        case 8: bytes.bigEndian(Int64.self)
        case 4: bytes.bigEndian(Int32.self).map(Int64.init)
        case 2: bytes.bigEndian(Int16.self).map(Int64.init)
        default: nil
        }
    }
}

extension Int: PostgresEncodable, PostgresDecodable {
    /// OID of `bigint`.
    package static var postgresType: UInt32 { TypeOID.int8 }

    /// 8 bytes, big-endian.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        Int64(self).encode(into: &bytes)
    }

    /// As `Int64`.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Int? {
        Int64.decode(bytes, type: type).flatMap { Int(exactly: $0) }
    }
}

extension Double: PostgresEncodable, PostgresDecodable {
    /// OID of `double precision`.
    package static var postgresType: UInt32 { TypeOID.float8 }

    /// 8 bytes of IEEE 754, big-endian.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(bitPattern)
        return true
    }

    /// Only from `double precision`: `real` and `numeric` fail to decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Double? {
        guard type == TypeOID.float8 else { return nil }
        return bytes?.bigEndian(UInt64.self).map(Double.init(bitPattern:))
    }
}

extension Bool: PostgresEncodable, PostgresDecodable {
    /// OID of `boolean`.
    package static var postgresType: UInt32 { TypeOID.bool }

    /// One byte, 0 or 1.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }

    /// nil unless the column holds exactly one byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Bool? {
        guard let bytes, bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }
}

/// `timestamptz`: microseconds, counted by PostgreSQL from 2000-01-01. `infinity` is refused.
extension Timestamp: PostgresEncodable, PostgresDecodable {
    private static let epoch: Int64 = 946_684_800_000_000

    /// OID of `timestamptz`.
    package static var postgresType: UInt32 { TypeOID.timestamptz }

    /// 8 bytes: microseconds since 2000-01-01 UTC.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(microseconds.subtractingReportingOverflow(Self.epoch).partialValue)
        return true
    }

    /// nil for `infinity`, `-infinity` and values that overflow.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Timestamp? {
        guard let bytes, bytes.count == 8, let value = bytes.bigEndian(Int64.self),
            value != .max, value != .min
        else { return nil }
        let sum = value.addingReportingOverflow(epoch)
        return sum.overflow ? nil : Timestamp(microseconds: sum.partialValue)
    }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    /// The wrapped type's OID: the server needs it for NULL too.
    package static var postgresType: UInt32 { Wrapped.postgresType }

    /// false for nil, which binds NULL.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        self?.encode(into: &bytes) ?? false
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// The inner nil is NULL; the outer nil is a value that does not decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Wrapped?? {
        guard let bytes else { return .some(nil) }
        return Wrapped.decode(bytes, type: type).map { .some($0) }
    }
}

/// A string enumeration opts in with an empty conformance; an unknown value fails to decode.
extension PostgresEncodable where Self: RawRepresentable, RawValue == String {
    /// OID of `text`.
    package static var postgresType: UInt32 { TypeOID.text }

    /// The raw value as text.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        rawValue.encode(into: &bytes)
    }
}

extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    /// nil for a text that is no case of the enumeration.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self? {
        String.decode(bytes, type: type).flatMap(Self.init(rawValue:))
    }
}
