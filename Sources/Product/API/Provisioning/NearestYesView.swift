import Domain
import JSON
import Text

extension [NearestYes] {
    /// `[{change, detail, tenant_id}]`.
    var document: JSONValue {
        .array(
            map {
                .object([
                    .init("change", .string($0.change.rawValue)),
                    .init("detail", .string($0.detail)),
                    .init("tenant_id", .uuid($0.tenantID)),
                ])
            })
    }
}

extension NearestYes {
    static let field = FieldShape.readOnly(
        "would_admit",
        .array(
            of: .object(
                ObjectShape(
                    "NearestYes",
                    [
                        .readOnly(
                            "change", .enumeration(of: Change.self),
                            "What to do."),
                        .readOnly("detail", .string()),
                        .readOnly("tenant_id", .uuid, nullable: true),
                    ]))),
        always: false, "Of a refusal: single changes under which the same rules admit.")
}
