import Domain
import JSON
import Storage
import Text

extension FoundPerson: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.object("tenant") {
                $0.member("id", tenant)
                $0.member("slug", tenantSlug)
                $0.member("name", tenantName)
                $0.member("status", tenantStatus)
            }
            $0.member("id", id)
            $0.member("email", email)
            $0.member("name", name)
            $0.member("status", status)
            $0.member("role", role)
            $0.member("created_at", createdAt)
            $0.member("last_sign_in_at", lastSignInAt)
            $0.member("found_by", ways)
        }
    }

    static let shape = ObjectShape(
        "FoundPerson",
        [
            .readOnly(
                "tenant",
                .object(
                    ObjectShape([
                        .readOnly("id", .uuid), .readOnly("slug", .string()),
                        .readOnly("name", .string()),
                        .readOnly("status", .enumeration(of: Tenant.Status.self)),
                    ]))),
            .readOnly("id", .uuid, "Of the user in the tenant."),
            .readOnly("email", .string(max: 320)), .readOnly("name", .string(), nullable: true),
            .readOnly("status", .enumeration(of: User.Status.self)),
            .readOnly("role", .enumeration(of: UserRole.self)),
            .readOnly("created_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
            .readOnly(
                "found_by", .array(of: .enumeration(of: Way.self)),
                "By what the user was found."),
        ])
}
