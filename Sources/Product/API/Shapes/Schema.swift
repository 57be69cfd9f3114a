import JSON
import Storage
import Text

/// Shapes as JSON Schema 2020-12, the dialect of OpenAPI 3.1. Named shapes are collected into
/// components and referred to.
struct SchemaWriter {
    private(set) var components: [JSONValue.Member] = []

    mutating func reference(_ shape: ObjectShape) -> JSONValue {
        guard let name = shape.name else { return schema(shape) }
        if !components.contains(where: { sameBytes($0.name, name) }) {
            // Reserved first, so that a shape that refers to itself terminates.
            components.append(JSONValue.Member(name, .null))
            let index = components.count - 1
            components[index].value = schema(shape)
        }
        return .object([.init("$ref", .string("#/components/schemas/\(name)"))])
    }

    mutating func schema(_ shape: ObjectShape) -> JSONValue {
        guard !shape.alternatives.isEmpty else { return single(shape) }
        let first = single(shape)
        return .object([
            .init("anyOf", .array([first] + shape.alternatives.map { reference($0.shape) }))
        ])
    }

    private mutating func single(_ shape: ObjectShape) -> JSONValue {
        var members: [JSONValue.Member] = [.init("type", .string("object"))]
        if !shape.fields.isEmpty {
            var properties: [JSONValue.Member] = []
            for field in shape.fields { properties.append(.init(field.name, schema(field))) }
            members.append(.init("properties", .object(properties)))
        }
        let required = shape.fields.filter(\.isRequired).map { JSONValue.string($0.name) }
        if !required.isEmpty { members.append(.init("required", .array(required))) }
        members.append(.init("additionalProperties", .bool(shape.isOpen)))
        return .object(members)
    }

    private mutating func schema(_ field: FieldShape) -> JSONValue {
        var members = schema(field.kind)
        // Limits apply to input only: responses may be longer.
        if field.isReadOnly { members.removeAll { sameBytes($0.name, "maxLength") } }
        if field.isNullable { members = Self.nullable(members) }
        if field.isReadOnly { members.append(.init("readOnly", .bool(true))) }
        if let text = field.description { members.append(.init("description", .string(text))) }
        if let example = field.example { members.append(.init("examples", .array([example]))) }
        return .object(members)
    }

    private static func nullable(_ schema: [JSONValue.Member]) -> [JSONValue.Member] {
        if let at = schema.firstIndex(where: { $0.name == "type" }), schema[at].value.array == nil,
            !schema.contains(where: { $0.name == "enum" })
        {
            var copy = schema
            copy[at].value = .array([schema[at].value, .string("null")])
            return copy
        }
        if schema.isEmpty { return [] }
        return [
            .init("anyOf", .array([.object(schema), .object([.init("type", .string("null"))])]))
        ]
    }

    mutating func schema(_ kind: Kind) -> [JSONValue.Member] {
        switch kind {
        case .string(let min, let max, let rule):
            var members = Self.text()
            if min > 0 { members.append(.init("minLength", .int(min))) }
            members.append(.init("maxLength", .int(max)))
            if let pattern = rule?.pattern { members.append(.init("pattern", .string(pattern))) }
            if let format = rule?.format { members.append(.init("format", .string(format))) }
            return members
        case .email: return Self.text(format: "email") + [.init("maxLength", .int(254))]
        case .uuid: return Self.text(format: "uuid")
        case .timestamp: return Self.text(format: "date-time")
        case .bool: return [.init("type", .string("boolean"))]
        case .integer(let range):
            return [
                .init("type", .string("integer")), .init("minimum", .int(range.lowerBound)),
                .init("maximum", .int(range.upperBound)),
            ]
        case .enumeration(let names):
            return Self.text() + [.init("enum", .array(names.map { .string($0) }))]
        case .array(let item, let max):
            return [
                .init("type", .string("array")), .init("items", .object(schema(item))),
                .init("maxItems", .int(max)),
            ]
        case .object(let shape): return reference(shape).members ?? []
        case .map(let item):
            return [
                .init("type", .string("object")),
                .init("additionalProperties", .object(schema(item))),
            ]
        case .attributes:
            return [
                .init("type", .string("object")),
                .init(
                    "propertyNames", .object([.init("pattern", .string(Attributes.namePattern))])),
            ]
        case .any: return []
        }
    }

    private static func text(format: String? = nil) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("type", .string("string"))]
        if let format { members.append(.init("format", .string(format))) }
        return members
    }
}
