import Domain
import JSON
import Text

extension Verdict {
    /// `[{rule, result, detail, about: [{type, id, tenant_id}]}]`.
    package var traceDocument: JSONValue { trace.document }
}

extension [TraceEntry] {
    var document: JSONValue {
        .array(
            map {
                .object([
                    .init("rule", .string($0.rule.rawValue)), .init("result", .string($0.result)),
                    .init("detail", .string($0.detail)),
                    .init("about", .array($0.about.map(\.document))),
                ])
            })
    }
}

extension TraceReference {
    fileprivate var document: JSONValue {
        .object([
            .init("type", .string(kind.rawValue)), .init("id", .string(id.description)),
            .init("tenant_id", tenantID.map { .string($0.description) } ?? .null),
        ])
    }
}
