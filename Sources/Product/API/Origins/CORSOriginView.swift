import JSON
import Storage
import Text

extension CORSOriginRow: JSONView {
    /// The entry as `/v1` shows it; the platform's has no tenant.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant == .platform ? nil : tenant)
            $0.member("origin", origin)
            $0.member("credentials", credentials)
            $0.member("label", label)
            $0.member("expires_at", expiresAt)
            $0.member("created_at", createdAt)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
            }
        }
    }

    /// An entry can be created, replaced as a whole, and deleted.
    var etag: String {
        "\"o\(id)-\(credentials)-\(expiresAt?.microseconds ?? 0)-\(label?.utf8.count ?? 0)\""
    }

    static let shape = ObjectShape(
        "CorsOrigin",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid, nullable: true),
            FieldShape(
                "origin", .string(min: 1, max: 512),
                "As browsers send it; spelling is brought to that form.",
                example: .string("https://app.example.com")),
            FieldShape("credentials", .bool, "Cookies may go with it, on client contracts only."),
            .nullable("label", .string(min: 1, max: 200, rule: .displayName)),
            .nullable("expires_at", .timestamp),
            .readOnly("created_at", .timestamp),
            .readOnly(
                "created_by",
                .object(ObjectShape([.required("type", .string()), .required("id", .string())]))),
        ])

    static let created = shape.adding(
        "CorsOriginCreated",
        [
            .readOnly(
                "normalised", .array(of: .string()),
                "What was changed on the way from what was entered.")
        ])

    /// An entry of a whole list: a response of GET may be sent back.
    private static let line: ObjectShape = {
        var shape = Self.shape.patching("CorsOriginLine")
        for index in shape.fields.indices where shape.fields[index].name == "origin" {
            shape.fields[index].isRequired = true
        }
        return shape
    }()

    static let wholeList = ObjectShape(
        "CorsOriginWholeList",
        [
            .required("items", .array(of: .object(line), max: 1000)),
            .readOnly("next_cursor", .string(max: 1024), nullable: true),
            .readOnly("total", .any),
        ])
}
