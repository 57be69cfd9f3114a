import JSON

/// Example values that a shape accepts, for the documentation. The server accepts those of a body
/// as they are.
extension ObjectShape {
    /// `input` omits read-only members and those without a valid made-up value: times, and objects
    /// that must already exist.
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

    /// Names of what must already exist, such as a mail server.
    private static let found: Set = [
        "tenant", "token", "invite_token", "join_token", "link_grant", "return_to",
        "client_tenants", "endpoints", "upstreams",
        "delivery",
    ]
}

extension Kind {
    /// Whether any well-formed value is accepted.
    fileprivate var isFreelyChosen: Bool {
        switch self {
        case .timestamp, .uuid: false
        case .object(let shape): shape.fields.allSatisfy(\.kind.isFreelyChosen)
        case .array(let item, _): item.isFreelyChosen
        default: true
        }
    }

    /// A value of this kind; `name` chooses the word from the vocabulary.
    package func example(input: Bool, name: String = "") -> JSONValue {
        switch self {
        case .string(let min, let max, let rule):
            if let example = rule?.example { return .string(example) }
            let word = Vocabulary.example(of: name) ?? "example"
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
