import Domain
import HTTP
import JSON
import Storage
import Text

/// `…/users/{id}/password-link` and `…/users/{id}/email-change`: for a user who has lost the
/// password or has a new address.
enum UserAccountEndpoints {
    static let all: [Endpoint] = [passwordLink, changeEmail, cancelEmail, confirmEmail]

    private static let passwordLink = Endpoint(
        .post, UserEndpoints.path + "/{id}/password-link", id: "createPasswordLink", tag: "Users",
        summary: "Creates a link by which the user can set a password, once, within at most 30 "
            + "minutes. No mail is sent. Setting the password ends the user's sessions.",
        access: .right(.linkIdentities),
        body: .json(ObjectShape("PasswordLinkCreation", [ReturnAddress.field])),
        answers: [
            .issued(
                ObjectShape(
                    "PasswordLink",
                    [
                        .readOnly("url", .string(max: 2048), "The link. It is shown only once."),
                        .readOnly("expires_at", .timestamp, "When the link expires."),
                        ExpiryReason.field,
                    ]))
        ], problems: [.conflict], idempotent: true, secret: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let returns = try await ReturnAddress.allowed([call.input], call)
        if let fault = ReturnAddress.fault(call.input, returns) { throw Problem.invalid([fault]) }
        let returnTo = call.input.optionalString("return_to")
        let link = try await call.making { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            return try await change.makePasswordLink(
                for: user, returnTo: returnTo, until: call.principal.subject.expiry)
        }
        let members: [JSONValue.Member] =
            [
                .init("url", .string("\(call.application.publicURL)/reset#token=\(link.token)")),
                .init("expires_at", .time(link.expiresAt)),
            ] + ExpiryReason.members(of: link.expiresAt, call)
        return noStore(.json(201, bytes: JSONValue.object(members).encoded()))
    }

    private static let emailPath = UserEndpoints.path + "/{id}/email-change"

    private static let changeEmail = Endpoint(
        .post, emailPath, id: "askForEmailChange", tag: "Users",
        summary:
            "Mails a link to a new address of the user. If the new address is confirmed before "
            + "`expires_at`, it becomes the user's address. An earlier change that is not "
            + "confirmed yet is cancelled.",
        access: .right(.editUsers),
        body: .json(
            ObjectShape(
                "EmailChangeRequest",
                [
                    .required(
                        "email", .email, "The user's new address, to which the link is mailed.")
                ])),
        answers: [
            Answer(
                202,
                .object(
                    ObjectShape(
                        "EmailChange",
                        [
                            .readOnly(
                                "email", .string(),
                                "The address that waits to be confirmed."),
                            .readOnly(
                                "expires_at", .timestamp, "When the mailed link expires."),
                            ExpiryReason.field,
                        ])))
        ], problems: [.conflict, .emailTaken], idempotent: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let email = try call.input.emailAddress("email")
        guard call.application.sendsMail else {
            throw Problem(
                .conflict, "Without a mail server no address can be verified; set one up first.")
        }
        let end = try await call.making { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            guard !sameBytes(user.email, email.original) else {
                throw Problem.invalid([
                    FieldError("/email", .notAllowed, "is the user's address already")
                ])
            }
            return try await change.askForEmail(
                email, for: user, until: call.principal.subject.expiry,
                publicURL: call.application.publicURL)
        }
        let members: [JSONValue.Member] = [
            .init("email", .string(email.original)), .init("expires_at", .time(end)),
        ]
        let body = JSONValue.object(members + ExpiryReason.members(of: end, call))
        return noStore(.json(202, bytes: body.encoded()))
    }

