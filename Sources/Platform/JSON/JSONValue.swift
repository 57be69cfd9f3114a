/// A JSON document (RFC 8259) as a tree. It keeps the order of members and the original text of
/// numbers, so that a value can be returned unchanged.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// A number as its original text, which is valid JSON.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object: its name and its value.
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
    /// Parses one whole document; only white space may surround it.
    package init(parsing bytes: [UInt8], limits: JSONLimits = .standard) throws(JSONError) {
        self = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            var parser = JSONParser(buffer, limits: limits)
            return try parser.document()
        }
    }

    /// Returns the document without white space, with members in order and numbers as written.
    package func encoded() -> [UInt8] {
        var writer = JSONWriter()
        writer.value(self)
        return writer.bytes
    }

    /// The value of the member with this name. Names are compared by their bytes. `nil` if there is
    /// no such member or this is not an object.
    package subscript(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    package var string: String? { if case .string(let text) = self { text } else { nil } }

    package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The value as an integer; `nil` if the number has another notation (`1.0`, `1e3`, `-0`) or
    /// does not fit into `Int`.
    package var int: Int? {
        guard case .number(let text) = self, let value = Int(text) else { return nil }
        return value == 0 && text.utf8.count != 1 ? nil : value
    }

    package var array: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members in the order of the text; `nil` if this is not an object.
    package var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    /// Whether the value is `null`. For an absent member, the subscript returns `nil` instead.
    package var isNull: Bool { if case .null = self { true } else { false } }

    /// Compares strings by their bytes, as the database does. Swift's own equality treats composed
    /// and decomposed letters as equal.
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

/// Returns a JSON pointer with one reference token added, in which `~` and `/` are escaped (RFC
/// 6901 section 3).
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
