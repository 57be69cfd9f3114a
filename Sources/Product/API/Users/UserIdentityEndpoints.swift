import Domain
import HTTP
import JSON
import Storage

/// `…/users/{id}/identities` and `…/users/{id}/link-grants`: how a user signs in.
enum UserIdentityEndpoints {
    static let all: [Endpoint] = [list, link, unlink, grant]

    private static let path = UserEndpoints.path + "/{id}/identities"

    private static let list = Endpoint(
        .get, path, id: "listIdentities", tag: "Users", summary: "The user's sign-ins.",
        access: .own(.readUsers), answers: [.list(IdentityRow.shape)]
    ) { call in
        let row = try await UserEndpoints.visible(call)
        return call.list(ListPage(whole: row.identities))
    }

    private static let link = Endpoint(
        .post, path, id: "linkIdentity", tag: "Users",
        summary: "Links a sign-in by an operator's word.", access: .right(.linkIdentities),
        body: .json(
            IdentityRow.shape.creating(
                "IdentityCreation", required: ["provider", "issuer", "subject"])),
        answers: [.created(IdentityRow.shape)], problems: [.identityConflict, .conflict],
        idempotent: true, exists: UserEndpoints.exists
    ) { call in
        let id = try call.id()
        let input = call.input
        let database = try call.services.database
        let (user, made) = try await call.scope.change(by: call.actor) { change in
            let user = try await change.lockUser(id)
            try call.requireCover(of: user)
            return try await change.linkIdentity(
                user, provider: input.string("provider"),
                issuer: input.string("issuer"), subject: input.string("subject"),
                email: input.optionalString("email"), isAssertedByTenant: !call.principal.platform,
                isManual: true, database: database)
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
        summary: "Takes a sign-in away and ends the user's sessions.",
        access: .own(.unlinkIdentities), answers: [.noContent], exists: UserEndpoints.exists
    ) { call in
        let (id, identity) = (try call.id(), try call.id("identity_id"))
        let database = try call.services.database
        try await call.scope.change(by: call.actor) { change in
            let user = try await change.lockUser(id)
            try requireUnlink(call, user)
            // Users may relink an identity that they unlinked; an operator's unlinking bars it.
            let isOwn = call.principal.subject.selfID == user.id
            try await change.unlinkIdentity(user, identity, isBarred: !isOwn, database: database)
        }
        return .noContent
    }

    /// A user keeps one of their identities; only an operator unlinks the last one.
    private static func requireUnlink(_ call: Call, _ user: UserRow) throws {
        guard call.sees(user.id) else { throw Problem.notFound("user") }
        let target = PermissionTarget(ownerID: user.id, isLastIdentity: user.identities.count < 2)
        let permission = Permissions.permits(
            call.principal.subject, .unlinkIdentities, in: user.tenant, target: target)
        guard permission == .allowed else {
            throw Problem.forbidden("The last sign-in stays; link another one first.")
        }
    }

    private static let grantShape = ObjectShape(
        "LinkGrant",
        [
            .readOnly("token", .string(), "Shown once."),
            .readOnly(
                "url", .string(max: 2048), "Where the person signs in with it, to hand over."),
            .readOnly(
                "challenge", .string(min: 8, max: 8),
                "Thinkwork's app asks for these digits beside the token; the page at `url` shows them to "
                    + "the person, with the account that they lead to."),
            .readOnly("expires_at", .timestamp), ExpiryReason.field,
        ])

    private static let grant = Endpoint(
        .post, UserEndpoints.path + "/{id}/link-grants", id: "createLinkGrant", tag: "Users",
        summary: "A token that adds one sign-in to the user, once, within 30 minutes.",
        access: .right(.linkIdentities), answers: [.created(grantShape)],
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
                .init("url", .string("\(call.services.publicURL)/sign-in#grant=\(grant.token)")),
                .init(
                    "challenge",
                    .string(
                        try call.services.database.challenge(
                            ofGrant: TenantToken.hash(grant.token)))),
                .init("expires_at", .time(grant.expiresAt)),
            ] + ExpiryReason.members(of: grant.expiresAt, call)
        return .json(201, bytes: JSONValue.object(members).encoded())
    }
}
