/// A JSON document (RFC 8259) as a tree that keeps the order of members and the text of numbers, so
/// that echoed values are unchanged.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number's own text, already valid by the grammar.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A name with its value, in the order of the text.
    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package static func int(_ value: Int) -> JSONValue { .number(String(value)) }
}

extension JSONValue {
    /// Parses one whole document; only white space may follow it.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            return try parser.document()
        }
    }

    /// The document without white space, members in order, numbers as written.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The value of a member, its name compared by bytes; `nil` if absent or not an object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }

    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// An integer written as one: `nil` for `1.0`, `1e3`, `-0` and overflow.
    package var int: Int? {
        guard case .number(let text) = self, let value = Int(text) else { return nil }
        return value == 0 && text.utf8.count != 1 ? nil : value
    }

    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// In the order of the text; `nil` if this is not an object.
    package var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    /// True only for `null`, not for an absent member.
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// Compares bytes: Swift's String equality treats composed and decomposed letters as equal, the
    /// database does not.
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one.utf8.elementsEqual(other.utf8)
        case (.string(let one), .string(let other)): one.utf8.elementsEqual(other.utf8)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }
}

extension JSONValue.Member {
    package static func == (left: JSONValue.Member, right: JSONValue.Member) -> Bool {
        left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
    }
}

/// Appends one reference token to a JSON pointer (RFC 6901 section 3: `~` and `/` are escaped).
package func pointer(_ path: String, _ name: String) -> String {
    var escaped: [UInt8] = []
    for byte in name.utf8 {
        switch byte {
        case UInt8(ascii: "~"): escaped += [0x7E, 0x30]
        case UInt8(ascii: "/"): escaped += [0x7E, 0x31]
        default: escaped.append(byte)
        }
    }
    return path + "/" + String(decoding: escaped, as: UTF8.self)
}
