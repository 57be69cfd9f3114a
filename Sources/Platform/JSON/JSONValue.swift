/// A JSON document (RFC 8259) as a tree that keeps the order of members and the text of numbers, so
/// that echoed values are unchanged.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number's own text, already valid by the grammar.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A name with its value, in the order of the text.
    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package static func int(_ value: Int) -> JSONValue { .number(String(value)) }
}
