import JSON
import Storage
import Text

/// Checks a value against a shape and collects all faults.
struct Decoder {
    let allowsReadOnly: Bool
    private(set) var errors: [FieldError] = []

    mutating func object(_ value: JSONValue, _ shape: ObjectShape, at path: String) -> Input {
        guard case .object(let members) = value else {
            fail(path, .wrongType, "must be an object")
            return Input()
        }
        let shape = shape.chosen(for: members)
        var input = Input()
        for member in members {
            let pointer = pointer(path, member.name)
            guard let field = shape.field(member.name) else {
                if shape.isOpen {
                    input.members.append(member)
                } else {
                    fail(pointer, .unknown, "is not a known member")
                }
                continue
            }
            if field.isReadOnly {
                if allowsReadOnly {
                    input.repeated.append(member)
                } else {
                    fail(pointer, .readOnly, "is read-only")
                }
                continue
            }
            let value = field.kind.normal(member.value)
            check(value, field, at: pointer)
            input.members.append(.init(member.name, value))
        }
        for field in shape.fields where field.isRequired && !field.isReadOnly {
            if !members.contains(where: { sameBytes($0.name, field.name) }) {
                fail(pointer(path, field.name), .required, "is required")
            }
        }
        return input
    }

    mutating func check(_ value: JSONValue, _ field: FieldShape, at path: String) {
        if value == .null {
            if case .any = field.kind { return }
            if !field.isNullable { fail(path, .isNull, "must not be null") }
            return
        }
        check(value, field.kind, at: path)
    }

    private mutating func check(_ value: JSONValue, _ kind: Kind, at path: String) {
        switch (kind, value) {
        case (.any, _), (.bool, .bool): break
        case (.string(let min, let max, let rule), .string(let text)):
            string(text, min, max, rule, at: path)
        case (.email, .string(let text)):
            if let hidden = DisplayText.hidden(in: text) {
                fail(path, .invalid, EmailFault.hidden(hidden).mend)
            } else if !isEmailShaped(text) {
                fail(path, .invalid, "must be an email address" + plusHint(text))
            }
        case (.uuid, .string(let text)):
            if UUID(text) == nil { fail(path, .invalid, "must be a UUID") }
        case (.timestamp, .string(let text)):
            if Timestamp(text) == nil {
                fail(path, .invalid, "must be an RFC 3339 time" + plusHint(text))
            }
        case (.enumeration(let names), .string(let text)):
            if !names.contains(where: { sameBytes($0, text) }) {
                fail(path, .notAllowed, "must be one of \(names.joined(separator: ", "))")
            }
        case (.integer(let range), .number(let text)):
            integer(text, range, at: path)
        case (.array(let item, let max), .array(let values)):
            if values.count > max { fail(path, .tooLong, "must hold at most \(max) items") }
            for (index, value) in values.prefix(max).enumerated() {
                check(value, item, at: "\(path)/\(index)")
            }
        case (.object(let shape), .object):
            _ = object(value, shape, at: path)
        case (.attributes, .object(let members)):
            for fault in Attributes.faults(inChange: members) { self.fail(fault, at: path) }
        case (.map(let item), .object(let members)):
            for member in members { check(member.value, item, at: pointer(path, member.name)) }
        default:
            fail(path, .wrongType, "must be \(kind.noun)")
        }
    }

    private mutating func string(
        _ text: String, _ min: Int, _ max: Int, _ rule: TextRule?, at path: String
    ) {
        let length = text.unicodeScalars.count
        if length < min {
            let detail = min == 1 ? "must not be empty" : "must have at least \(min) characters"
            fail(path, .tooShort, detail)
        } else if length > max {
            fail(path, .tooLong, "must have at most \(max) characters")
        } else if let rule, !rule.check(text) {
            fail(path, .invalid, rule.fault(of: text))
        }
    }

    private mutating func integer(_ text: String, _ range: ClosedRange<Int>, at path: String) {
        if text.utf8.contains(where: { [0x2E, 0x45, 0x65].contains($0) }) {
            fail(path, .wrongType, "must be an integer")
        } else if Int(text).map({ range.contains($0) }) != true {
            let (low, high) = (range.lowerBound, range.upperBound)
            fail(path, .outOfRange, "must be from \(low) to \(high)")
        }
    }

    private mutating func fail(_ fault: AttributeFault, at path: String) {
        let at = fault.name.map { pointer(path, $0) } ?? path
        fail(at, FieldCode(rawValue: fault.kind.rawValue) ?? .invalid, fault.detail)
    }

    mutating func fail(_ pointer: String, _ code: FieldCode, _ detail: String) {
        guard errors.count < Problem.maxErrors else { return }
        errors.append(FieldError(pointer, code, detail))
    }
}

/// One step further in a JSON pointer (RFC 6901 §3: `~` and `/` escaped).
func pointer(_ path: String, _ name: String) -> String {
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

/// Checks only the outline, to report gross faults with the others; the domain's parser decides.
func isEmailShaped(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count <= 254, let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return false }
    return (1...64).contains(at) && at < bytes.count - 1
        && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F }
}

/// Of a query's text: a raw `+` is a space there.
private func plusHint(_ text: String) -> String {
    text.utf8.contains(0x20) ? "; in a query a + is written as %2B" : ""
}

extension ObjectShape {
    /// The alternative whose member is there, else itself.
    func chosen(for members: [JSONValue.Member]) -> ObjectShape {
        alternatives.first { alternative in
            members.contains { sameBytes($0.name, alternative.member) }
        }?.shape ?? self
    }
}

extension Kind {
    /// `must be …`
    var noun: String {
        switch self {
        case .string, .email, .uuid, .timestamp, .enumeration: "a string"
        case .bool: "true or false"
        case .integer: "an integer"
        case .array: "an array"
        case .object, .map, .attributes: "an object"
        case .any: "a value"
        }
    }
}
