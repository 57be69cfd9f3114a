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
    /// Decodes these bytes (`nil` for NULL) of a column with this type OID; `nil` if they do not
    /// fit.
    static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self?
    /// The value of a column, counted from 0. Throws `.decoding` if it is NULL and `Self` is not
    /// optional, or of another type, or not there. The compiler makes one of these for each type:
    /// generic code that decodes looks the optional's type up at each column, which made a row of
    /// 32 columns take 7 µs instead of 2.
    static func read(_ column: Int, of row: Row) throws(PostgresError) -> Self
    /// The same; `nil` if the column is NULL.
    static func readIfAny(_ column: Int, of row: Row) throws(PostgresError) -> Self?
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

    /// `nil` unless the column holds exactly 16 bytes.
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
    /// The inner `nil` is NULL; the outer `nil` is a value that does not decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Wrapped?? {
        guard let bytes else { return .some(nil) }
        return Wrapped.decode(bytes, type: type).map { .some($0) }
    }

    package static func read(_ column: Int, of row: Row) throws(PostgresError) -> Wrapped? {
        try Wrapped.readIfAny(column, of: row)
    }
}

/// A string enumeration opts in with an empty conformance; an unknown value fails to decode.
extension PostgresEncodable where Self: RawRepresentable, RawValue == String {
    package static var postgresType: UInt32 { TypeOID.text }

    package func encode(into bytes: inout [UInt8]) -> Bool { rawValue.encode(into: &bytes) }
}

extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    /// `nil` for a text that is not a case of the enumeration.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self? {
        String.decode(bytes, type: type).flatMap(Self.init(rawValue:))
    }
}

/// Integers are bound as `bigint`, and read from any integer column if the value fits.
extension Int64: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.int8 }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.appendBigEndian(self)
        return true
    }

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
    package static var postgresType: UInt32 { TypeOID.int8 }

    package func encode(into bytes: inout [UInt8]) -> Bool { Int64(self).encode(into: &bytes) }

    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Int? {
        Int64.decode(bytes, type: type).flatMap { Int(exactly: $0) }
    }
}

extension Double: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.float8 }

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
    package static var postgresType: UInt32 { TypeOID.bool }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self ? 1 : 0)
        return true
    }

    /// `nil` unless the column holds exactly one byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Bool? {
        guard let bytes, bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }
}

/// A type that a bound or decoded array may contain, besides `UInt8`, which makes a `bytea`.
package protocol PostgresElement: PostgresEncodable, PostgresDecodable {
    static var postgresArrayType: UInt32 { get }
}

extension String: PostgresElement {
    package static var postgresArrayType: UInt32 { TypeOID.textArray }
}

extension UUID: PostgresElement {
    package static var postgresArrayType: UInt32 { TypeOID.uuidArray }
}

extension Int64: PostgresElement {
    package static var postgresArrayType: UInt32 { 1016 }
}

extension Timestamp: PostgresElement {
    package static var postgresArrayType: UInt32 { 1185 }
}

extension UInt8: PostgresElement {
    /// `bytea`, not a number: PostgreSQL has no one-byte integer.
    package static var postgresType: UInt32 { TypeOID.bytea }
    /// `bytea`: an array of bytes is one scalar.
    package static var postgresArrayType: UInt32 { TypeOID.bytea }

    /// Appends the byte itself; never NULL.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self)
        return true
    }

    /// `nil` unless the column holds exactly one byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> UInt8? {
        bytes?.count == 1 ? bytes?.first : nil
    }
}

/// `bytea` in an array of its own.
extension Array: PostgresElement where Element == UInt8 {
    package static var postgresArrayType: UInt32 { TypeOID.byteaArray }
}

extension Array: PostgresEncodable where Element: PostgresElement {
    package static var postgresType: UInt32 { Element.postgresArrayType }

    /// PostgreSQL's binary array form: one dimension, no NULL; raw bytes for `[UInt8]`.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        if Element.self == UInt8.self {
            withUnsafeBytes { bytes.append(contentsOf: $0) }
            return true
        }
        bytes.appendArrayHead(of: Element.postgresType, count: Int32(count))
        for element in self {
            let at = bytes.count
            bytes.appendBigEndian(Int32(0))
            _ = element.encode(into: &bytes)
            let length = UInt32(bytes.count - at - 4)
            for index in 0..<4 {
                bytes[at + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index))
            }
        }
        return true
    }
}

extension Array: PostgresDecodable where Element: PostgresElement {
    /// One dimension, no NULL inside; anything else fails to decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> [Element]? {
        guard let bytes else { return nil }
        if Element.self == UInt8.self { return [UInt8](bytes) as? [Element] }
        guard let dimensions = bytes.bigEndian(Int32.self),
            let element = bytes.bigEndian(UInt32.self, at: 8)
        else { return nil }
        if dimensions == 0 { return [] }
        guard dimensions == 1, let count = bytes.bigEndian(Int32.self, at: 12),
            count >= 0, Int(count) <= bytes.count / 4
        else { return nil }
        var values: [Element] = []
        values.reserveCapacity(Int(count))
        var at = 20
        for _ in 0..<count {
            guard let length = bytes.bigEndian(Int32.self, at: at), length >= 0,
                at + 4 + Int(length) <= bytes.count
            else { return nil }
            let slice = UnsafeRawBufferPointer(rebasing: bytes[at + 4..<at + 4 + Int(length)])
            guard let value = Element.decode(slice, type: element) else { return nil }
            values.append(value)
            at += 4 + Int(length)
        }
        return values
    }
}

/// An array that is bound as it grows, element by element in the binary format.
struct BoundArray {
    let arrayType: UInt32
    private let type: UInt32
    private var count: Int32 = 0
    private var elements: [UInt8] = []

    init(of type: UInt32, in arrayType: UInt32) {
        self.type = type
        self.arrayType = arrayType
    }

    mutating func append(_ value: UUID) {
        count += 1
        elements.appendBigEndian(Int32(16))
        elements.appendBigEndian(value.high)
        elements.appendBigEndian(value.low)
    }

    mutating func append(_ value: UnsafeRawBufferPointer) {
        count += 1
        elements.appendBigEndian(Int32(value.count))
        elements.append(contentsOf: value)
    }

    mutating func clear() {
        count = 0
        elements.removeAll(keepingCapacity: true)
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.appendArrayHead(of: type, count: count)
        bytes.append(contentsOf: elements)
    }
}

extension [UInt8] {
    /// The header of an array: one dimension, no NULL inside.
    fileprivate mutating func appendArrayHead(of type: UInt32, count: Int32) {
        appendBigEndian(Int32(count == 0 ? 0 : 1))
        appendBigEndian(Int32(0))
        appendBigEndian(type)
        guard count > 0 else { return }
        appendBigEndian(count)
        appendBigEndian(Int32(1))
    }
}

/// A JSON document as text, bound as `jsonb`.
package struct JSONB: PostgresEncodable, PostgresDecodable, Hashable {
    /// The document as written; the server checks it and stores it in its own order.
    package var text: String

    /// `text` must be one JSON document: PostgreSQL refuses anything else.
    package init(_ text: String) { self.text = text }

    package static var postgresType: UInt32 { TypeOID.jsonb }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(1)
        bytes.append(contentsOf: text.utf8)
        return true
    }

    /// Reads `jsonb` and any text type; `nil` for an unknown version byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> JSONB? {
        String.decode(bytes, type: type).map(JSONB.init)
    }
}
