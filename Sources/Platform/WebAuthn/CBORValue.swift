/// A value of CBOR (RFC 8949), of the kinds that authenticators send.
package indirect enum CBORValue: Sendable, Equatable {
    case unsigned(UInt64)
    /// The number -1 - n.
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    /// In the order of the bytes, which the canonical form fixes.
    case map([Entry])
    case bool(Bool)

    /// A key of a map with its value.
    package struct Entry: Sendable, Equatable {
        package var key: CBORValue
        package var value: CBORValue
    }

    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    var entries: [Entry]? { if case .map(let entries) = self { entries } else { nil } }

    /// nil if it is no number, or one beyond 64 bits with sign.
    var number: Int? {
        switch self {
        case .unsigned(let value): Int(exactly: value)
        case .negative(let value): Int(exactly: value).map { -1 - $0 }
        default: nil
        }
    }
}
