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
    package static var postgresType: UInt32 { TypeOID.uuid }

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

/// `timestamptz`: microseconds, counted by PostgreSQL from 2000-01-01. `infinity` is refused.
extension Timestamp: PostgresEncodable, PostgresDecodable {
    private static let epoch: Int64 = 946_684_800_000_000

    package static var postgresType: UInt32 { TypeOID.timestamptz }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(microseconds.subtractingReportingOverflow(Self.epoch).partialValue)
        return true
    }

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

    package func encode(into bytes: inout [UInt8]) -> Bool { self?.encode(into: &bytes) ?? false }
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
    package static var postgresType: UInt32 { TypeOID.text }

    package func encode(into bytes: inout [UInt8]) -> Bool { rawValue.encode(into: &bytes) }
}

extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    /// nil for a text that is no case of the enumeration.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self? {
        String.decode(bytes, type: type).flatMap(Self.init(rawValue:))
    }
}
