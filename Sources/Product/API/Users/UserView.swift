import Domain
import JSON
import Storage
import Text

/// What a response shows of the join link that admitted a user.
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

extension UserRow: JSONView {
    /// Writes the user as `/v1` shows it.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant)
            $0.member("email", text: self[.email])
            $0.member("email_verified_at", emailVerifiedAt)
            $0.member("name", text: self[.name])
            $0.member("role", text: self[.role])
            $0.member("status", text: self[.status])
            $0.member("source", text: self[.source])
            $0.member("joined_by", joinLinkID.map { JoinedBy(link: $0) })
            $0.member("external_id", text: self[.externalID])
            $0.member("keep", isKept)
            $0.member("merged_ids", mergedIDs.map(\.description))
            $0.member("public_attributes", object: self[.publicAttributes])
            if !hidesPrivate { $0.member("private_attributes", object: self[.privateAttributes]) }
            $0.member("identities", identities)
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            $0.member("last_sign_in_at", lastSignInAt)
        }
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "User",
        [
            .readOnly("id", .uuid), .readOnly("tenant_id", .uuid),
            FieldShape(
                "email", .email, "The address, in the case in which it was given.",
                example: .string("ada@example.com")),
            .readOnly("email_verified_at", .timestamp, nullable: true),
            FieldShape(
                "name", .string(min: 1, max: ProvisioningCall.nameLimit, rule: .displayName),
                nullable: true, example: .string("Ada")),
            .optional("role", .enumeration(of: UserRole.self), "The role; `member` if absent."),
            .readOnly("status", .enumeration(of: User.Status.self)),
            .readOnly("source", .enumeration(of: User.Source.self)),
            JoinedBy.field,
            FieldShape(
                "external_id", .externalID, nullable: true,
                "The user's id in your own system, compared byte by byte. No two users may have "
                    + "the same id.",
                example: .string("crm-4711")),
            .optional(
                "keep", .bool,
                "Whether the policy's `inactivity` rules ignore this user; false if absent."),
            .readOnly(
                "merged_ids", .array(of: .uuid),
                "The ids of users who were merged into this user. A request with one of these ids "
                    + "reads this user."),
            .publicAttributes, .privateAttributes,
            .readOnly("identities", .array(of: .object(IdentityRow.shape))),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
        ])

    /// The shape of a change. The address is read-only, since a new address must be verified first.
    static let change: ObjectShape = {
        var shape = UserRow.shape
        for index in shape.fields.indices where shape.fields[index].name == "email" {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("UserChange")
    }()
}

extension UserRow {
    /// The user without private attributes, as users themselves, their apps and hooks see it.
    var withoutPrivate: UserRow {
        var row = self
        row.hidesPrivate = true
        return row
    }

    /// The user as this caller may see it.
    func seen(by call: Call) -> UserRow {
        var row = self
        row.hidesPrivate = call.bound(.readUsers) != nil
        return row
    }
}

extension IdentityRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("provider", text: self[.provider])
            $0.member("issuer", text: self[.issuer])
            $0.member("subject", text: self[.subject])
            $0.member("email", text: self[.email])
            $0.member("email_vouched", isEmailTrusted)
            $0.member("alias_count", aliasCount)
            $0.member("created_at", createdAt)
            $0.member("last_used_at", lastUsedAt)
            if let type = self[.linkedByType], let id = self[.linkedByID] {
                $0.object("linked_by") {
                    $0.member("type", text: type)
                    $0.member("id", text: id)
                }
            } else {
                $0.member("linked_by", JSONValue.null)
            }
        }
    }

    static let shape = ObjectShape(
        "Identity",
        [
            .readOnly("id", .uuid, "The identity's id."),
            FieldShape(
                "provider", .enumeration(of: ProviderKind.self),
                "The kind of the provider."),
            FieldShape(
                "issuer", .string(min: 1, max: 512, rule: .foreignID),
                "The issuer. For a Cognito pool, it is the pool's id or, for people of an upstream "
                    + "provider, `<pool>/<upstream>`.",
                example: .string("https://accounts.google.com")),
            FieldShape(
                "subject", .string(min: 1, max: 255, rule: .foreignID),
                "The person's identifier at the issuer; for a native user of a Cognito pool, the "
                    + "user name.",
                example: .string("110169484474386276334")),
            .nullable("email", .email, "The address that the provider last stated."),
            .readOnly(
                "email_vouched", .bool,
                "Whether the provider was trusted to verify `email` when it last stated an "
                    + "address."),
            .readOnly(
                "alias_count", .integer(0...Int.max),
                "The number of the pool's `sub` values that are bound to the identity; at most one "
                    + "for a native user of the pool."),
            .readOnly("created_at", .timestamp, "When the identity was linked to the user."),
            .readOnly(
                "last_used_at", .timestamp, nullable: true,
                "When the person last signed in with the identity; `null` if never. It is updated "
                    + "at most once a minute."),
            .readOnly(
                "linked_by",
                .object(
                    ObjectShape(
                        "LinkedBy", [.readOnly("type", .string()), .readOnly("id", .string())])),
                nullable: true,
                "The operator or key that linked the identity by hand; otherwise `null`."),
        ])
}

extension UserSessionRow {
    /// Writes the session as `/v1` shows it. `current` is the id of the calling session; `nil` if
    /// the call has none.
    func write(to json: inout JSONWriter, current: UUID?) {
        json.object {
            $0.member("id", id)
            $0.member("user_id", user)
            $0.member("client", client)
            $0.member("device", deviceName)
            $0.member("created_at", createdAt)
            $0.member("last_seen_at", lastSeenAt)
            $0.member("ip", ip)
            $0.member("user_agent", userAgent)
            $0.member("current", id == current)
        }
    }

    static let shape = ObjectShape(
        "UserSession",
        [
            .readOnly("id", .uuid), .readOnly("user_id", .uuid),
            .readOnly("client", .string()), .readOnly("device", .string(), nullable: true),
            .readOnly("created_at", .timestamp), .readOnly("last_seen_at", .timestamp),
            .readOnly("ip", .string(), nullable: true),
            .readOnly("user_agent", .string(max: 1024), nullable: true),
            .readOnly("current", .bool, "Whether this is the session that makes the request."),
        ])
}
