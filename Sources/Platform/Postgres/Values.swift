import Text

/// A value that can be bound to a statement, in PostgreSQL's binary format.
package protocol PostgresEncodable: Sendable {
    /// The OID of the type in `pg_type`.
    static var postgresType: UInt32 { get }
    /// Appends the binary form to `bytes`. Returns false, and appends nothing, for NULL.
    func encode(into bytes: inout [UInt8]) -> Bool
}

/// A value that can be read from a result column, from PostgreSQL's binary format.
package protocol PostgresDecodable {
    /// Decodes the bytes of a column (`nil` for NULL). `type` is the OID of the column's type.
    /// Returns `nil` if the bytes are not a value of `Self`.
    static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Self?
    /// Returns the value of a column, counted from 0. Throws `.decoding` if the column does not
    /// exist, has another type, or is NULL although `Self` is not optional. The compiler makes one
    /// version of this function for each type. This is faster than generic code, which looked up
    /// the optional's type at each column, so that a row of 32 columns took 7 µs instead of 2.
    static func read(_ column: Int, of row: Row) throws(PostgresError) -> Self
    /// Returns the value of a column like `read`; `nil` if the column is NULL.
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

    /// Decodes a `uuid`; `nil` unless there are exactly 16 bytes.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> UUID? {
        guard let bytes, bytes.count == 16, let high = bytes.bigEndian(UInt64.self),
            let low = bytes.bigEndian(UInt64.self, at: 8)
        else { return nil }
        return UUID(high: high, low: low)
    }
}

extension String: PostgresEncodable, PostgresDecodable {
    package static var postgresType: UInt32 { TypeOID.text }

    /// Appends UTF-8 without a terminator. The server refuses U+0000.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(contentsOf: utf8)
        return true
    }

    /// Decodes a text type or `jsonb`.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> String? {
        guard let bytes else { return nil }
        // The binary form of jsonb is a version byte followed by the text.
        guard type == TypeOID.jsonb else { return String(decoding: bytes, as: UTF8.self) }
        guard bytes.first == 1 else { return nil }
        return String(decoding: bytes.dropFirst(), as: UTF8.self)
    }
}

/// A time is bound as `timestamptz`, in microseconds that PostgreSQL counts from 2000-01-01.
/// `infinity` does not decode.
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
    /// The OID of the wrapped type, which the server needs even for NULL.
    package static var postgresType: UInt32 { Wrapped.postgresType }

    package func encode(into bytes: inout [UInt8]) -> Bool { self?.encode(into: &bytes) ?? false }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// Decodes an optional value: `.some(nil)` is NULL, and `nil` means that the bytes do not
    /// decode.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Wrapped?? {
        guard let bytes else { return .some(nil) }
        return Wrapped.decode(bytes, type: type).map { .some($0) }
    }

    package static func read(_ column: Int, of row: Row) throws(PostgresError) -> Wrapped? {
        try Wrapped.readIfAny(column, of: row)
    }
}

/// An enumeration of strings can be bound if it declares this conformance, without further code. A
/// text that is not one of its cases fails to decode.
extension PostgresEncodable where Self: RawRepresentable, RawValue == String {
    package static var postgresType: UInt32 { TypeOID.text }

    package func encode(into bytes: inout [UInt8]) -> Bool { rawValue.encode(into: &bytes) }
}

extension PostgresDecodable where Self: RawRepresentable, RawValue == String {
    /// Decodes a text as a case of the enumeration; `nil` if no case has this text.
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

    /// Decodes a `double precision`; `real` and `numeric` fail to decode.
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

    /// Decodes a `bool`; `nil` unless there is exactly one byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> Bool? {
        guard let bytes, bytes.count == 1 else { return nil }
        return bytes[0] != 0
    }
}

/// A type that can be an element of a bound or decoded array. An array of `UInt8` is a `bytea`
/// instead.
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
    /// The OID of `bytea`, because PostgreSQL has no one-byte integer.
    package static var postgresType: UInt32 { TypeOID.bytea }
    /// The OID of `bytea`, because an array of bytes is a single value.
    package static var postgresArrayType: UInt32 { TypeOID.bytea }

    /// Appends the byte itself; never NULL.
    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(self)
        return true
    }

    /// Decodes one byte; `nil` unless there is exactly one.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> UInt8? {
        bytes?.count == 1 ? bytes?.first : nil
    }
}

/// Allows arrays of `bytea`.
extension Array: PostgresElement where Element == UInt8 {
    package static var postgresArrayType: UInt32 { TypeOID.byteaArray }
}

extension Array: PostgresEncodable where Element: PostgresElement {
    package static var postgresType: UInt32 { Element.postgresArrayType }

    /// Appends PostgreSQL's binary form of an array of one dimension without NULLs. For `[UInt8]`,
    /// appends the bytes themselves.
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
    /// Decodes an array of one dimension without NULLs; any other array fails to decode.
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

/// An array parameter that is encoded element by element as elements are appended.
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
    /// Appends the header of an array of one dimension without NULLs.
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
    /// The document as given. The server checks it, and stores its members in an order of its own.
    package var text: String

    /// Makes a value from text, which must be one JSON document; PostgreSQL refuses anything else.
    package init(_ text: String) { self.text = text }

    package static var postgresType: UInt32 { TypeOID.jsonb }

    package func encode(into bytes: inout [UInt8]) -> Bool {
        bytes.append(1)
        bytes.append(contentsOf: text.utf8)
        return true
    }

    /// Decodes `jsonb` or any text type; `nil` if `jsonb` has an unknown version byte.
    package static func decode(_ bytes: UnsafeRawBufferPointer?, type: UInt32) -> JSONB? {
        String.decode(bytes, type: type).map(JSONB.init)
    }
}