    private static let cancelEmail = Endpoint(
        .delete, emailPath, id: "cancelEmailChange", tag: "Users",
        summary: "Cancels a change of address that waits to be confirmed. Its link no longer "
            + "works.",
        access: .right(.editUsers), answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            try await change.cancelEmailChange(of: change.lockUser(id))
        }
        return .noContent
    }

    private static let confirmEmail = Endpoint(
        .post, "/v1/email-changes/confirm", id: "confirmEmailChange", tag: "Users",
        summary:
            "Confirms a new address with the token that was mailed to this address. A mail to the "
            + "old address reports the change.",
        access: .open,
        body: .json(
            ObjectShape(
                "EmailConfirmation",
                [
                    .required(
                        "token", .string(min: 1, max: 128),
                        "The token of the mailed link: the text after `#token=`.")
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "EmailConfirmed",
                    [.readOnly("email", .string(), "The address that the user has now.")]))
        ], problems: [.notFound, .emailTaken, .rateLimited], maxBody: 1 << 14
    ) { call in
        let misses = "links that do not fit, from \(call.request.network)"
        guard try await call.database.counted(misses) < missLimit else {
            throw Problem.rateLimited(
                "Too many invalid links; wait a minute.", limit: missLimit,
                retryAfter: call.database.secondsOfMinuteLeft)
        }
        let user = try await call.database.confirmEmail(
            call.input.string("token"), requestID: call.request.id, ip: call.request.remoteAddress)
        guard let user else {
            _ = try await call.database.count(misses)
            throw Problem(
                .notFound, "The link is not valid, or no longer valid; ask for a new one.")
        }
        return noStore(.ok(.object([.init("email", .string(user.email))])))
    }

    /// The maximum number of wrong tokens from one address per minute. Wrong tokens of invites
    /// count too.
    private static let missLimit = 60

    private static func noStore(_ response: Response) -> Response {
        var response = response
        response.fields.append(Field("cache-control", "no-store"))
        return response
    }
}

/// The endpoints that change a user's status.
enum UserStatusEndpoints {
    static let all: [Endpoint] = [suspend, resume, restore, approve, decline]

    private static let suspend = verb(
        "suspend", "Suspends a user. Sign-ins, sessions and keys are refused at once.",
        .suspendUsers
    ) { change, row in try await change.suspendUser(row) }

    private static let resume = verb(
        "resume", "Ends the suspension of a user.", .resumeUsers, givesControl: true
    ) { change, row in try await change.resumeUser(row) }

    private static let restore = verb(
        "restore",
        "Restores a deleted user, within 30 days. After that, the response is 409 with "
            + "`conflict`, or 404 when the user is purged.", .restoreUsers,
        givesControl: true
    ) { change, row in try await change.restoreUser(row) }

    private static let approve = Endpoint(
        .post, UserEndpoints.path + "/{id}/approve", id: "approveUser", tag: "Users",
        summary: "Admits a person who asked to join and is waiting for approval. If mail can be "
            + "sent, the person gets a mail, with the `reason` if there is one.",
        access: .right(.approveUsers), body: .json(answer("UserApproval", "Welcome to the team.")),
        answers: [
            .ok(UserRow.shape).showing([
                "status": .string("active"), "source": .string("approval"),
            ])
        ], problems: [.conflict], idempotent: true,
        exists: UserEndpoints.exists
    ) { call in
        let reason = reason(call)
        return try await UserEndpoints.change(call) { change, row in
            try call.requireCover(of: row)
            try call.requireRecentSignIn(forAdmin: row)
            let approved = try await change.approveUser(row, reason: reason)
            if row.status == .pending, call.application.sendsMail {
                try await change.tellOfAnswer(
                    to: approved, .joinApproved, reason: reason)
            }
            return approved
        }
    }

    private static let decline = Endpoint(
        .post, UserEndpoints.path + "/{id}/decline", id: "declineUser", tag: "Users",
        summary: "Refuses a person who asked to join and is waiting for approval. If mail can be "
            + "sent, the person gets a mail, with the `reason` if there is one. The person may ask "
            + "again after 30 days.",
        access: .right(.approveUsers),
        body: .json(answer("UserDecline", "We do not know you.")),
        answers: [
            .ok(UserRow.shape).showing([
                "status": .string("deleted"), "source": .string("approval"),
            ])
        ], problems: [.conflict], idempotent: true,
        exists: UserEndpoints.exists
    ) { call in
        let reason = reason(call)
        return try await UserEndpoints.change(call) { change, row in
            let declined = try await change.declineUser(row, reason: reason)
            if row.status == .pending, call.application.sendsMail {
                try await change.tellOfAnswer(
                    to: declined, .joinDeclined, reason: reason)
            }
            return declined
        }
    }

