import JSON
import Text

/// A key of the loser that is the winner's.
package struct MovedKey: Sendable {
    package var id: UUID
    /// Before the merge.
    package var scopes: [String]
    /// Those that the winner's role also permits, and the scopes of the tenant's own catalogue.
    package var kept: [String]

    /// The scopes that the key lost.
    package var refused: [String] {
        scopes.filter { scope in !kept.contains { sameBytes($0, scope) } }
    }

    init(id: UUID, scopes: [String], kept: [String]) {
        self.id = id
        self.scopes = scopes
        self.kept = kept
    }

    init?(_ document: JSONValue) {
        func texts(_ name: String) -> [String]? { document[name]?.array?.compactMap(\.string) }
        guard let id = document["id"]?.string.flatMap({ UUID($0) }), let scopes = texts("scopes"),
            let kept = texts("kept")
        else { return nil }
        self.init(id: id, scopes: scopes, kept: kept)
    }

    var document: JSONValue {
        func texts(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        return .object([
            .init("id", .string(id.description)), .init("scopes", texts(scopes)),
            .init("kept", texts(kept)),
        ])
    }
}
