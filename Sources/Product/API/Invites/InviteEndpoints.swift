import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/invites`: invites by operators and keys.
package enum InviteEndpoints {
    package static let all: [Endpoint] =
        [list, create, get, InviteEditEndpoint.update, resend, revoke]
        + InviteAcceptanceEndpoints.all

    private static let list = Endpoint(
        .get, "/v1/tenants/{tenant}/invites", id: "listInvites", tag: "Invites",
        summary: "Lists the tenant's invites, newest first.", access: .own(.readInvites),
        query: QueryParameter.list(sorts: ["-created_at", "created_at", "email", "-email"])
            + InviteFilter.parameters,
        answers: [.list(InviteRow.shape)], mayLag: true
    ) { call in
        let list = try call.listQuery()
        var filter = InviteFilter(call.listFilter)
        if let own = call.bound(.readInvites) {
            filter.emailKey = try await call.scope.user(own)?.emailKey ?? ""
        }
        return call.list(try await call.scope.invites(list, filter)) {
            $0.seen(by: call).write(to: &$1, at: call.now)
        }
    }

    private static let create = Endpoint(
        .post, "/v1/tenants/{tenant}/invites", id: "createInvite", tag: "Invites",
        summary:
            "Invites one person, or a list of people. Up to 1,000 people are invited within the "
            + "request, with a result for each. Up to 10,000 are invited by mail, in a job.",
        notes: notes, access: .right(.manageInvites),
        query: [
            QueryParameter(
                "dry_run", .bool,
                "For a list of invites only. If true, the server only reports what would happen, and "
                    + "changes nothing.")
        ],
        body: .json(InviteRow.creation),
        answers: [
            .created(InviteRow.withToken),
            Answer(
                200, .object(InviteRow.withToken.or(whenHas: "results", InviteRow.results)),
                summary: "For a list: a result for each invite. For one invite: the invite that "
                    + "this address already has."
            ).showing(shownList),
            .accepted.showing(["kind": .string(InviteJobs.name)]),
            Answer(409, .problem([.reason(.userSuspended), .signUpClosed])),
        ],
        problems: [.conflict, .emailTaken, .signUpClosed, .rateLimited], idempotent: true,
        secret: true, time: .seconds(30)
    ) { call in
        if let inputs = call.input.optionalObjects("invites") {
            if inputs.count > InviteJobs.atOnce {
                return .accepted(try await InviteJobs.begin(inputs, call), call)
            }
            return noStore(.ok(try await InviteAsking.list(inputs, call)))
        }
        if call.isDryRun {
            throw Problem.invalid([
                FieldError(
                    "?dry_run", .notAllowed, "is allowed only if the body has a list of invites")
            ])
        }
        let asked = try InviteAsking.request(call.input, await call.inviting([call.input]))
        let result = try await call.making { change in
            var request = asked
            if request.delivery == .mail {
                request.mailsLeft = try await change.mailsLeft(.invite)
            }
            let made = try await change.invite(request)
            if made.token != nil { try call.requireRecentSignIn(forInvite: made.invite.role) }
            return try await InviteAsking.posted(
                made, change, call.database, call.application.publicURL)
        }
        let json = shown(result, call)
        guard result.outcome == .created else {
            return noStore(.ok(json, etag: result.invite.etag))
        }
        let location = "/v1/tenants/\(try call.tenant.id)/invites/\(result.invite.id)"
        return noStore(.created(json, at: location, etag: result.invite.etag))
    }

    /// The example of the answer to a list, instead of that to one invite.
    private static let shownList: [String: JSONValue?] = {
        var members: [String: JSONValue?] = [:]
        for field in InviteRow.withToken.fields { members.updateValue(nil, forKey: field.name) }
        let created = InviteRow.results.example(input: false)["results"]?.array ?? []
        let refused = JSONValue.object([
            .init("index", .int(1)), .init("email", .string("bob@example.com")),
            .init("result", .string("refused")), .init("invite", .null),
            .init("code", .string("email_taken")),
            .init("detail", .string("This person is an active user already.")),
            .init("conflicting_id", .string("9c1d0e6f-4b7a-4e2d-8f3a-5b6c7d8e9f0a")),
        ])
        members.updateValue(.array(created + [refused]), forKey: "results")
        return members
    }()

    private static let notes = """
        The body is one invite, with `email`, or a list, with `invites`; never both. An invite also \
        creates a `pending` user with the address, if the tenant has none; the invite's acceptance \
        activates this user, and its revocation removes the user if the user has no identity and \
        never signed in.

        ```
        curl -X POST "$URL/v1/tenants/$TENANT/invites" \\
          -H "Authorization: Bearer $KEY" \\
          -H "Idempotency-Key: $(uuidgen)" \\
          -H 'Content-Type: application/json' \\
          -d '{"invites":[{"email":"ada@example.com"},{"email":"bob@example.com"}]}'
        ```

        In a list of up to 1,000, each invite has its own result. An invite with a bad address, or \
        with a role that the caller may not give, is `refused`, and the others are created. But a \
        member that does not fit the schema, such as an unknown role, refuses the whole list (422).
        """

    private static let get = Endpoint(
        .get, "/v1/tenants/{tenant}/invites/{id}", id: "getInvite", tag: "Invites",
        summary: "Returns one invite.", access: .own(.readInvites), answers: [.ok(InviteRow.shape)]
    ) { call in
        guard let row = try await call.scope.invite(call.id()), try await sees(call, row) else {
            throw Problem.notFound("invite")
        }
        return .ok(row.seen(by: call).json(at: call.now), etag: row.etag)
    }

    private static let resend = Endpoint(
        .post, "/v1/tenants/{tenant}/invites/{id}/resend", id: "resendInvite", tag: "Invites",
        summary: "Sends an invite again with a new token. The old token no longer works, and an "
            + "expired invite becomes valid again.",
        access: .right(.manageInvites),
        body: .json(
            ObjectShape(
                "InviteResend",
                [
                    .optional(
                        "delivery", .enumeration(of: Invite.Delivery.self),
                        "`mail`: the person gets the new link by mail. `link`: the response shows "
                            + "it once, and you hand it over. A request without it means `mail`, "
                            + "or `link` if the server has no mail server.")
                ])),
        answers: [
            .ok(InviteRow.withToken).showing([
                "delivery": .string("mail"), "delivery_status": .string("queued"),
                "sent_count": .int(2), "token": nil, "accept_url": nil,
            ])
        ],
        problems: [
            .reason(.inviteUsed), .reason(.inviteRevoked), .signUpClosed, .rateLimited,
        ],
        idempotent: true, secret: true, exists: exists
    ) { call in
        let id = try call.id()
        let result = try await call.making { change in
            let row = try await change.lockInvite(id)
            try requireRole(call, row.role)
            try call.requireRecentSignIn(forInvite: row.role)
            if let fault = InviteAsking.deliveryFault(call.input, call.application) {
                throw Problem.invalid([fault])
            }
            let sent = try await change.resend(
                row, InviteAsking.delivery(call.input, call.application),
                until: call.principal.subject.expiry)
            return try await InviteAsking.posted(
                sent, change, call.database, call.application.publicURL)
        }
        return noStore(.ok(shown(result, call), etag: result.invite.etag))
    }

    private static let revoke = Endpoint(
        .post, "/v1/tenants/{tenant}/invites/{id}/revoke", id: "revokeInvite", tag: "Invites",
        summary:
            "Revokes an invite at once. A user whom the invite created is removed if the user has "
            + "no identity and never signed in.",
        access: .right(.manageInvites),
        answers: [.ok(InviteRow.shape).showing(["status": .string("revoked")])],
        problems: [.reason(.inviteUsed)], idempotent: true, exists: exists
    ) { call in
        let id = try call.id()
        let row = try await call.scope.change(by: call.actor) { change in
            let row = try await change.lockInvite(id)
            try requireRole(call, row.role, isGiven: false)
            return try await change.revoke(row)
        }
        return .ok(row.json(at: call.now), etag: row.etag)
    }

    static func requireRole(_ call: Call, _ role: UserRole, isGiven: Bool = true) throws {
        try requireRole(call.principal.subject, role, in: call.tenant.id, isGiven: isGiven)
    }

    /// Throws 403 unless the caller may change an invite with this role. If `isGiven` is true, the
    /// caller must also have all rights of the role. For a revocation, `isGiven` is false.
    static func requireRole(
        _ who: Principal, _ role: UserRole, in tenant: UUID, isGiven: Bool
    ) throws {
        let target = PermissionTarget(role: role)
        guard Permissions.permits(who, .manageInvites, in: tenant, target: target) == .allowed
        else { throw Problem.forbidden("The credential may not give the invite's role.") }
        if isGiven { try who.requireCover(of: role, in: tenant) }
    }

    private static func shown(_ result: InviteResult, _ call: Call) -> JSONValue {
        result.invite.json(
            at: call.now, token: result.token, publicURL: call.application.publicURL,
            maker: call.principal.subject.expiry)
    }

    private static func noStore(_ response: Response) -> Response {
        var response = response
        response.fields.append(Field("cache-control", "no-store"))
        return response
    }

    static let exists: @Sendable (Call) async throws -> Bool = { call in
        guard let row = try await call.scope.invite(call.id()) else { return false }
        return try await sees(call, row)
    }

    /// Whether the caller may see the invite. A member sees only invites to their own address.
    private static func sees(_ call: Call, _ row: InviteRow) async throws -> Bool {
        guard let own = call.bound(.readInvites) else { return true }
        return try await call.scope.user(own).map { sameBytes($0.emailKey, row.emailKey) } ?? false
    }
}

/// `PATCH …/invites/{id}`: changes the role, expiry, message or attributes of a pending invite.
enum InviteEditEndpoint {
    static let update = Endpoint(
        .patch, "/v1/tenants/{tenant}/invites/{id}", id: "updateInvite", tag: "Invites",
        summary:
            "Changes the role, expiry, message or attributes of a pending invite. Attributes are "
            + "merged. The token stays valid. A new role also applies to the user whom the "
            + "invite created.",
        access: .right(.manageInvites), body: .json(change), answers: [.ok(InviteRow.shape)],
        problems: [.conflict], ifMatch: .honoured, exists: InviteEndpoints.exists
    ) { call in
        let id = try call.id()
        let row = try await call.making { change in
            let row = try await change.lockInvite(id)
            try InviteEndpoints.requireRole(call, row.role)
            let next = try wanted(call, row)
            try InviteEndpoints.requireRole(call, next.role)
            try call.requireMatch(row.etag)
            return try await change.editInvite(row, to: next)
        }
        return .ok(
            row.json(
                at: call.now, token: nil, publicURL: call.application.publicURL,
                maker: call.principal.subject.expiry), etag: row.etag)
    }

    /// The shape of a change. The address and the external id are read-only, since they belong to
    /// the person. The delivery and the return address are read-only, since they are chosen when
    /// the invite is sent.
    private static let change: ObjectShape = {
        var shape = InviteRow.shape
        for index in shape.fields.indices
        where ["email", "delivery", "external_id", "return_to"].contains(where: {
            sameBytes($0, shape.fields[index].name)
        }) {
            shape.fields[index].isReadOnly = true
        }
        return shape.patching("InviteChange")
    }()

    /// The change that the body requests. Throws 422 for read-only members with a new value, and
    /// for a new expiry that is out of bounds.
    private static func wanted(_ call: Call, _ row: InviteRow) throws -> InviteChange {
        let input = call.input
        try input.checkRepeated(against: row.json(at: call.now))
        // The row has the expiry in microseconds, but responses show it in milliseconds. If a body
        // repeats the expiry that a response showed, the expiry does not change.
        var end = input.optionalTimestamp("expires_at") ?? row.expiresAt
        if sameBytes(end.description, row.expiresAt.description) { end = row.expiresAt }
        if end != row.expiresAt, let fault = InviteAsking.endFault(end, call.now) {
            throw Problem.invalid([fault])
        }
        let role = input.optionalString("role").flatMap(UserRole.init) ?? row.role
        if end != row.expiresAt || role > row.role { end = call.principal.subject.cut(end) }
        return InviteChange(
            role: role, expiresAt: end,
            message: input.has("message") ? input.optionalString("message") : row.message,
            attributes: input.attributes(on: row.attributes))
    }
}

extension InviteFilter {
    /// The parameters of the list. They are also the members of a bulk action's `filter`.
    static let parameters: [QueryParameter] = [
        .search(
            "Only invites whose email address contains each of these words, in any case and order; "
                + "only the first 8 words count. A word of fewer than 3 characters must begin the "
                + "address."),
        QueryParameter(
            "status", .enumeration(of: Invite.Status.self), "Only invites with this status."),
        QueryParameter(
            "delivery_status", .array(of: .enumeration(of: Invite.DeliveryStatus.self), max: 4),
            "Only invites with one of these delivery statuses. In a query, separate them "
                + "by commas."),
        QueryParameter("external_id", .externalID, "Only invites with this external id."),
        QueryParameter(
            "job_id", .uuid,
            "Only invites in this job's report. When the server has removed the old report, the "
                + "list is empty."),
    ]

    init(_ filter: ListFilter) {
        let input = filter.input
        self.init(
            status: input.optionalString("status").flatMap(Invite.Status.init),
            text: input.optionalString("q"))
        deliveries = input.optionalStrings("delivery_status")?
            .compactMap(Invite.DeliveryStatus.init)
        externalID = input.optionalString("external_id")
        job = input.optionalUUID("job_id")
    }
}
