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
                [
                    .readOnly("type", .enumeration(["join_link"]), "Always `join_link`."),
                    .readOnly("id", .uuid, "The join link's id."),
                ])),
        nullable: true,
        "The join link by which the user joined; `null` if there is none.")
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
        "User", versioned: true,
        [
            .readOnly("id", .uuid, "The user's id."),
            .readOnly("tenant_id", .uuid, "The id of the tenant that the user belongs to."),
            FieldShape(
                "email", .email, "The email address, in upper and lower case as it was given.",
                example: .string("ada@example.com")),
            .readOnly(
                "email_verified_at", .timestamp, nullable: true,
                "When the email address was verified; `null` if it is not verified."),
            FieldShape(
                "name", .string(min: 1, max: ProvisioningCall.nameLimit, rule: .displayName),
                nullable: true,
                "The user's name; `null` if none is known.",
                example: .string("Ada")),
            .optional(
                "role", .enumeration(of: UserRole.self),
                "What the user may do in the tenant: a `member` has the fewest rights, an `admin` "
                    + "the most. If absent for a new user: `member`."),
            .readOnly(
                "status", .enumeration(of: User.Status.self),
                "`pending`: the person has not joined yet, for example because an invite is not "
                    + "accepted, an approval is missing, or an import brought neither a password "
                    + "nor a sign-in. `active`: the person can sign in. "
                    + "`suspended`: sign-ins, sessions and keys are refused. `deleted`: the same "
                    + "as `suspended`, and the user can be restored for 30 days."),
            .readOnly(
                "source", .enumeration(of: User.Source.self),
                "How the user was added. `invite`: by an invite. `operator`: by an operator, "
                    + "an admin or an API key. `import`: by an import. `approval`: the person "
                    + "asked to join. `sign_up`: the person joined by signing in or signing up. "
                    + "`join_link`: the person used a join link."),
            JoinedBy.field,
            FieldShape(
                "external_id", .externalID, nullable: true,
                "The user's id in your own system, compared byte by byte. Two users of a tenant "
                    + "cannot have the same id, unless one of them is deleted.",
                example: .string("crm-4711")),
            .optional(
                "keep", .bool,
                "Whether the policy's `inactivity` rules ignore this user. If absent for a new "
                    + "user: false."),
            .readOnly(
                "merged_ids", .array(of: .uuid),
                "The ids of users who were merged into this user. A GET request with one of these "
                    + "ids returns this user."),
            .publicAttributes, .privateAttributes,
            .readOnly(
                "identities", .array(of: .object(IdentityRow.shape)),
                "The identities with which the user signs in at providers."),
            .readOnly("created_at", .timestamp, "When the user was created."),
            .readOnly(
                "updated_at", .timestamp,
                "When the user was last changed. A sign-in alone does not count."),
            .readOnly(
                "last_sign_in_at", .timestamp, nullable: true,
                "When the user last signed in; `null` if never. It can be up to a minute too "
                    + "early."),
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
                "The provider's issuer: its URL; `gatehouse` for `password`; for a Cognito pool, "
                    + "the pool's id. For people of a pool's external provider: "
                    + "`<pool>/<provider>`, or the issuer that `upstreams` sets.",
                example: .string("https://accounts.google.com")),
            FieldShape(
                "subject", .string(min: 1, max: 255, rule: .foreignID),
                "The person's identifier at the issuer; for a native user of a Cognito pool, the "
                    + "user name.",
                example: .string("110169484474386276334")),
            .nullable(
                "email", .email,
                "The email address that the provider last stated or, if it stated none, the one "
                    + "given when the identity was linked; `null` if there is none."),
            .readOnly(
                "email_vouched", .bool,
                "Whether the provider was trusted to verify `email` when it last stated an "
                    + "address."),
            .readOnly(
                "alias_count", .integer(0...Int.max),
                "The number of `sub` values of Cognito pools that are stored for the identity. "
                    + "It is at most 1 for a native user of a pool, and at most 10 for a user of "
                    + "an upstream provider. For a person who came through no pool, it is 0."),
            .readOnly(
                "created_at", .timestamp,
                "When the identity was linked to a user. A merge does not change it."),
            .readOnly(
                "last_used_at", .timestamp, nullable: true,
                "When the person last used the identity, for example to sign in; `null` if never. "
                    + "It may be a minute old."),
            .readOnly(
                "linked_by",
                .object(
                    ObjectShape(
                        "LinkedBy",
                        [
                            .readOnly(
                                "type", .string(),
                                "The kind of caller who linked the identity: `operator`, `user` or "
                                    + "`key` (an API key)."),
                            .readOnly(
                                "id", .string(),
                                "The id of the operator, user or API key."),
                        ])),
                nullable: true,
                "Who linked the identity to the user by hand, or by an import that stated a "
                    + "verified address; otherwise `null`."),
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
            .readOnly("id", .uuid, "The session's id."),
            .readOnly("user_id", .uuid, "The id of the user who is signed in."),
            .readOnly(
                "client", .string(),
                "The client, an app whose API this server implements, that the user signed in "
                    + "with; for example `immich`."),
            .readOnly(
                "device", .string(), nullable: true,
                "The name or id that the app gave the device. If it gave none: what the app "
                    + "reported about the device. `null` if it reported nothing."),
            .readOnly("created_at", .timestamp, "When the user signed in."),
            .readOnly(
                "last_seen_at", .timestamp,
                "When the session was last used. It is updated at most once a minute."),
            .readOnly(
                "ip", .string(), nullable: true,
                "The IP address from which the user signed in; `null` if it is unknown."),
            .readOnly(
                "user_agent", .string(max: 1024), nullable: true,
                "The `User-Agent` of the browser or app at the sign-in; `null` if there was none."),
            .readOnly("current", .bool, "Whether the request itself was made in this session."),
        ])
}
