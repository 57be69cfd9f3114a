import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/join-links`: links by which many people join as members.
package enum JoinLinkEndpoints {
    package static let all: [Endpoint] = [list, create, get, revoke] + JoinPageEndpoints.all

    private static let path = "/v1/tenants/{tenant}/join-links"

    private static let list = Endpoint(
        .get, path, id: "listJoinLinks", tag: "Invites",
        summary: "Lists the tenant's join links, newest first.", access: .right(.readInvites),
        query: QueryParameter.list(sorts: ["-created_at", "created_at"]),
        answers: [.list(JoinLinkRow.shape)], mayLag: true
    ) { call in
        let providers = try await providers(call)
        return call.list(try await call.scope.joinLinks(call.listQuery())) {
            $0.write(to: &$1, at: call.now, providers: providers)
        }
    }

    private static let create = Endpoint(
        .post, path, id: "createJoinLink", tag: "Invites",
        summary: "Creates a link by which up to `max_uses` people become members. A tenant has at "
            + "most \(JoinLink.mostLive) active links.",
        access: .right(.manageInvites), body: .json(JoinLinkRow.creation),
        answers: [.created(JoinLinkRow.withURL)], problems: [.conflict, .signUpClosed],
        idempotent: true, secret: true
    ) { call in
        let request = try await request(call)
        let (row, token) = try await call.making { change in
            try await change.makeJoinLink(request)
        }
        let location = "/v1/tenants/\(try call.tenant.id)/join-links/\(row.id)"
        var answer = Response.created(
            row.json(
                at: call.now, providers: try await providers(call), token: token,
                publicURL: call.application.publicURL, maker: call.principal.subject.expiry),
            at: location, etag: row.etag)
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// The number of providers that a link's page offers.
    private static func providers(_ call: Call) async throws -> Int {
        try await call.database.offeredProviders(of: call.tenant.id).count
    }

    /// The link that the body requests. Throws one 422 with all errors.
    private static func request(_ call: Call) async throws -> JoinLinkRequest {
        var errors: [FieldError] = []
        let end = call.input.optionalTimestamp("expires_at")
        if let end, let fault = InviteAsking.endFault(end, call.now) { errors.append(fault) }
        let returns = try await ReturnAddress.allowed([call.input], call)
        if let fault = ReturnAddress.fault(call.input, returns) { errors.append(fault) }
        guard errors.isEmpty else { throw Problem.invalid(errors) }
        let domains = (call.input.optionalStrings("domains") ?? []).compactMap {
            try? DomainName($0).ascii
        }
        return JoinLinkRequest(
            domains: Set(domains).sorted(),
            maxUses: call.input.optionalInt("max_uses") ?? JoinLink.defaultPlaces,
            expiresAt: call.principal.subject.cut(
                end ?? call.now.adding(seconds: Invite.defaultLifetime)),
            returnTo: call.input.optionalString("return_to"))
    }

    private static let get = Endpoint(
        .get, path + "/{id}", id: "getJoinLink", tag: "Invites", summary: "Returns one join link.",
        access: .right(.readInvites), answers: [.ok(JoinLinkRow.shape)]
    ) { call in
        guard let row = try await call.scope.joinLink(call.id()) else {
            throw Problem.notFound("join link")
        }
        return .ok(
            row.json(at: call.now, providers: try await providers(call)), etag: row.etag)
    }

    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        try await call.scope.joinLink(call.id()) != nil
    }

    private static let revoke = Endpoint(
        .post, path + "/{id}/revoke", id: "revokeJoinLink", tag: "Invites",
        summary: "Revokes a join link at once. Users who joined by it stay.",
        access: .right(.manageInvites),
        answers: [.ok(JoinLinkRow.shape).showing(["status": .string("revoked")])],
        idempotent: true, exists: exists
    ) { call in
        let id = try call.id()
        let row = try await call.scope.change(by: call.actor) { change in
            try await change.revokeJoinLink(id)
        }
        return .ok(
            row.json(at: call.now, providers: try await providers(call)), etag: row.etag)
    }
}

extension JoinLinkRow {
    /// Writes the link as `/v1` shows it. If `token` is given, the output includes the URL, which
    /// is shown only once. `providers` is the number of providers that the link's page offers.
    /// `maker` is the expiry of the key that created the link.
    func write(
        to json: inout JSONWriter, at now: Timestamp, providers: Int, token: String? = nil,
        publicURL: String = "", maker: Timestamp? = nil
    ) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", link.tenantID)
            $0.member("role", UserRole.member.rawValue)
            $0.member("domains", link.domains)
            $0.member("max_uses", link.maxUses)
            $0.member("uses", link.uses)
            $0.member("status", link.status(at: now).rawValue)
            $0.member("providers", providers)
            $0.member("expires_at", link.expiresAt)
            if maker == link.expiresAt { $0.member("expires_at_reason", "maker") }
            $0.member("return_to", returnTo)
            $0.object("created_by") {
                $0.member("type", makerType)
                $0.member("id", makerID)
                $0.member("name", makerName)
            }
            $0.member("created_at", createdAt)
            // The token is in the fragment (`#`), so that no server logs it.
            if let token { $0.member("url", "\(publicURL)/join#token=\(token)") }
        }
    }

    func json(
        at now: Timestamp, providers: Int, token: String? = nil, publicURL: String = "",
        maker: Timestamp? = nil
    ) -> JSONValue {
        .written {
            write(
                to: &$0, at: now, providers: providers, token: token, publicURL: publicURL,
                maker: maker)
        }
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "JoinLink", versioned: true,
        [
            .readOnly("id", .uuid, "The join link's id."),
            .readOnly("tenant_id", .uuid, "The id of the tenant that people join with the link."),
            .readOnly(
                "role", .enumeration([UserRole.member.rawValue]),
                "The role that users get; always `member`."),
            .optional(
                "domains", .array(of: .string(min: 1, max: 255, rule: .domain), max: 50),
                "The email domains whose addresses may use the link; any address if empty."),
            .optional(
                "max_uses", .integer(JoinLink.places),
                "How many users the link may create; 100 if absent."),
            .readOnly(
                "uses", .integer(0...JoinLink.places.upperBound),
                "The number of users that the link has created."),
            .readOnly(
                "status", .enumeration(of: JoinLink.Status.self),
                "`active`: the link is valid. `used_up`: it has created `max_uses` users. "
                    + "`expired`: `expires_at` has passed. `revoked`: it was revoked, or its "
                    + "creator may no longer invite."),
            .readOnly(
                "providers", .integer(0...Int.max),
                "The number of providers that the link's page offers. While this is 0, no one can "
                    + "join at the page; an app can still send the token as `join_token`."),
            .optional(
                "expires_at", .timestamp,
                "When the link expires. A new link must expire 5 minutes to 90 days from now. "
                    + "A new link without a time expires after 7 days, or earlier with the API key "
                    + "that created it."),
            ExpiryReason.field,
            ReturnAddress.field,
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "JoinLinkMaker",
                        [
                            .readOnly(
                                "type", .string(),
                                "The kind of creator: `operator`, `user` or `key` (an API key)."),
                            .readOnly("id", .string(), "The id of the operator, user or API key."),
                            .readOnly(
                                "name", .string(),
                                "The creator's name or email address when the link was created."),
                        ])),
                "Who created the link."),
            .readOnly("created_at", .timestamp, "When the link was created."),
        ])

    static let withURL = shape.adding(
        "JoinLinkWithURL",
        [
            .readOnly(
                "url", .string(),
                "The link for the people who are to join. It is shown only once.")
        ])

    static let creation = shape.creating("JoinLinkCreation", required: [])
}
