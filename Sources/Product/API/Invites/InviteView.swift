import Domain
import JSON
import Storage
import Text

extension InviteRow {
    /// Writes the invite as `/v1` shows it. If `token` is given, the output includes the token and
    /// the link, which are shown only once. `maker` is the expiry of the key that created the
    /// invite; the invite expires no later than the key.
    func write(
        to json: inout JSONWriter, at now: Timestamp, token: String? = nil, publicURL: String = "",
        maker: Timestamp? = nil
    ) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenantID)
            $0.member("email", email)
            $0.member("role", role.rawValue)
            $0.member("status", status(at: now).rawValue)
            $0.member("expires_at", expiresAt)
            if maker == expiresAt { $0.member("expires_at_reason", "maker") }
            $0.member("message", message)
            $0.member("external_id", externalID)
            $0.member("public_attributes", stored: attributes.public)
            if !hidesPrivate { $0.member("private_attributes", stored: attributes.private) }
            $0.member("delivery", delivery)
            $0.member("return_to", returnTo)
            $0.member("delivery_status", deliveryStatus)
            $0.member("delivery_detail", deliveryDetail)
            $0.object("invited_by") {
                $0.member("type", inviterType)
                $0.member("id", inviterID)
                $0.member("name", inviterName)
            }
            $0.member("accepted_at", acceptedAt)
            $0.member("accepted_user_id", acceptedUserID)
            $0.member("sent_count", sentCount)
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            if let token {
                $0.member("token", token)
                $0.member("accept_url", acceptURL(token, publicURL))
            }
        }
    }

    /// The URL of the acceptance page. The token is in the fragment (`#`), so that no server logs
    /// it.
    func acceptURL(_ token: String, _ publicURL: String) -> String {
        "\(publicURL)/invite#token=\(token)"
    }

    func json(at now: Timestamp) -> JSONValue { .written { write(to: &$0, at: now) } }

    func json(
        at now: Timestamp, token: String?, publicURL: String, maker: Timestamp? = nil
    ) -> JSONValue {
        .written { write(to: &$0, at: now, token: token, publicURL: publicURL, maker: maker) }
    }

    var etag: String { ETag.version(version) }

    /// The invite as this caller may see it: a member sees no private attributes.
    func seen(by call: Call) -> InviteRow {
        var row = self
        row.hidesPrivate = call.bound(.readInvites) != nil
        return row
    }

    static let shape = ObjectShape(
        "Invite", versioned: true,
        [
            .readOnly(
                "id", .uuid,
                "The invite's id, which stays the same when the invite is sent again."),
            .readOnly("tenant_id", .uuid, "The id of the tenant that the person is invited to."),
            FieldShape(
                "email", .email,
                "The email address of the person who is invited. The policy decides whether a "
                    + "person with another address can accept the invite.",
                example: .string("ann@example.com")),
            .optional(
                "role", .enumeration(of: UserRole.self),
                "The role that the person gets by accepting the invite. If the operator or user "
                    + "who invited may no longer give it, the person becomes a `member`. A new "
                    + "invite without it gets the policy's default."),
            .readOnly(
                "status", .enumeration(of: Invite.Status.self),
                "`pending`: the person can accept the invite. `accepted`: the person accepted it. "
                    + "`revoked`: it was revoked, or replaced after it expired. `expired`: "
                    + "`expires_at` has passed."),
            .optional(
                "expires_at", .timestamp,
                "When the invite expires. A new time must be 5 minutes to 90 days from now. A new "
                    + "invite without a time expires after 7 days, or earlier with the API key "
                    + "that created it."),
            ExpiryReason.field,
            .nullable(
                "message", .string(max: 2000),
                "The inviter's text to the person, which the mail contains; `null` if there is "
                    + "none."),
            .nullable(
                "external_id", .externalID,
                "The `external_id` that the invited user gets; `null` if there is none. If another "
                    + "user already has this id, or if the person already has a different one, the "
                    + "invite is refused."),
            .publicAttributes, .privateAttributes,
            .optional(
                "delivery", .enumeration(of: Invite.Delivery.self),
                "`mail`: the person gets the link by mail. `link`: the response shows the link "
                    + "once, and you hand it over. A request without it means `mail`, or `link` if "
                    + "the server has no mail server."),
            ReturnAddress.field,
            .readOnly(
                "delivery_status", .enumeration(of: Invite.DeliveryStatus.self), nullable: true,
                "The delivery status of the last mail; `null` if the invite was last sent as a "
                    + "link, or revoked before it was mailed. `sent`: the mail server accepted the "
                    + "mail, and no bounce is known."),
            .readOnly(
                "delivery_detail", .string(), nullable: true,
                "Why the mail was not sent, or was refused, bounced or delayed; otherwise "
                    + "`null`."),
            .readOnly(
                "invited_by",
                .object(
                    ObjectShape(
                        "InvitedBy",
                        [
                            .readOnly(
                                "type", .string(),
                                "The kind of inviter, for example `operator`, `user` or `key` (an "
                                    + "API key)."),
                            .readOnly("id", .string(), "The id of the operator, user or API key."),
                            .readOnly(
                                "name", .string(),
                                "The inviter's name or email address when the invite was created."),
                        ])),
                "Who created the invite."),
            .readOnly(
                "accepted_at", .timestamp, nullable: true,
                "When the invite was accepted; `null` if it was not."),
            .readOnly(
                "accepted_user_id", .uuid, nullable: true,
                "The id of the user who accepted the invite, or of the user with whom that user "
                    + "was merged; `null` if it was not accepted."),
            .readOnly(
                "sent_count", .integer(0...Int(Int32.max)),
                "How often the invite was sent, by mail or as a link: 1 at first, and one more "
                    + "each time it is sent again."),
            .readOnly("created_at", .timestamp, "When the invite was created."),
            .readOnly(
                "updated_at", .timestamp,
                "When the invite was last changed, for example sent again, accepted or revoked."),
        ])

    static let withToken = shape.adding(
        "InviteWithToken",
        [
            .readOnly(
                "token", .string(), always: false,
                "The token, shown only once, and only if `delivery` is `link`."),
            .readOnly(
                "accept_url", .string(), always: false,
                "The link for the invited person, shown only once, and only if `delivery` is "
                    + "`link`."),
        ])

    private static let resendField = FieldShape.optional(
        "resend", .bool,
        "Whether a pending invite for the same address gets a new token, which invalidates the "
            + "old token.")

    static let creation = shape.creating("InviteCreation", required: ["email"])
        .adding("InviteCreation", [resendField])
        .or(whenHas: "invites", list)

    /// The body with a list of invites. The addresses are checked one by one later, so that an
    /// invalid address does not prevent the other invites.
    private static let list: ObjectShape = {
        var item = shape.creating("InviteListItem", required: ["email"])
            .adding("InviteListItem", [resendField])
        for index in item.fields.indices where item.fields[index].name == "email" {
            item.fields[index].kind = .string(max: 400)
        }
        return ObjectShape(
            "InviteListCreation",
            [
                .required(
                    "invites", .array(of: .object(item), max: InviteJobs.most),
                    "The invites to create, each with its own result. Over 1,000 invites become a "
                        + "job, and must all be sent by mail.")
            ])
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
                                .readOnly(
                                    "index", .integer(0...999),
                                    "The position of the invite in the list of the request, from "
                                        + "0."),
                                .readOnly(
                                    "email", .string(), "The email address, as in the request."),
                                .readOnly(
                                    "result",
                                    .enumeration(["created", "existing", "resent", "refused"]),
                                    "`created`: a new invite was created. `existing`: a pending "
                                        + "invite was kept as it is. `resent`: a pending invite "
                                        + "got a new token. `refused`: see `code`."),
                                .readOnly(
                                    "invite", .object(withToken), nullable: true,
                                    "The invite; `null` if it was refused. If a new link was made "
                                        + "and not mailed, it contains the link, which is shown "
                                        + "only once."),
                                .readOnly(
                                    "code", .string(), nullable: true,
                                    "Why the invite was refused, as a stable code for programs to "
                                        + "branch on; `null` if it was not refused."),
                                .readOnly(
                                    "detail", .string(), nullable: true,
                                    "Why the invite was refused, for people to read; `null` if it "
                                        + "was not refused."),
                                .readOnly(
                                    "conflicting_id", .uuid, nullable: true, always: false,
                                    "If the invite was refused because of another object: its id, "
                                        + "for example that of a user who already has the address. "
                                        + "Otherwise `null`."),
                            ]))),
                "One result for each invite of the request, in the same order.")
        ])
}
