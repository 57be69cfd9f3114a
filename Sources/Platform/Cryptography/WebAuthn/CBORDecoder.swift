/// A strict decoder of CBOR in the canonical form of CTAP2 (Client to Authenticator Protocol 2.1,
/// section 8). Lengths are definite and as short as possible, map keys are sorted and unique, and
/// nesting has at most four levels. So each value has exactly one encoding.
package struct CBORDecoder {
    /// The maximum length of an input, in bytes. A longer input is refused before it is decoded. An
    /// attestation without certificates is shorter than 2 KiB.
    package static let lengthLimit = 64 * 1024
    private static let depthLimit = 4
    private static let valuesLimit = 256

    private let bytes: [UInt8]
    private var values = 0
    /// The offset of the next value in the bytes.
    package private(set) var offset: Int

    package init(_ bytes: [UInt8], at offset: Int = 0) {
        self.bytes = bytes
        self.offset = offset
    }

    /// Decodes bytes that must be exactly one value.
    package static func whole(_ bytes: [UInt8]) throws(CBORFault) -> CBORValue {
        var decoder = CBORDecoder(bytes)
        let value = try decoder.value()
        guard decoder.offset == bytes.count else { throw .trailingBytes }
        return value
    }

    /// Decodes the value at `offset`; other values may follow it.
    package mutating func value() throws(CBORFault) -> CBORValue {
        guard bytes.count <= Self.lengthLimit else { throw .tooLong }
        return try value(depth: 0)
    }

    private mutating func value(depth: Int) throws(CBORFault) -> CBORValue {
        values += 1
        guard values <= Self.valuesLimit else { throw .tooManyValues }
        guard offset < bytes.count else { throw .truncated }
        let first = bytes[offset]
        offset += 1
        if first >> 5 == 7 { return try simple(first) }
        let argument = try argument(first & 0x1F)
        switch first >> 5 {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(try take(argument))
        case 3: return .text(try text(argument))
        case 4: return .array(try elements(argument, depth: depth + 1))
        case 5: return .map(try entries(argument, depth: depth + 1))
        default: throw .unsupported
        }
    }

    private func simple(_ first: UInt8) throws(CBORFault) -> CBORValue {
        switch first & 0x1F {
        case 20: return .bool(false)
        case 21: return .bool(true)
        default: throw .unsupported
        }
    }

    /// Reads the number or the length that the first byte of a value introduces.
    private mutating func argument(_ information: UInt8) throws(CBORFault) -> UInt64 {
        switch information {
        case 0...23: return UInt64(information)
        case 24...27:
            let size = 1 << Int(information - 24)
            let value = try take(UInt64(size)).reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let needed: UInt64 = size == 1 ? 24 : 1 << UInt64(size * 4)
            guard value >= needed else { throw .notShortest }
            return value
        case 31: throw .indefiniteLength
        default: throw .unsupported
        }
    }

    private mutating func take(_ length: UInt64) throws(CBORFault) -> [UInt8] {
        guard length <= UInt64(bytes.count - offset) else { throw .truncated }
        let end = offset + Int(length)
        defer { offset = end }
        return Array(bytes[offset..<end])
    }

    private mutating func text(_ length: UInt64) throws(CBORFault) -> String {
        guard let text = String(validating: try take(length), as: UTF8.self) else {
            throw .notUTF8
        }
        return text
    }

    private mutating func elements(
        _ count: UInt64, depth: Int
    ) throws(CBORFault) -> [CBORValue] {
        try requireRoom(for: count, depth: depth)
        var elements: [CBORValue] = []
        for _ in 0..<count { elements.append(try value(depth: depth)) }
        return elements
    }

    private mutating func entries(
        _ count: UInt64, depth: Int
    ) throws(CBORFault) -> [CBORValue.Entry] {
        try requireRoom(for: count, depth: depth)
        var entries: [CBORValue.Entry] = []
        var keys: [ArraySlice<UInt8>] = []
        for _ in 0..<count {
            let start = offset
            let key = try value(depth: depth)
            let encoded = bytes[start..<offset]
            guard Self.isKey(key) else { throw .keyRefused }
            guard !keys.contains(encoded) else { throw .duplicateKey }
            if let last = keys.last, !Self.precedes(last, encoded) { throw .unsortedKeys }
            keys.append(encoded)
            entries.append(CBORValue.Entry(key: key, value: try value(depth: depth)))
        }
        return entries
    }

    /// Refuses a count of elements that the remaining bytes cannot contain, before anything is
    /// allocated. Each element takes at least one byte.
    private func requireRoom(for count: UInt64, depth: Int) throws(CBORFault) {
        guard depth <= Self.depthLimit else { throw .tooDeep }
        guard count <= UInt64(bytes.count - offset) else { throw .truncated }
    }

    private static func isKey(_ value: CBORValue) -> Bool {
        switch value {
        case .unsigned, .negative, .text: true
        default: false
        }
    }

    /// Whether one encoded map key comes before another: by type, then by length, then byte by
    /// byte.
    private static func precedes(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        let (one, other) = (left.first ?? 0, right.first ?? 0)
        if one >> 5 != other >> 5 { return one >> 5 < other >> 5 }
        if left.count != right.count { return left.count < right.count }
        return left.lexicographicallyPrecedes(right)
    }
}

/// A CBOR value (RFC 8949), of the kinds that authenticators send.
package indirect enum CBORValue: Sendable, Equatable {
    case unsigned(UInt64)
    /// The number -1 - n, where n is the associated value.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// A map. Its entries are in the order in which they are encoded, which the canonical form
    /// prescribes.
    case map([Entry])
    case bool(Bool)

    /// A key of a map with its value.
    package struct Entry: Sendable, Equatable {
        var key: CBORValue
        package var value: CBORValue
    }

    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    var entries: [Entry]? { if case .map(let entries) = self { entries } else { nil } }

    /// The value as an integer; `nil` if it is not a number or does not fit into `Int`.
    var number: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }
}

/// Why bytes are not exactly one CBOR value in the canonical form of CTAP2.
package enum CBORFault: String, Error, Sendable, Equatable {
    /// The bytes end inside a value, or a length reaches beyond them.
    case truncated
    case trailingBytes = "trailing_bytes"
    case indefiniteLength = "indefinite_length"
    /// A number or a length is encoded in more bytes than it needs.
    case notShortest = "not_shortest"
    case duplicateKey = "duplicate_key"
    case unsortedKeys = "unsorted_keys"
    /// The key of a map is neither a number nor text.
    case keyRefused = "key_refused"
    case tooDeep = "too_deep"
    case tooManyValues = "too_many_values"
    case tooLong = "too_long"
    case notUTF8 = "not_utf8"
    /// The input contains a tag, a floating-point number, null, undefined or a reserved value.
    /// Passkeys need none of these.
    case unsupported
}
