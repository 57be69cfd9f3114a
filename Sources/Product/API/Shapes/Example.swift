import JSON

/// Values that a shape accepts, for people who read the documentation.
extension ObjectShape {
    /// `input` leaves read-only members out.
    package func example(input: Bool) -> JSONValue {
        .object(
            fields.filter { !input || !$0.isReadOnly }.map { field in
                JSONValue.Member(field.name, field.example ?? field.kind.example(input: input))
            })
    }
}

extension Kind {
    package func example(input: Bool) -> JSONValue {
        switch self {
        case .string(let min, let max, let rule):
            if let example = rule?.example { return .string(example) }
            let word = "example"
            let padded = word + String(repeating: "x", count: Swift.max(0, min - word.count))
            return .string(String(padded.prefix(max)))
        case .email: return .string("ada@example.com")
        case .uuid: return .string("3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b")
        case .timestamp: return .string("2026-11-20T09:30:00.000Z")
        case .bool: return .bool(true)
        case .integer(let range): return .int(range.lowerBound)
        case .enumeration(let names): return names.first.map { .string($0) } ?? .null
        case .array(let item, _): return .array([item.example(input: input)])
        case .object(let shape): return shape.example(input: input)
        case .map(let item):
            return .object([JSONValue.Member("name", item.example(input: input))])
        case .any: return .object([])
        }
    }
}
