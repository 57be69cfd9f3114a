import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/people`: finds, exports and erases one person across all tenants. Email addresses are sent
/// only in bodies, so that no log and no browser history contains them.
package enum PeopleEndpoints {
    package static let all: [Endpoint] = [search, act]

    /// The maximum number of users in a request.
    static let usersLimit = 100
    /// The time limit of these endpoints. It is long, because each user has a transaction of its
    /// own, and an erasure takes several statements.
    private static let time: Duration = .seconds(30)

    private static let identity = ObjectShape(
        "PersonIdentity",
        [
            .required(
                "provider", .enumeration(of: ProviderKind.self),
                "The kind of the provider at which the person signs in."),
            .required(
                "issuer", .string(min: 1, max: 2048),
                "The provider's issuer: its URL; `gatehouse` for `password`; for a Cognito pool, "
                    + "the pool's id. For people of a pool's external provider: "
                    + "`<pool>/<provider>`, or the issuer that `upstreams` sets."),
            .required(
                "subject", .string(min: 1, max: 2048), "The person's identifier at the issuer."),
        ])

    private static let question = ObjectShape(
        "PersonSearch",
        [
            .required(
                "email", .email,
                "The email address. The body has either `email` or `identity`.")
        ]
    ).or(
        whenHas: "identity",
        ObjectShape(
            "PersonSearchByIdentity",
            [
                .required(
                    "identity", .object(identity),
                    "The identity. The body has either `identity` or `email`.")
            ]))

    private static let search = Endpoint(
        .post, "/v1/people/search", id: "searchPeople", tag: "People",
        summary:
            "Finds the users of one person in all tenants, by email address or identity. Deleted "
            + "users are included.",
        access: .platform(.readUsers), body: .json(question),
        answers: [
            .ok(
                ObjectShape(
                    "PeopleFound",
                    [
                        .readOnly(
                            "items", .array(of: .object(FoundPerson.shape), max: 200),
                            "The users who were found, in all tenants."),
                        .readOnly(
                            "more", .bool,
                            "Whether there are more than \(Database.foundPeopleLimit) users."),
                    ]))
        ], maxBody: 1 << 14
    ) { call in
        let found =
            if let asked = call.input.optionalObject("identity") {
                try await call.database.people(identity: identityKey(asked))
            } else { try await call.database.people(email: call.input.emailAddress("email")) }
        let shown = found.prefix(Database.foundPeopleLimit)
        return noStore(
            .ok(
                .object([
                    .init("items", .array(shown.map(\.json))),
                    .init("more", .bool(found.count > shown.count)),
                ])))
    }

    private static func identityKey(_ asked: Input) throws -> IdentityKey {
        let provider: ProviderKind = try asked.case("provider")
        let issuer = try asked.string("issuer")
        return IdentityKey(
            provider: provider,
            issuer: provider == .cognito ? CognitoMapping.canonical(issuer: issuer) : issuer,
            subject: try asked.string("subject"))
    }

    private static let named = ObjectShape(
        "PersonNamed",
        [
            .required("tenant", .string(min: 1, max: 63), "The tenant, by id or slug."),
            .required("id", .uuid, "The id of the user, as the search returns it."),
        ])

    private static let order = ObjectShape(
        "PeopleAction",
        [
            .required(
                "action", .enumeration(of: PeopleAction.self),
                "What to do with each user. `export`: return the data that is stored about the "
                    + "user. `end_sessions`: end the user's sessions. `suspend`: suspend the user. "
                    + "`erase`: erase the user's data permanently."),
            .required(
                "users", .array(of: .object(named), max: usersLimit),
                "The users on whom to act. A user who is named twice counts once."),
            FieldShape(
                "reason", .string(min: 1, max: 500, rule: .displayName), required: true,
                "The reason, stored in the audit log of each tenant. It must not contain the "
                    + "person's address.",
                example: .string("Request 4711 of the person")),
        ])

    private static let act = Endpoint(
        .post, "/v1/people/actions", id: "actOnPeople", tag: "People",
        summary:
            "Performs an action on users of several tenants, one user after the other. Only an "
            + "owner who has just signed in or stepped up can `erase`, and must confirm the "
            + "action with `confirm`.",
        access: .platform(.endSessions),
        query: [
            QueryParameter(
                "confirm", .string(min: 1, max: 64),
                "For `erase` only. The first request is answered with 409 (`confirm_required`); "
                    + "repeat it with the `confirm` value of that response.")
        ],
        body: .json(order), answers: [.ok(PersonResult.answer)],
        problems: [.confirmRequired], idempotent: true, maxBody: 1 << 16,
        time: time
    ) { call in
        let action: PeopleAction = try call.input.case("action")
        try require(action, call)
        let users = try await NamedUser.all(of: call)
        switch action {
        case .endSessions, .suspend: return try await change(users, action, call)
        case .export: return noStore(try await PersonExport.begin(users, call))
        case .erase: return noStore(try await PersonErasure.run(users, call))
        }
    }

    private static func require(_ action: PeopleAction, _ call: Call) throws {
        let permission = Permissions.permits(call.principal.subject, action.right, in: nil)
        guard permission == .allowed else {
            throw Problem.missing(action.right, permission)
        }
    }

    private static func change(
        _ users: [NamedUser], _ action: PeopleAction, _ call: Call
    ) async throws -> Response {
        var results: [PersonResult] = []
        for user in users {
            results.append(
                try await user.result {
                    try await user.changing(by: call) { change in
                        let row = try await change.lockUser(user.id)
                        switch action {
                        case .suspend: _ = try await change.suspendUser(row)
                        default: try await change.endSessions(of: row)
                        }
                    }
                })
        }
        return .ok(PersonResult.document(action, results))
    }

    static func noStore(_ response: Response) -> Response {
        var response = response
        response.set("cache-control", "no-store")
        return response
    }
}

/// A user that the body names.
struct NamedUser: Sendable {
    /// The tenant as the body names it: an id or a slug.
    let tenantText: String
    /// The scope of that tenant; `nil` if there is no such tenant.
    let scope: TenantScope?
    let id: UUID

    /// The users in the order of the body, each once.
    static func all(of call: Call) async throws -> [NamedUser] {
        var scopes: [String: TenantScope] = [:]
        var users: [NamedUser] = []
        for named in try call.input.objects("users") {
            let (text, id) = (try named.string("tenant"), try named.uuid("id"))
            if scopes[text] == nil, let tenant = try await call.database.tenant(text) {
                scopes[text] = call.database.scope(tenant.id)
            }
            let scope = scopes[text]
            let isDouble = users.contains {
                $0.id == id && $0.scope != nil && $0.scope?.tenant == scope?.tenant
            }
            if !isDouble { users.append(NamedUser(tenantText: text, scope: scope, id: id)) }
        }
        guard users.isEmpty else { return users }
        throw Problem.invalid([FieldError("/users", .tooShort, "must name at least one user")])
    }

    /// The error for a user who was not found: for a merged user, a conflict with the id of the
    /// remaining user; otherwise 404.
    func missing() async throws -> Problem {
        if let winner = try await scope?.winner(over: id) {
            return Problem.conflict(
                "The user was merged; `conflicting_id` is the user who remains.",
                with: winner.description)
        }
        return Problem.notFound("user")
    }

    /// Runs a transaction in this user's tenant. When this method returns, the change is committed
    /// and all replicas have acknowledged it, so a later failure with another user does not roll it
    /// back.
    func changing<Result: Sendable>(
        by call: Call, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        guard let scope else { throw Problem.notFound("tenant") }
        var actor = call.actor
        actor.reason = try call.input.string("reason")
        let result = try await scope.change(by: actor, body)
        try await HeldChange.current?.commit()
        return result
    }

    /// Runs `body` and returns the result for this user. If the action on this user is refused, the
    /// refusal becomes the result. A fault of the server is thrown and ends the request.
    func result(_ body: () async throws -> Void) async throws -> PersonResult {
        do {
            try await body()
            return PersonResult(user: self, problem: nil)
        } catch {
            await HeldChange.current?.rollback()
            // A fault of the server is no result: the request fails, and can be repeated.
            guard var problem = Problem(error), problem.status < 500 else { throw error }
            if problem.code == .notFound, scope != nil { problem = try await missing() }
            return PersonResult(user: self, problem: problem)
        }
    }
}

extension FoundPerson: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.object("tenant") {
                $0.member("id", tenant)
                $0.member("slug", tenantSlug)
                $0.member("name", tenantName)
                $0.member("status", tenantStatus)
            }
            $0.member("id", id)
            $0.member("email", email)
            $0.member("name", name)
            $0.member("status", status)
            $0.member("role", role)
            $0.member("created_at", createdAt)
            $0.member("last_sign_in_at", lastSignInAt)
            $0.member("found_by", ways)
        }
    }

    static let shape = ObjectShape(
        "FoundPerson",
        [
            .readOnly(
                "tenant",
                .object(
                    ObjectShape([
                        .readOnly("id", .uuid, "The tenant's id."),
                        .readOnly("slug", .string(), "The tenant's slug."),
                        .readOnly("name", .string(), "The tenant's name."),
                        .readOnly(
                            "status", .enumeration(of: Tenant.Status.self),
                            "Whether the tenant is active, suspended or deleted."),
                    ])), "The tenant that the user belongs to."),
            .readOnly("id", .uuid, "The id of the user in the tenant."),
            .readOnly("email", .string(max: 320), "The user's email address in the tenant."),
            .readOnly(
                "name", .string(), nullable: true, "The user's name; `null` if none is known."),
            .readOnly(
                "status", .enumeration(of: User.Status.self),
                "The user's status. `pending`: the person has not joined yet, for example because "
                    + "an invite is not accepted or an approval is missing."),
            .readOnly(
                "role", .enumeration(of: UserRole.self),
                "The user's role in the tenant. A `member` has the fewest rights, an `admin` the "
                    + "most."),
            .readOnly("created_at", .timestamp, "When the user was created."),
            .readOnly(
                "last_sign_in_at", .timestamp, nullable: true,
                "When the user last signed in; `null` if never. It can be up to a minute too "
                    + "early."),
            .readOnly(
                "found_by", .array(of: .enumeration(of: Way.self)),
                "How the search found the user: by the `address`, a `former_address`, an "
                    + "`identity` or an `invite`."),
        ])
}

/// The actions on users that a search found.
enum PeopleAction: String, CaseIterable {
    case export
    case endSessions = "end_sessions"
    case suspend, erase

    var right: Right {
        switch self {
        case .export: .exportPeople
        case .endSessions: .endSessions
        case .suspend: .suspendUsers
        case .erase: .erasePeople
        }
    }
}
