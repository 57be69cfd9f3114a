import JSON
import Text

/// Checks values against the part of JSON Schema 2020-12 that our document uses. A keyword outside
/// that part is a fault too, so that nothing passes unchecked.
struct SchemaChecker {
    let document: JSONValue
    /// Requests need no read-only member, whatever `required` says (OpenAPI 3.1).
    let isRequest: Bool
    private(set) var faults: [String] = []

    init(document: JSONValue, isRequest: Bool) {
        self.document = document
        self.isRequest = isRequest
    }

    mutating func check(_ value: JSONValue, _ schema: JSONValue, at path: String = "") {
        for keyword in schema.members ?? [] {
            switch keyword.name {
            case "$ref": check(value, target(keyword.value), at: path)
            case "allOf": for part in keyword.value.array ?? [] { check(value, part, at: path) }
            case "anyOf": any(value, keyword.value.array ?? [], at: path)
            case "type": type(value, keyword.value, at: path)
            // Null is the type's matter.
            case "x-extensible-enum" where value == .null: break
            case "enum", "x-extensible-enum":
                if !(keyword.value.array ?? []).contains(value) {
                    fail(path, "\(text(value)) is not in the enumeration")
                }
            case "properties", "required", "additionalProperties", "items", "maxItems",
                "minLength", "maxLength", "minimum", "maximum", "format", "pattern":
                detail(value, keyword, schema, at: path)
            case "propertyNames":
                for member in value.members ?? [] {
                    check(.string(member.name), keyword.value, at: path)
                }
            case "description", "readOnly", "examples": break
            default: fail(path, "the keyword \(keyword.name) is not known here")
            }
        }
    }

    private mutating func detail(
        _ value: JSONValue, _ keyword: JSONValue.Member, _ schema: JSONValue, at path: String
    ) {
        switch value {
        case .object(let members): object(members, keyword, schema, at: path)
        case .array(let items):
            if keyword.name == "items" {
                for (index, item) in items.enumerated() {
                    check(item, keyword.value, at: "\(path)/\(index)")
                }
            }
            if keyword.name == "maxItems", items.count > keyword.value.int ?? 0 {
                fail(path, "has too many items")
            }
        case .string(let string): self.string(string, keyword, at: path)
        case .number(let number):
            guard let bound = keyword.value.int, let number = Int(number) else { return }
            if keyword.name == "minimum" && number < bound
                || keyword.name == "maximum" && number > bound
            {
                fail(path, "\(number) is out of range")
            }
        case .null, .bool: break
        }
    }

    private mutating func object(
        _ members: [JSONValue.Member], _ keyword: JSONValue.Member, _ schema: JSONValue,
        at path: String
    ) {
        let properties = schema["properties"]
        switch keyword.name {
        case "properties":
            for member in members {
                if let property = keyword.value[member.name] {
                    check(member.value, property, at: "\(path)/\(member.name)")
                } else if !isRequest, schema["additionalProperties"] == nil {
                    // An answer may get new members: they are declared here first.
                    fail("\(path)/\(member.name)", "is not declared")
                }
            }
        case "required":
            for name in (keyword.value.array ?? []).compactMap(\.string)
            where !members.contains(where: { $0.name == name }) {
                if isRequest, properties?[name]?["readOnly"] == .bool(true) { continue }
                fail("\(path)/\(name)", "is missing")
            }
        case "additionalProperties":
            for member in members where properties?[member.name] == nil {
                if keyword.value == .bool(false) {
                    fail("\(path)/\(member.name)", "is not declared")
                } else if keyword.value.members != nil {
                    check(member.value, keyword.value, at: "\(path)/\(member.name)")
                }
            }
        default: break
        }
    }

    private mutating func string(_ text: String, _ keyword: JSONValue.Member, at path: String) {
        let length = text.unicodeScalars.count
        let isGood: Bool
        switch (keyword.name, keyword.value) {
        case ("minLength", let bound): isGood = length >= bound.int ?? 0
        case ("maxLength", let bound): isGood = length <= bound.int ?? 0
        case ("pattern", .string(let pattern)):
            isGood = (try? Regex(pattern).firstMatch(in: text)) != nil
        case ("format", .string("uuid")): isGood = UUID(text) != nil
        case ("format", .string("date-time")): isGood = Timestamp(text) != nil
        case ("format", .string("email")): isGood = (try? EmailAddress(text)) != nil
        default: isGood = true
        }
        if !isGood { fail(path, "»\(text.prefix(80))« is not of the \(keyword.name)") }
    }

    /// At least one of the parts must accept the value.
    private mutating func any(_ value: JSONValue, _ parts: [JSONValue], at path: String) {
        var told: [String] = []
        for part in parts {
            var one = SchemaChecker(document: document, isRequest: isRequest)
            one.check(value, part, at: path)
            if one.faults.isEmpty { return }
            told += one.faults
        }
        faults += told
    }

    private mutating func type(_ value: JSONValue, _ due: JSONValue, at path: String) {
        let names = (due.array ?? [due]).compactMap(\.string)
        let given =
            switch value {
            case .null: ["null"]
            case .bool: ["boolean"]
            case .string: ["string"]
            case .array: ["array"]
            case .object: ["object"]
            case .number: value.int == nil ? ["number"] : ["integer", "number"]
            }
        if !given.contains(where: names.contains) {
            fail(path, "\(text(value)) is no \(names.joined(separator: " or "))")
        }
    }

    private func target(_ reference: JSONValue) -> JSONValue {
        var found = document
        for part in (reference.string ?? "").split(separator: "/").dropFirst() {
            found = found[String(part)] ?? .object([])
        }
        return found
    }

    private func text(_ value: JSONValue) -> String {
        String(String(decoding: value.encoded(), as: UTF8.self).prefix(80))
    }

    private mutating func fail(_ path: String, _ text: String) { faults.append("\(path) \(text)") }
}
