import JSON
import Storage
import Text

/// Writes shapes as JSON Schema 2020-12, the dialect of OpenAPI 3.1. Named shapes are collected as
/// components and referenced.
///
/// Answers may get more members, and their members more values; a request with an unknown member is
/// refused. So the schema of an answer is open where that of a request is closed. A shape that is
/// used in both is open.
struct SchemaWriter {
    private(set) var components: [JSONValue.Member] = []
    /// Whether what is written now is part of an answer.
    private var isAnswer = false
    /// The components that are written as parts of answers.
    private var answered: Set<String> = []

    /// Writes what `body` asks for as a part of an answer.
    mutating func answer<Result>(_ body: (inout SchemaWriter) -> Result) -> Result {
        let before = isAnswer
        isAnswer = true
        defer { isAnswer = before }
        return body(&self)
    }

    mutating func reference(_ shape: ObjectShape) -> JSONValue {
        guard let name = shape.name, shape.alternatives.isEmpty else { return schema(shape) }
        let written = components.firstIndex { sameBytes($0.name, name) }
        if written == nil || isAnswer && !answered.contains(name) {
            // The place in the list of components is reserved before the shape is written, so that
            // a shape that contains itself does not recurse without end.
            let index = written ?? components.count
            if written == nil { components.append(JSONValue.Member(name, .null)) }
            if isAnswer { answered.insert(name) }
            components[index].value = schema(shape)
        }
        return .object([.init("$ref", .string("#/components/schemas/\(name)"))])
    }

    mutating func schema(_ shape: ObjectShape) -> JSONValue {
        guard !shape.alternatives.isEmpty else { return single(shape) }
        let first = reference(shape.withoutAlternatives)
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
        // Generators of clients take no form whose schema mentions other members.
        if shape.isOpen == isAnswer {
            members.append(.init("additionalProperties", .bool(shape.isOpen)))
        }
        return .object(members)
    }

    private mutating func schema(_ field: FieldShape) -> JSONValue {
        var members = schema(field.kind)
        members += Self.types(field.types)
        // Length limits apply to input only. A response may contain a longer value.
        if field.isReadOnly { members.removeAll { sameBytes($0.name, "maxLength") } }
        if field.isNullable { members = Self.nullable(members) }
        if field.isReadOnly { members.append(.init("readOnly", .bool(true))) }
        members.append(.init("description", .string(field.summary)))
        if let example = field.example { members.append(.init("examples", .array([example]))) }
        return .object(members)
    }

    /// One of several types is written as alternatives: generators of clients take no list of types
    /// except for null.
    private static func types(_ names: [String]) -> [JSONValue.Member] {
        let schemas = names.map { name -> [JSONValue.Member] in
            let type = JSONValue.Member("type", .string(name))
            return name == "array" ? [type, .init("items", .object([]))] : [type]
        }
        return schemas.count < 2
            ? schemas.first ?? [] : [.init("anyOf", .array(schemas.map { .object($0) }))]
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
            let key = isAnswer ? Self.growing : "enum"
            return Self.text() + [.init(key, .array(names.map { .string($0) }))]
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

    /// The key of the known values of a text that may get more values.
    static let growing = "x-extensible-enum"

    private static func text(format: String? = nil) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = [.init("type", .string("string"))]
        if let format { members.append(.init("format", .string(format))) }
        return members
    }
}
