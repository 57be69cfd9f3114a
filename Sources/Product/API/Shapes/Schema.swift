import JSON
import Storage
import Text

/// Writes shapes as JSON Schema 2020-12, the dialect of OpenAPI 3.1. Named shapes are collected as
/// components and referenced.
struct SchemaWriter {
    private(set) var components: [JSONValue.Member] = []

    mutating func reference(_ shape: ObjectShape) -> JSONValue {
        guard let name = shape.name else { return schema(shape) }
        if !components.contains(where: { sameBytes($0.name, name) }) {
            // The place in the list of components is reserved before the shape is written, so that
            // a shape that contains itself does not recurse without end.
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
        // Length limits apply to input only. A response may contain a longer value.
        if field.isReadOnly { members.removeAll { sameBytes($0.name, "maxLength") } }
        if field.isNullable { members = Self.nullable(members) }
        if field.isReadOnly { members.append(.init("readOnly", .bool(true))) }
        members.append(.init("description", .string(field.summary)))
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

/// Creates example values of a shape for the documentation. The server accepts the example of a
/// body unchanged.
extension ObjectShape {
    /// An example of an object. If `input` is true, it lacks read-only members, and members for
    /// which no valid value can be made up: times, and ids of existing objects.
    package func example(input: Bool) -> JSONValue {
        .object(
            fields.filter { !input || $0.hasExample }.map { field in
                JSONValue.Member(
                    field.name,
                    field.example ?? field.kind.example(input: input, name: field.name))
            })
    }
}

extension FieldShape {
    fileprivate var hasExample: Bool {
        if isReadOnly { return false }
        return isRequired || example != nil || kind.isFreelyChosen && !Self.found.contains(name)
    }

    /// The names of members that work only with something that already exists, such as an object or
    /// a mail server. Examples of bodies lack them.
    private static let found: Set = [
        "tenant", "token", "invite_token", "join_token", "link_grant", "return_to",
        "client_tenants", "endpoints", "upstreams",
        "delivery",
    ]
}

extension Kind {
    /// Whether an example of this kind can be made up. This is impossible for times, and for ids of
    /// objects that must exist.
    fileprivate var isFreelyChosen: Bool {
        switch self {
        case .timestamp, .uuid: false
        case .object(let shape): shape.fields.allSatisfy(\.kind.isFreelyChosen)
        case .array(let item, _): item.isFreelyChosen
        default: true
        }
    }

    /// Realistic texts for members by their names.
    private static let examples: [String: String] = [
        "client_id": "web", "email": "ada@example.com", "event_id": "event-1", "ip": "192.0.2.1",
        "issuer": "https://login.example.com", "key": "gate_live_…", "label": "Web app",
        "message": "Welcome to Acme.", "name": "Ada Lovelace", "note": "For the mail server.",
        "origin": "https://app.example.com", "password": "correct horse battery staple",
        "path": "/v1/me", "reason": "No longer needed.", "scopes": "smtp",
        "subject": "110169484474386276334", "triggerSource": "PreSignUp_SignUp",
        "user_agent": "Mozilla/5.0", "userName": "ada", "userPoolId": "eu-central-1_AbCdEfGhI",
        "hosts": "mail.acme.example",
    ]

    /// An example of this kind for a member of this name.
    package func example(input: Bool, name: String = "") -> JSONValue {
        switch self {
        case .string(let min, let max, let rule):
            if let example = rule?.example { return .string(example) }
            let word = Self.examples[name] ?? "example"
            let padded = word + String(repeating: "x", count: Swift.max(0, min - word.count))
            return .string(String(padded.prefix(max)))
        case .email: return .string("ada@example.com")
        case .uuid: return .string("3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b")
        case .timestamp: return .string("2026-11-20T09:30:00.000Z")
        case .bool: return .bool(true)
        case .integer(let range):
            return .int(Swift.min(Swift.max(range.lowerBound, 60), range.upperBound))
        case .enumeration(let names): return names.first.map { .string($0) } ?? .null
        case .array(let item, _): return .array([item.example(input: input, name: name)])
        case .object(let shape): return shape.example(input: input)
        case .map(let item):
            return .object([JSONValue.Member("name", item.example(input: input))])
        case .attributes: return .object([.init("plan", .string("team"))])
        case .any: return .object([])
        }
    }
}
