import Domain
import HTTP
import Routing
import Storage

extension ObjectShape {
    /// The envelope of lists.
    static func page(of item: ObjectShape, hasHistogram: Bool = false) -> ObjectShape {
        ObjectShape(
            item.name.map { $0 + "List" },
            [
                .required("items", .array(of: .object(item), max: 200)),
                FieldShape("next_cursor", .string(max: 1024), required: true, nullable: true),
                .required(
                    "total",
                    .object(
                        ObjectShape([
                            .required("value", .integer(0...Int.max)), .required("exact", .bool),
                        ]))),
            ] + (hasHistogram ? [.optional("histogram", .object(ListHistogram.shape))] : []))
    }

    static let problem = ObjectShape(
        [
            .required("type", .string()), .required("title", .string()),
            .required("status", .integer(400...599)), .required("detail", .string(max: 4096)),
            .required(
                "code", .enumeration(of: Code.self), "Stable; branch on it."),
            .optional("request_id", .string()),
            .required("error", .string(max: 4096), "Repeats `detail`."),
            .optional(
                "errors",
                .array(
                    of: .object(
                        ObjectShape([
                            .required(
                                "pointer", .string(max: 1024),
                                "JSON pointer into the body, or `?name` for a query parameter."),
                            .required("code", .enumeration(of: FieldCode.self)),
                            .required("detail", .string(max: 4096)),
                        ])), max: Problem.maxErrors)),
        ], open: true)
}
