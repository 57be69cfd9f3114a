import Domain
import HTTP
import JSON

extension Answer {
    func response(_ schemas: inout SchemaWriter, isExported: Bool) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("description", .string(summary.isEmpty ? "Status \(status)." : summary))
        ]
        switch content {
        case .none, .problem: break
        case .other(let types):
            let content = types.map { JSONValue.Member($0, .object([])) }
            members.append(.init("content", .object(content)))
        case .object(let shape):
            let media = JSONValue.object([
                .init("schema", schemas.reference(shape)),
                .init("example", shape.example(input: false)),
            ])
            members.append(.init("content", .object([.init("application/json", media)])))
        case .list(let shape, let hasHistogram):
            let page = ObjectShape.page(of: shape, hasHistogram: hasHistogram)
            let media = JSONValue.object([.init("schema", schemas.reference(page))])
            var content = [JSONValue.Member("application/json", media)]
            if isExported { content += Self.files(of: shape) }
            members.append(.init("content", .object(content)))
        }
        return .object(members)
    }

    /// The whole list as a file, by `Accept`.
    private static func files(of shape: ObjectShape) -> [JSONValue.Member] {
        ExportFormat.allCases.map { format in
            let text =
                switch format {
                case .lines: "The whole list: one \(shape.name ?? "item") as JSON a line."
                case .csv:
                    "The whole list: "
                        + CSVColumn.all(of: shape).map(\.name).joined(separator: ",")
                }
            let schema = JSONValue.object([
                .init("type", .string("string")), .init("description", .string(text)),
            ])
            return JSONValue.Member(format.mediaType, .object([.init("schema", schema)]))
        }
    }
}
