import Domain
import JSON
import Storage
import Text

/// A stored user, or one of a list.
protocol UserView: JSONView {
    associatedtype Words: JSONText
    associatedtype Identities: Collection where Identities.Element: JSONView
    var id: UUID { get }
    var tenant: UUID { get }
    var email: Words { get }
    var emailVerifiedAt: Timestamp? { get }
    var name: Words? { get }
    associatedtype Role: JSONText
    associatedtype Status: JSONText
    associatedtype Source: JSONText
    var role: Role { get }
    var status: Status { get }
    var source: Source { get }
    var identities: Identities { get }
    var createdAt: Timestamp { get }
    var updatedAt: Timestamp { get }
    var lastSignInAt: Timestamp? { get }
    var externalID: Words? { get }
    var mergedIDs: [UUID] { get }
    var joinLinkID: UUID? { get }
    var isKept: Bool { get }
    associatedtype Document: StoredObject
    var publicAttributes: Document { get }
    /// Nil: not for this reader.
    var shownPrivate: Document? { get }
}

/// What let a user in.
struct JoinedBy: JSONView {
    var link: UUID

    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("type", "join_link")
            $0.member("id", link)
        }
    }

    static let field = FieldShape.readOnly(
        "joined_by",
        .object(
            ObjectShape(
                "JoinedBy",
                [.readOnly("type", .enumeration(["join_link"])), .readOnly("id", .uuid)])),
        nullable: true)
}

extension ListedUser: UserView {
    var shownPrivate: StoredText? { privateAttributes }
}

extension UserView {
    /// The user as `/v1` shows it.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant)
            $0.member("email", text: email)
            $0.member("email_verified_at", emailVerifiedAt)
            $0.member("name", text: name)
            $0.member("role", text: role)
            $0.member("status", text: status)
            $0.member("source", text: source)
            $0.member("joined_by", joinLinkID.map { JoinedBy(link: $0) })
            $0.member("external_id", text: externalID)
            $0.member("keep", isKept)
            $0.member("merged_ids", mergedIDs.map(\.description))
            $0.member("public_attributes", stored: publicAttributes)
            if let shownPrivate { $0.member("private_attributes", stored: shownPrivate) }
            $0.member("identities", identities)
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            $0.member("last_sign_in_at", lastSignInAt)
        }
    }
}

extension UserRow: UserView {
    var publicAttributes: Attributes { attributes.public }
    var shownPrivate: Attributes? { hidesPrivate ? nil : attributes.private }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "User",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid),
            FieldShape("email", .email, "As it was typed.", example: .string("ada@example.com")),
            .readOnly("email_verified_at", .timestamp, nullable: true),
            FieldShape(
                "name", .string(min: 1, max: ProvisioningCall.nameLimit, rule: .displayName),
                nullable: true, example: .string("Ada")),
            .optional("role", .enumeration(of: UserRole.self), "`member` when absent."),
            .readOnly("status", .enumeration(of: User.Status.self)),
            .readOnly("source", .enumeration(of: User.Source.self)),
            JoinedBy.field,
            FieldShape(
                "external_id", .externalID, nullable: true,
                "The user's id in your own system, compared byte by byte; one user for each.",
                example: .string("crm-4711")),
            .optional(
                "keep", .bool,
                "Whether the policy's `inactivity` leaves the user out; false when absent."),
            .readOnly(
                "merged_ids", .array(of: .uuid),
                "The ids of users who were merged into this one: each is read as this user's."),
            .publicAttributes, .privateAttributes,
            .readOnly("identities", .array(of: .object(IdentityRow.shape))),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
        ])

    /// The address does not change here: a new one has to be proved first.
    static let change: ObjectShape = {
        var shape = UserRow.shape
        for index in shape.fields.indices where shape.fields[index].name == "email" {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("UserChange")
    }()
}

extension UserRow {
    /// As people, their apps and hooks see it.
    var withoutPrivate: UserRow {
        var row = self
        row.hidesPrivate = true
        return row
    }

    /// As this caller may see it.
    func seen(by call: Call) -> UserRow {
        var row = self
        row.hidesPrivate = call.bound(.readUsers) != nil
        return row
    }
}
