import JSON
import Text

/// The members of a schema as lines of text: name, type with its limits, whether it is required,
/// and its meaning.
struct DocumentFields {
    struct Line {
        var name: String
        var type: String
        var isRequired: Bool
        var text: String
    }

    /// The depth to which nested objects are expanded.
    private static let depth = 3

    let document: JSONValue

    /// `isInput` omits read-only members.
    func lines(of schema: JSONValue, isInput: Bool) -> [Line] {
        var lines: [Line] = []
        for shape in shapes(of: schema) {
            add(shape, under: "", isInput: isInput, depth: Self.depth, to: &lines)
        }
        return lines
    }

    /// Each object that the schema allows.
    private func shapes(of schema: JSONValue) -> [JSONValue] {
        let schema = resolved(schema)
        return schema["anyOf"]?.array?.flatMap { shapes(of: $0) } ?? [schema]
    }

    private func add(
        _ schema: JSONValue, under path: String, isInput: Bool, depth: Int, to lines: inout [Line]
    ) {
        let required = schema["required"]?.array?.compactMap(\.string) ?? []
        for member in schema["properties"]?.members ?? [] {
            if isInput, member.value["readOnly"] == .bool(true) { continue }
            let name = path + member.name
            guard !lines.contains(where: { sameBytes($0.name, name) }) else { continue }
            lines.append(
                Line(
                    name: name, type: type(of: member.value),
                    isRequired: required.contains { sameBytes($0, member.name) },
                    text: member.value["description"]?.string ?? ""))
            guard depth > 1, let (inner, mark) = object(in: member.value) else { continue }
            add(inner, under: name + mark + ".", isInput: isInput, depth: depth - 1, to: &lines)
        }
    }

    /// The object that the member is, or that its list contains.
    private func object(in schema: JSONValue) -> (JSONValue, mark: String)? {
        for shape in shapes(of: schema) {
            if shape["properties"] != nil { return (shape, "") }
            if let items = shape["items"], let (inner, mark) = object(in: items) {
                return (inner, "[]" + mark)
            }
        }
        return nil
    }

    func type(of schema: JSONValue) -> String {
        let schema = resolved(schema)
        if let any = schema["anyOf"]?.array {
            return any.map { type(of: $0) }.joined(separator: " or ")
        }
        if let names = schema["enum"]?.array {
            let texts = names.map { "`\($0.string ?? "")`" }
            return texts.count == 1 ? texts[0] : "one of " + texts.joined(separator: ", ")
        }
        let names =
            schema["type"]?.array?.compactMap(\.string) ?? [schema["type"]?.string ?? "any value"]
        return names.map { name in
            switch name {
            case "string": text(schema)
            case "integer": number(schema)
            case "array": list(schema)
            default: name
            }
        }.joined(separator: " or ")
    }

    private func text(_ schema: JSONValue) -> String {
        let kind = schema["format"]?.string ?? "string"
        let (low, high) = (schema["minLength"]?.int, schema["maxLength"]?.int)
        switch (low, high) {
        case (let low?, let high?): return "\(kind), \(low) to \(high) characters"
        case (nil, let high?): return "\(kind), up to \(high) characters"
        default: return kind
        }
    }

    private func number(_ schema: JSONValue) -> String {
        guard let low = schema["minimum"]?.int else { return "integer" }
        guard let high = schema["maximum"]?.int, high < Int.max else {
            return "integer from \(low)"
        }
        return "integer, \(low) to \(high)"
    }

    private func list(_ schema: JSONValue) -> String {
        let item = schema["items"].map { type(of: $0) } ?? "anything"
        return "list of \(item)" + (schema["maxItems"]?.int.map { ", up to \($0)" } ?? "")
    }

    private func resolved(_ schema: JSONValue) -> JSONValue {
        guard let name = schema["$ref"]?.string?.split(separator: "/").last else { return schema }
        return document["components"]?["schemas"]?[String(name)] ?? schema
    }
}