    private static func answer(_ name: String, _ example: String) -> ObjectShape {
        ObjectShape(
            name,
            [
                FieldShape(
                    "reason", .string(max: Change.answerReasonLimit), nullable: true,
                    "A text for the mail to the person, as plain text.", example: .string(example))
            ])
    }

    private static func reason(_ call: Call) -> String? {
        call.input.optionalString("reason").flatMap { $0.isEmpty ? nil : $0 }
    }

    private static func verb(
        _ name: String, _ summary: String, _ right: Right, givesControl: Bool = false,
        _ body: @escaping @Sendable (Change, UserRow) async throws -> UserRow
    ) -> Endpoint {
        Endpoint(
            .post, UserEndpoints.path + "/{id}/\(name)", id: "\(name)User", tag: "Users",
            summary: summary, access: .right(right),
            answers: [
                .ok(UserRow.shape).showing([
                    "status": .string(name == "suspend" ? "suspended" : "active")
                ])
            ],
            problems: [.conflict, .emailTaken], idempotent: true, exists: UserEndpoints.exists
        ) { call in
            try await UserEndpoints.change(call) { change, row in
                if givesControl {
                    try call.requireCover(of: row)
                    try call.requireRecentSignIn(forAdmin: row)
                }
                return try await body(change, row)
            }
        }
    }
}

/// `…/users/{id}/identities` and `…/users/{id}/link-grants`: the identities with which a user signs
/// in.
enum UserIdentityEndpoints {
    static let all: [Endpoint] = [list, link, unlink, grant]

    private static let path = UserEndpoints.path + "/{id}/identities"

    private static let list = Endpoint(
        .get, path, id: "listIdentities", tag: "Users",
        summary: "Lists the identities that the user signs in with.",
        access: .own(.readUsers), answers: [.list(IdentityRow.shape)]
    ) { call in
        let row = try await UserEndpoints.visible(call)
        return call.list(ListPage(whole: row.identities))
    }

    private static let link = Endpoint(
        .post, path, id: "linkIdentity", tag: "Users",
        summary: "Adds the identity with this provider, issuer and subject to the user.",
        access: .right(.linkIdentities),
        body: .json(
            IdentityRow.shape.creating(
                "IdentityCreation", required: ["provider", "issuer", "subject"])),
        answers: [.created(IdentityRow.shape).with(.etag)],
        problems: [.reason(.identityConflict), .conflict],
        idempotent: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let input = call.input
        let (user, made) = try await call.scope.change(by: call.actor) { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            return try await change.linkIdentity(
                user, provider: input.string("provider"),
                issuer: input.string("issuer"), subject: input.string("subject"),
                email: input.optionalString("email"), isAssertedByTenant: !call.principal.platform,
                isManual: true)
        }
        guard let identity = user.identities.first(where: { $0.id == made }) else {
            throw Problem.internalError
        }
        return .created(
            identity,
            at: "/v1/tenants/\(user.tenant)/users/\(user.id)/identities/\(made)",
            etag: "\"\(made)\"")
    }

    private static let unlink = Endpoint(
        .delete, path + "/{identity_id}", id: "unlinkIdentity", tag: "Users",
        summary: "Removes an identity from the user and ends the user's sessions.",
        access: .own(.unlinkIdentities), answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let (id, identity) = (try call.id(), try call.id("identity_id"))
        try await call.scope.change(by: call.actor) { change in
            let user = try await change.lockUser(id)
            try requireUnlink(call, user)
            // A user may link an identity again after unlinking it. If an operator unlinked it, it
            // is barred and cannot be linked again.
            let isOwn = call.principal.subject.selfID == user.id
            try await change.unlinkIdentity(user, identity, isBarred: !isOwn)
        }
        return .noContent
    }

