import Text

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

    /// nil unless the column holds exactly one byte.
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
