import JSON
import Storage
import Text

/// Checks a value against a shape and collects all errors.
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
            if values.count > max { fail(path, .tooLong, "must have at most \(max) items") }
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

/// Whether the text roughly has the form of an email address. This check reports obvious errors
/// together with those of other members. The parser of `EmailAddress` decides later.
func isEmailShaped(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    guard bytes.count <= 254, let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return false }
    return (1...64).contains(at) && at < bytes.count - 1
        && bytes.allSatisfy { $0 > 0x20 && $0 != 0x7F }
}

/// A hint that is added to an error about a text with a space: in a query, an unescaped `+` means a
/// space.
private func plusHint(_ text: String) -> String {
    text.utf8.contains(0x20) ? "; in a query a + is written as %2B" : ""
}

extension ObjectShape {
    /// The shape for these members: the first alternative whose member is present, else this shape
    /// itself.
    func chosen(for members: [JSONValue.Member]) -> ObjectShape {
        alternatives.first { alternative in
            members.contains { sameBytes($0.name, alternative.member) }
        }?.shape ?? self
    }
}

extension Kind {
    /// The words that follow `must be` in an error.
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

/// Decodes a query or form (application/x-www-form-urlencoded) by the declared parameters. Returns
/// all errors at once.
func decodeQuery(_ text: String, _ declared: [QueryParameter]) -> (Input, [FieldError]) {
    var decoder = Decoder(allowsReadOnly: false)
    var input = Input()
    for pair in text.utf8.split(separator: UInt8(ascii: "&")) {
        let parts = pair.split(
            separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = PercentEncoding.decodeForm(parts[0]),
            let value = parts.count > 1 ? PercentEncoding.decodeForm(parts[1]) : ""
        else {
            decoder.fail("?", .invalid, "is not correctly percent-encoded")
            continue
        }
        let pointer = "?" + name
        guard let parameter = declared.first(where: { $0.covers(name) }) else {
            decoder.fail(pointer, .unknown, unknown(name, declared))
            continue
        }
        guard !input.has(name) else {
            decoder.fail(pointer, .duplicate, "must be there only once")
            continue
        }
        let json = parameter.kind.normal(parameter.kind.value(ofQuery: value))
        decoder.check(json, parameter.field, at: pointer)
        input.members.append(JSONValue.Member(name, json))
    }
    for parameter in declared where parameter.isRequired && !input.has(parameter.name) {
        decoder.fail("?" + parameter.name, .required, "is required")
    }
    return (input, decoder.errors)
}

/// The text that follows "?name" in the error for an unknown parameter. If other APIs use this
/// name, it suggests the parameter to use here.
private func unknown(_ name: String, _ declared: [QueryParameter]) -> String {
    let instead =
        switch name {
        case "page", "offset", "starting_after", "after": "cursor"
        case "per_page", "page_size", "size", "count": "limit"
        case "search", "query", "filter": "q"
        case "order", "order_by", "sort_by", "orderby": "sort"
        default: ""
        }
    if declared.contains(where: { sameBytes($0.name, instead) }) {
        let hint =
            sameBytes(instead, "cursor") ? ", with `next_cursor` of the previous response" : ""
        return "is not a known query parameter; use `\(instead)`\(hint)"
    }
    if sameBytes(name, "format") {
        return
            "is not a known query parameter; send `Accept: text/csv` for an export"
    }
    return "is not a known query parameter"
}

extension Kind {
    /// The JSON value for a text from the query. It is then checked against the kind.
    fileprivate func value(ofQuery text: String) -> JSONValue {
        switch self {
        case .integer:
            let bytes = text.utf8
            let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
            let isNumber = !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
            return isNumber ? .number(text) : .string(text)
        case .bool:
            if sameBytes(text, "true") { return .bool(true) }
            return sameBytes(text, "false") ? .bool(false) : .string(text)
        case .array(let item, _):
            // Keep empty items, so that they are checked like all others. If they were dropped,
            // `status=` would be a filter by no status at all.
            let items = text.utf8.split(
                separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
            return .array(items.map { item.value(ofQuery: String(decoding: $0, as: UTF8.self)) })
        default:
            return .string(text)
        }
    }
}

/// The members of an input that passed the check against their shape. An accessor throws only if
/// the shape does not promise the requested type. This is a fault in the declaration, and the
/// response is 500.
package struct Input: Sendable, Equatable {
    package internal(set) var members: [JSONValue.Member] = []
    /// The read-only members that the body contains.
    internal(set) var repeated: [JSONValue.Member] = []

    package init() {}

    /// Whether the member is present, even if it is null.
    package func has(_ name: String) -> Bool { self[name] != nil }

    /// Whether the member is present and null; in a PATCH this clears the value.
    package func isNull(_ name: String) -> Bool { self[name] == .null }

    /// The member's value, or `.null` if it is null; `nil` if it is absent.
    package subscript(name: String) -> JSONValue? {
        members.first { sameBytes($0.name, name) }?.value
    }

    package func optionalString(_ name: String) -> String? {
        if case .string(let text) = self[name] { text } else { nil }
    }

    func optionalCase<Value: RawRepresentable<String>>(_ name: String) -> Value? {
        optionalString(name).flatMap(Value.init(rawValue:))
    }

    func optionalInt(_ name: String) -> Int? {
        if case .number(let text) = self[name] { Int(text) } else { nil }
    }

    func optionalBool(_ name: String) -> Bool? {
        if case .bool(let value) = self[name] { value } else { nil }
    }

    func optionalUUID(_ name: String) -> UUID? { optionalString(name).flatMap { UUID($0) } }

    /// The time in the member; `nil` if it is absent, null or not an RFC 3339 time.
    func optionalTimestamp(_ name: String) -> Timestamp? {
        optionalString(name).flatMap { Timestamp($0) }
    }

    /// The strings in the member; `nil` if it is absent, null or not an array. Items that are no
    /// strings are dropped.
    func optionalStrings(_ name: String) -> [String]? {
        guard case .array(let items) = self[name] else { return nil }
        return items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func optionalObject(_ name: String) -> Input? { self[name].flatMap { Input($0) } }

    /// The objects in the member; `nil` if it is absent, null or not an array. Items that are no
    /// objects are dropped.
    func optionalObjects(_ name: String) -> [Input]? {
        guard case .array(let items) = self[name] else { return nil }
        return items.compactMap { Input($0) }
    }

    package func string(_ name: String) throws -> String { try given(optionalString(name)) }
    func `case`<Value: RawRepresentable<String>>(_ name: String) throws -> Value {
        try given(optionalCase(name))
    }
    /// The email address in the member. Throws 422 for any other text.
    func emailAddress(_ name: String) throws -> EmailAddress {
        do throws(EmailFault) {
            return try EmailAddress(optionalString(name) ?? "")
        } catch {
            throw Problem.invalid([FieldError("/" + name, .invalid, error.mend)])
        }
    }
    func int(_ name: String) throws -> Int { try given(optionalInt(name)) }
    func bool(_ name: String) throws -> Bool { try given(optionalBool(name)) }
    package func uuid(_ name: String) throws -> UUID { try given(optionalUUID(name)) }
    func timestamp(_ name: String) throws -> Timestamp {
        try given(optionalTimestamp(name))
    }
    func strings(_ name: String) throws -> [String] { try given(optionalStrings(name)) }
    func object(_ name: String) throws -> Input { try given(optionalObject(name)) }
    func objects(_ name: String) throws -> [Input] { try given(optionalObjects(name)) }

    /// Whether the member is true. False if it is absent.
    func flag(_ name: String) -> Bool { optionalBool(name) ?? false }

    /// The change that a PATCH requests for a member: `nil` to keep the value, and `.some(nil)` to
    /// clear it.
    package func change<T>(_ name: String, _ read: (Input) -> (String) -> T?) -> T?? {
        guard has(name) else { return nil }
        return .some(read(self)(name))
    }

    init?(_ value: JSONValue) {
        guard case .object(let members) = value else { return nil }
        self.members = members
    }

    /// Creates an input from an object that was not checked against a shape; the caller must check
    /// the members. `nil` if the value is not an object.
    package init?(object value: JSONValue) { self.init(value) }

    private func given<T>(_ value: T?) throws -> T {
        guard let value else { throw Problem.internalError }
        return value
    }
}

extension Input {
    /// Throws 422 if the body has a read-only member with another value than the current one. PUT
    /// and PATCH may repeat read-only members as GET returned them. `counted` is a member that may
    /// differ, because it is computed for each response. `ways` has texts for the error, by the
    /// member's name: each says how the member can be changed.
    package func checkRepeated(
        against current: JSONValue, but counted: String? = nil, ways: [String: String] = [:]
    ) throws {
        guard let now = Input(current) else { return }
        let changed = repeated.filter {
            now[$0.name] != $0.value
                && !(counted.map { [name = $0.name] in sameBytes($0, name) } ?? false)
        }
        guard changed.isEmpty else {
            throw Problem.invalid(
                changed.map {
                    FieldError(
                        pointer("", $0.name), .changed,
                        "is read-only and cannot be changed"
                            + (ways[$0.name].map { "; \($0)" } ?? ""))
                })
        }
    }
}
