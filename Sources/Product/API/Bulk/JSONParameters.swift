import JSON

/// What a job was asked for, member by member.
struct JSONParameters: Sendable {
    private(set) var value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    /// Members without a value are left out.
    init(_ members: [(String, String?)]) {
        value = .object(
            members.compactMap { name, text in text.map { .init(name, .string($0)) } })
    }

    subscript(name: String) -> String? { value[name]?.string }
}