    /// Throws unless the caller may unlink the user's identity. A user cannot unlink the last of
    /// their own identities; only an operator can.
    private static func requireUnlink(_ call: Call, _ user: UserRow) throws {
        guard call.sees(user.id) else { throw Problem.notFound("user") }
        let target = PermissionTarget(ownerID: user.id, isLastIdentity: user.identities.count < 2)
        let permission = Permissions.permits(
            call.principal.subject, .unlinkIdentities, in: user.tenant, target: target)
        guard permission == .allowed else {
            throw Problem.forbidden(
                "You cannot remove your last identity; link another one first, or ask an operator.")
        }
    }

    private static let grantShape = ObjectShape(
        "LinkGrant",
        [
            .readOnly("token", .string(), "The token. It is shown only once."),
            .readOnly(
                "url", .string(max: 2048),
                "The link to hand over to the person. It contains the token and opens the page "
                    + "where the person signs in."),
            .readOnly(
                "challenge", .string(min: 8, max: 8),
                "A code of 8 digits. An app of the client `thinkwork` needs it in addition to the "
                    + "token. The page at `url` shows the account to which the identity is added "
                    + "and, if the tenant uses this client, the code."),
            .readOnly("expires_at", .timestamp, "When the token and the link expire."),
            ExpiryReason.field,
        ])

    private static let grant = Endpoint(
        .post, UserEndpoints.path + "/{id}/link-grants", id: "createLinkGrant", tag: "Users",
        summary: "Creates a token that adds one identity to the user, once, within at most 30 "
            + "minutes.",
        access: .right(.linkIdentities), answers: [.issued(grantShape)],
        problems: [.conflict], idempotent: true, secret: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let grant = try await call.making { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            return try await change.makeLinkGrant(for: user, until: call.principal.subject.expiry)
        }
        let members: [JSONValue.Member] =
            [
                .init("token", .string(grant.token)),
                .init("url", .string("\(call.application.publicURL)/sign-in#grant=\(grant.token)")),
                .init(
                    "challenge",
                    .string(
                        call.database.challenge(
                            ofGrant: TenantToken.hash(grant.token)))),
                .init("expires_at", .time(grant.expiresAt)),
            ] + ExpiryReason.members(of: grant.expiresAt, call)
        return .json(201, bytes: JSONValue.object(members).encoded())
    }
}

/// `…/users/{id}/sessions`: a user's active sessions.
enum UserSessionEndpoints {
    static let all: [Endpoint] = [list, endAll, end]

    private static let path = UserEndpoints.path + "/{id}/sessions"

    private static let list = Endpoint(
        .get, path, id: "listUserSessions", tag: "Users",
        summary: "Lists the user's active sessions, newest first.", access: .own(.readUsers),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(UserSessionRow.shape)], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let list = try call.listQuery()
        guard try await UserEndpoints.exists(call) else { throw Problem.notFound("user") }
        let current = call.principal.session
        return call.list(try await call.scope.sessions(of: id, list)) {
            $0.write(to: &$1, current: current)
        }
    }

    private static let endAll = Endpoint(
        .delete, path, id: "endUserSessions", tag: "Users",
        summary: "Ends all sessions of the user.", access: .right(.endSessions),
        answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            try await change.endSessions(of: change.lockUser(id))
        }
        return .noContent
    }

    private static let end = Endpoint(
        .delete, path + "/{session_id}", id: "endUserSession", tag: "Users",
        summary: "Ends one session of the user.", access: .right(.endSessions),
        answers: [.noContent],
        exists: UserEndpoints.exists
    ) { call in
        let (id, session) = (try call.id(), try call.id("session_id"))
        try await call.scope.change(by: call.actor) { change in
            try await change.endSessions(of: change.lockUser(id), id: session)
        }
        return .noContent
    }
}
