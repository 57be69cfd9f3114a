import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/users`: the users of a tenant.
package enum UserEndpoints {
    package static let all: [Endpoint] =
        MergeEndpoints.all + DuplicateEndpoint.all
        + ([list, create, get, update, delete] + UserStatusEndpoints.all
        + UserIdentityEndpoints.all + UserSessionEndpoints.all + UserAccountEndpoints.all)
        .map(\.followingMerges)

    static let path = "/v1/tenants/{tenant}/users"

    private static let list = Endpoint(
        .get, path, id: "listUsers", tag: "Users",
        summary:
            "Lists the users of the tenant, newest first. The list contains deleted users only "
            + "with `status=deleted` or `ids`.",
        access: .own(.readUsers),
        query: QueryParameter.list(sorts: [
            "-created_at", "created_at", "email", "-email", "-last_sign_in_at", "last_sign_in_at",
        ])
            + UserFilter.parameters,
        answers: [.list(UserRow.shape)], mayLag: true
    ) { call in
        let list = try call.listQuery()
        if let own = call.bound(.readUsers) {
            return call.list(
                ListPage(
                    whole:
                        try await call.scope.user(own).map { [$0.seen(by: call)] } ?? []))
        }
        let filter = try await UserFilter(call.listFilter, call)
        return call.list(try await call.scope.users(list, filter))
    }

    private static let create = Endpoint(
        .post, path, id: "createUser", tag: "Users",
        summary: "Creates a user, who is `pending` until the first sign-in.",
        access: .right(.createUsers),
        body: .json(UserRow.shape.creating("UserCreation", required: ["email"])),
        answers: [.created(UserRow.shape)], problems: [.emailTaken, .conflict], idempotent: true
    ) { call in
        let email = try call.input.emailAddress("email")
        let attributes = call.input.attributes(on: AttributePair())
        let role: UserRole = call.input.optionalCase("role") ?? .member
        try call.principal.subject.requireCover(of: role, in: call.tenant.id)
        let row = try await call.scope.change(by: call.actor) { change in
            try await change.createUser(
                email: email, name: call.input.optionalString("name"),
                role: role,
                externalID: call.input.optionalString("external_id"), attributes: attributes,
                isKept: call.input.flag("keep"))
        }
        return .created(row, at: "/v1/tenants/\(row.tenant)/users/\(row.id)", etag: row.etag)
    }

    private static let get = Endpoint(
        .get, path + "/{id}", id: "getUser", tag: "Users", summary: "Returns one user.",
        access: .own(.readUsers), answers: [.ok(UserRow.shape)]
    ) { call in
        let row = try await visible(call)
        return .ok(row.seen(by: call), etag: row.etag)
    }

    /// PATCH cannot change these members; a body may only repeat them. The text says how a member
    /// is changed instead.
    private static let ways = [
        "email": "the address changes by POST …/email-change",
        "status": "it changes by POST …/suspend, …/resume and …/restore, and by DELETE",
    ]

    private static let update = Endpoint(
        .patch, path + "/{id}", id: "updateUser", tag: "Users",
        summary:
            "Changes a user's name, role, external id, `keep` or attributes. Attributes are "
            + "merged. Members and managers may change their own name.",
        access: .own(.renameUser),
        body: .json(UserRow.change), answers: [.ok(UserRow.shape)], problems: [.conflict],
        ifMatch: .honoured, exists: mayBeEdited
    ) { call in
        try await change(call) { change, row in
            try call.input.checkRepeated(against: row.json, ways: Self.ways)
            var new = UserEdit(of: row)
            new.role = call.input.optionalCase("role") ?? row.role
            if call.input.has("name") { new.name = call.input.optionalString("name") }
            if call.input.has("external_id") {
                new.externalID = call.input.optionalString("external_id")
            }
            new.isKept = call.input.optionalBool("keep") ?? row.isKept
            new.attributes = call.input.attributes(on: row.attributes)
            try requireEdit(call, row, new)
            guard row.status != .deleted else {
                throw Problem(.conflict, "The user is deleted; restore it first.")
            }
            return try await change.editUser(row, to: new)
        }
    }

    private static let delete = Endpoint(
        .delete, path + "/{id}", id: "deleteUser", tag: "Users",
        summary: "Deletes a user, who can be restored for 30 days and is then purged. `purge` "
            + "purges at once.",
        access: .right(.deleteUsers),
        query: [
            QueryParameter(
                "purge", .bool,
                "Whether to remove the personal data at once and permanently."),
            QueryParameter(
                "confirm", .string(min: 1),
                "For a purge only. The first request is answered with 409 (`confirm_required`); "
                    + "repeat it with the `confirm` value of that response."),
        ],
        answers: [.noContent], problems: [.confirmRequired], ifMatch: .honoured, exists: exists
    ) { call in
        let purges = call.query.flag("purge")
        if purges { try requirePurge(call) }
        let id = try call.id()
        try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockUser(id)
            try call.requireMatch(row.etag)
            guard purges else { return try await change.deleteUser(row) }
            let expected = call.database.purgeConfirmation(row)
            guard call.query.optionalString("confirm") == expected else {
                throw Problem(
                    .confirmRequired,
                    "This cannot be undone: repeat the request with `confirm` to purge "
                        + "\(row.email).",
                    members: [.init("confirm", .string(expected))])
            }
            try await change.purgeUser(row, isManual: true)
        }
        return .noContent
    }

    /// Changes the path's user: locks it, checks `If-Match`, and runs `body`. Returns the response
    /// with the changed user.
    static func change(
        _ call: Call, _ body: @Sendable (Change, UserRow) async throws -> UserRow
    ) async throws -> Response {
        let id = try call.id()
        let row = try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockUser(id)
            try call.requireMatch(row.etag)
            return try await body(change, row)
        }
        return .ok(row.seen(by: call), etag: row.etag)
    }

    @Sendable static func exists(_ call: Call) async throws -> Bool {
        try await call.scope.user(call.id()).map { call.sees($0.id) } ?? false
    }

    /// Whether the user exists. If the caller may change only itself, throws 403 for any other
    /// user, before the body is checked.
    @Sendable private static func mayBeEdited(_ call: Call) async throws -> Bool {
        guard try await exists(call) else { return false }
        if let own = call.bound(.renameUser), try call.id() != own {
            throw Problem.missing(Right.renameUser.rawValue)
        }
        return true
    }

    /// The user whom the path names. If the caller may see only itself, throws 404 for any other
    /// user.
    static func visible(_ call: Call) async throws -> UserRow {
        try await call.database.writeSignIns(of: call.tenant.id)
        guard let row = try await call.scope.user(call.id()), call.sees(row.id) else {
            throw Problem.notFound("user")
        }
        return row
    }

    /// Throws 403 unless the caller may make the change. Members may change their own name; a role,
    /// an external id or attributes need an operator's right. A body with private attributes needs
    /// this right even if it does not change them, since members could otherwise find out the
    /// values by trying.
    private static func requireEdit(_ call: Call, _ row: UserRow, _ new: UserEdit) throws {
        guard call.sees(row.id) else { throw Problem.notFound("user") }
        let isOwn =
            new.role == row.role && new.isKept == row.isKept
            && sameBytes(new.externalID ?? "", row.externalID ?? "")
            && new.attributes.public == row.attributes.public
            && !call.input.has("private_attributes")
        let right = isOwn ? Right.renameUser : .editUsers
        let permission = Permissions.permits(
            call.principal.subject, right, in: row.tenant, target: PermissionTarget(ownerID: row.id)
        )
        guard permission == .allowed else {
            throw Problem.missing(right, permission)
        }
        guard new.role != row.role else { return }
        for role in [row.role, new.role] {
            try call.principal.subject.requireCover(of: role, in: row.tenant)
        }
    }

    /// Throws 403 unless the caller is an owner or a key of the platform. A tenant's key may not
    /// purge, not even with `users:write`: it cannot do more than the admin who issued it, and
    /// admins may not purge.
    private static func requirePurge(_ call: Call) throws {
        let permission = Permissions.permits(
            call.principal.subject, .purgeUsers, in: try call.tenant.id)
        guard permission == .allowed else {
            throw Problem.forbidden("Only an owner or a key of the platform may purge a user.")
        }
    }
}

extension UserFilter {
    /// The parameters of the list. They are also the members of a bulk action's `filter`.
    static let parameters: [QueryParameter] = [
        .search(
            "Only users whose email address and name together contain each of these words, in any "
                + "case and order; only the first 8 words count. A word of fewer than 3 characters "
                + "must begin the address or a word of the name."),
        QueryParameter("ids", .array(of: .uuid, max: 200), "Only users with these ids."),
        QueryParameter(
            "status", .enumeration(of: User.Status.self), "Only users with this status."),
        QueryParameter("role", .enumeration(of: UserRole.self), "Only users with this role."),
        QueryParameter(
            "provider", .enumeration(of: ProviderKind.self),
            "Only users with an identity at a provider of this kind."),
        QueryParameter("external_id", .externalID, "Only the user with this external id."),
        .attributes,
        QueryParameter(
            "created_since", .timestamp, "Only users who were created at or after this time."),
        QueryParameter(
            "created_until", .timestamp, "Only users who were created before this time."),
        QueryParameter(
            "last_sign_in_since", .timestamp,
            "Only users who last signed in at or after this time."),
        QueryParameter(
            "last_sign_in_until", .timestamp,
            "Only users who last signed in before this time."),
        QueryParameter("never_signed_in", .bool, "If true: only users who have never signed in."),
        QueryParameter(
            "awaiting_approval", .bool,
            "If true: only users who asked to join and are waiting for approval."),
    ]

    init(_ filter: ListFilter, _ call: Call) async throws {
        let input = filter.input
        self.init(
            text: input.optionalString("q"), status: input.optionalCase("status"),
            role: input.optionalCase("role"), provider: input.optionalString("provider"))
        if let ids = input.optionalStrings("ids")?.compactMap({ UUID($0) }) {
            self.ids = try await call.scope.survivors(of: ids)
        }
        externalID = input.optionalString("external_id")
        attributes = try await call.attributes(of: filter)
        createdSince = input.optionalTimestamp("created_since")
        createdUntil = input.optionalTimestamp("created_until")
        signedInSince = input.optionalTimestamp("last_sign_in_since")
        signedInUntil = input.optionalTimestamp("last_sign_in_until")
        neverSignedIn = input.flag("never_signed_in")
        awaitingApproval = input.flag("awaiting_approval")
    }
}

extension QueryParameter {
    /// The query parameter that filters by attributes. It allows the attributes that the tenant's
    /// schema indexes.
    static let attributes: QueryParameter = {
        var parameter = QueryParameter(
            "attributes.<name>", .string(max: 255),
            "Only users with this value of an indexed attribute, compared byte by byte.")
        parameter.isFamily = true
        return parameter
    }()
}

extension Call {
    /// The names and values of the attributes in the filter. Throws 422 for an attribute that the
    /// tenant's schema does not index, or has not finished indexing.
    func attributes(of filter: ListFilter) async throws -> [(name: String, value: String)] {
        let prefix = "attributes."
        let asked = filter.input.members.compactMap { member -> (name: String, value: String)? in
            guard member.name.hasPrefix(prefix), let value = member.value.string else { return nil }
            return (String(member.name.dropFirst(prefix.count)), value)
        }
        if asked.isEmpty { return [] }
        let schema = try await scope.attributeSchema()
        let errors = asked.filter { !schema.isReady($0.name) }.map { name, _ in
            schema.unready.contains { sameBytes($0, name) }
                ? FieldError(
                    "\(filter.pointer)\(prefix)\(name)", .notAllowed,
                    "is being indexed; try again later")
                : FieldError(
                    "\(filter.pointer)\(prefix)\(name)", .unknown, "is not an indexed attribute")
        }
        if !errors.isEmpty { throw Problem.invalid(errors) }
        return asked
    }
}
