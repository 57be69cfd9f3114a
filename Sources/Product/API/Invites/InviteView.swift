import Domain
import JSON
import Storage
import Text

extension InviteRow {
    /// The invite as `/v1` shows it.
    func json(at now: Timestamp) -> JSONValue {
        .object(members(at: now))
    }

    /// With the token and the link, which are shown once.
    func json(at now: Timestamp, token: String?, publicURL: String) -> JSONValue {
        guard let token else { return json(at: now) }
        return .object(
            members(at: now) + [
                .init("token", .string(token)),
                .init("accept_url", .string("\(publicURL)/invite#token=\(token)")),
            ])
    }

    private func members(at now: Timestamp) -> [JSONValue.Member] {
        let inviter = JSONValue.object([
            .init("type", .string(inviterType)), .init("id", .string(inviterID)),
            .init("name", .string(inviterName)),
        ])
        return [
            .init("id", .uuid(id)), .init("tenant_id", .uuid(tenantID)),
            .init("email", .string(email)), .init("role", .string(role.rawValue)),
            .init("status", .string(status(at: now).rawValue)),
            .init("expires_at", .time(expiresAt)), .init("message", .text(message)),
            .init("delivery", .string(delivery)), .init("invited_by", inviter),
            .init("accepted_at", .time(acceptedAt)),
            .init("accepted_user_id", .uuid(acceptedUserID)),
            .init("sent_count", .int(sentCount)), .init("created_at", .time(createdAt)),
            .init("updated_at", .time(updatedAt)),
        ]
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Invite",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid),
            FieldShape("email", .email, example: .string("ann@example.com")),
            .optional(
                "role", .enumeration(["member", "manager", "admin"]),
                "The policy's default when absent."),
            .readOnly("status", .enumeration(["pending", "accepted", "revoked", "expired"])),
            .optional("expires_at", .timestamp, "5 minutes to 90 days ahead; 7 days when absent."),
            .nullable("message", .string(max: 2000)),
            .optional("delivery", .enumeration(["mail", "link"])),
            .readOnly(
                "invited_by",
                .object(
                    ObjectShape(
                        "InvitedBy",
                        [
                            .readOnly("type", .string()), .readOnly("id", .string()),
                            .readOnly("name", .string()),
                        ]))),
            .readOnly("accepted_at", .timestamp, nullable: true),
            .readOnly("accepted_user_id", .uuid, nullable: true),
            .readOnly("sent_count", .integer(0...Int(Int32.max))),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
        ])

    static let withToken = shape.adding(
        "InviteWithToken",
        [
            .readOnly("token", .string(), always: false, "Shown once."),
            .readOnly("accept_url", .string(), always: false, "The link to hand over, shown once."),
        ])

    private static let resendField = FieldShape.optional(
        "resend", .bool, "A pending invite gets a new token; the old one ends.")

    static let creation = shape.creating("InviteCreation", required: ["email"])
        .adding("InviteCreation", [resendField])
        .or(whenHas: "invites", list)

    /// Addresses of a list are judged one by one, so that one bad line does not stop the others.
    private static let list: ObjectShape = {
        var item = shape.creating("InviteListItem", required: ["email"])
            .adding("InviteListItem", [resendField])
        for index in item.fields.indices where item.fields[index].name == "email" {
            item.fields[index].kind = .string(max: 400)
        }
        return ObjectShape(
            "InviteListCreation", [.required("invites", .array(of: .object(item), max: 1000))])
    }()

    static let results = ObjectShape(
        "InviteResults",
        [
            .readOnly(
                "results",
                .array(
                    of: .object(
                        ObjectShape(
                            "InviteListResult",
                            [
                                .readOnly("index", .integer(0...999)),
                                .readOnly("email", .string()),
                                .readOnly(
                                    "result",
                                    .enumeration(["created", "existing", "resent", "refused"])),
                                .readOnly("invite", .object(withToken), nullable: true),
                                .readOnly("code", .string(), nullable: true),
                                .readOnly("detail", .string(), nullable: true),
                                .readOnly("conflicting_id", .uuid, nullable: true, always: false),
                            ]))))
        ])
}
