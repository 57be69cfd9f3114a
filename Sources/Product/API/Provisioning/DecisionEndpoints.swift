import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/provisioning/decisions`, and the same list below a tenant.
package enum DecisionEndpoints {
    package static let all: [Endpoint] = [list, get, listOfTenant, getOfTenant]

    private static let list = lists(
        "/v1/provisioning/decisions", "listDecisions",
        "Lists the decisions whether a person may sign in or join, newest first. They "
            + "are of all tenants or of no tenant; a tenant's credential gets only those that "
            + "concern its own tenant.")
    private static let listOfTenant = lists(
        "/v1/tenants/{tenant}/provisioning/decisions", "listTenantDecisions",
        "Lists the tenant's decisions whether a person may sign in or join, newest first.")
    private static let get = gets("/v1/provisioning/decisions/{id}", "getDecision")
    private static let getOfTenant = gets(
        "/v1/tenants/{tenant}/provisioning/decisions/{id}", "getTenantDecision")

    private static let filters = [
        QueryParameter(
            "outcome", .array(of: .enumeration(of: Outcome.self), max: 6),
            "Only decisions with one of these outcomes, separated by commas."),
        QueryParameter("since", .timestamp, "Only decisions that were made at or after this time."),
        QueryParameter("until", .timestamp, "Only decisions that were made before this time."),
        QueryParameter("reason", .enumeration(of: Reason.self), "Only decisions with this reason."),
        QueryParameter(
            "email", .email,
            "Only decisions about this email address. A part of an address is refused."),
        QueryParameter(
            "reference", .string(min: 1, max: 12),
            "Only the decision with this reference, which the person was shown."),
        QueryParameter(
            "q", .string(min: 1, max: 320),
            "Only decisions whose email address contains each of these words, in any order, or "
                + "whose reference is this text."),
        QueryParameter("user_id", .uuid, "Only decisions about this user."),
    ]

    private static func lists(_ path: String, _ id: String, _ summary: String) -> Endpoint {
        Endpoint(
            .get, path, id: id, tag: "Provisioning", summary: summary,
            access: .own(.readDecisions),
            query: QueryParameter.list(sorts: ["-created_at", "created_at"]) + filters
                + (path.contains("{tenant}") ? [] : [QueryParameter.ofTenant])
                + QueryParameter.histogram,
            answers: [.list(DecisionRow.shape, hasHistogram: true)], problems: [.notFound],
            mayLag: true
        ) { call in
            let list = try call.listQuery()
            var filter = DecisionFilter(
                outcomes: call.query.optionalStrings("outcome"),
                reason: call.query.optionalString("reason"))
            filter.since = call.query.optionalTimestamp("since")
            filter.until = call.query.optionalTimestamp("until")
            filter.user = call.query.optionalUUID("user_id")
            if let own = call.bound(.readDecisions) {
                guard filter.user ?? own == own else { throw Problem.notFound("user") }
                filter.user = own
            }
            filter.reference = call.query.optionalString("reference")
            filter.text = call.query.optionalString("q")
            if let text = call.query.optionalString("email") {
                do throws(EmailFault) {
                    filter.emailKey = try EmailAddress(text).key
                } catch {
                    throw Problem.invalid([FieldError("?email", .invalid, error.mend)])
                }
            }
            let reader = call.decisionTenant
            let tenant = try await call.askedTenant ?? reader
            let page = try await call.database.decisions(list, tenant: tenant, filter)
            let bars = try await call.histogram { [filter] in
                try await call.database.histogram($0, of: filter, tenant: tenant)
            }
            return call.list(page, bars) { $0.cut(to: reader).write(to: &$1) }
        }
    }

    private static func gets(_ path: String, _ id: String) -> Endpoint {
        Endpoint(
            .get, path, id: id, tag: "Provisioning",
            summary: "Returns one decision with its trace.",
            access: .own(.readDecisions),
            query: [
                QueryParameter(
                    "would_admit", .bool,
                    "Whether a decision that refused a person includes `would_admit`. This lists "
                        + "changes, any one of which would now let the person in.")
            ],
            answers: [.ok(DecisionRow.shape)], problems: [.rateLimited]
        ) { call in
            let tenant = call.decisionTenant
            let found = try await call.database.decision(call.id(), tenant: tenant)
            guard var row = found, call.sees(row.userID) else { throw Problem.notFound("decision") }
            row.trace = try await call.database.shown(row.trace, to: tenant)
            if call.query.flag("would_admit") {
                try await call.takeDryRuns()
                // If a decision has no tenant, a tenant sees only its part of the decision. This
                // part has no address if the decision concerns the tenant only because of an invite
                // that did not help. In that case, the tenant must not learn what would admit the
                // person.
                let isTold = !row.isPart || row.email != nil
                row.wouldAdmit =
                    isTold ? try await call.database.wouldAdmit(row.id, reader: tenant) : []
            }
            return .ok(row, etag: ETag.version(1))
        }
    }
}

extension QueryParameter {
    /// The parameter `tenant` of a list over all tenants.
    static let ofTenant = QueryParameter(
        "tenant", .string(min: 1, max: 63),
        "Only items of this tenant, by id or slug. A tenant's credential can name only its own "
            + "tenant.")
}

extension Call {
    /// The tenant of the query parameter `tenant`; `nil` if the query does not have it or the path
    /// names a tenant. Throws 404 if a tenant's credential names another tenant.
    var askedTenant: UUID? {
        get async throws {
            guard resolvedTenant == nil, let wanted = query.optionalString("tenant") else {
                return nil
            }
            guard let found = try await database.tenant(wanted),
                principal.platform || principal.tenant == found.id
            else { throw Problem.notFound("tenant") }
            return found.id
        }
    }

    /// The tenant in the path or, if there is none, the credential's tenant; `nil` for all tenants,
    /// with a credential of the platform.
    fileprivate var decisionTenant: UUID? {
        resolvedTenant?.id ?? (principal.platform ? nil : principal.tenant ?? .platform)
    }
}

extension DecisionRow: JSONView {
    func write(to json: inout JSONWriter) { json.object { members(to: &$0) } }

    func members(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("created_at", createdAt)
        json.member("outcome", outcome)
        json.member("reason", reason)
        json.member("reference", reference.isEmpty ? nil : reference)
        json.member("email", email)
        json.member("provider", provider.isEmpty ? nil : provider)
        if let providerName { json.member("provider_name", providerName) }
        json.member("issuer", isPart ? nil : issuer)
        json.member("subject", isPart ? nil : subject)
        json.member("tenant_id", tenantID)
        if let tenantName { json.member("tenant_name", tenantName) }
        json.member("user_id", userID)
        json.member("invite_id", inviteID)
        json.member("policy_version", policyVersion)
        json.member("trace", trace)
        json.member("duration_ms", isPart ? .null : JSONValue.number("\(durationMilliseconds)"))
        json.member("request_id", requestID)
        if let wouldAdmit { json.member("would_admit", wouldAdmit.document) }
        json.member("replay_of", JSONValue.null)
    }

    static let shape = ObjectShape(
        "Decision", versioned: true,
        [
            .readOnly("id", .uuid, "The decision's id."),
            .readOnly("created_at", .timestamp, "When the decision was made."),
            Outcome.field,
            .readOnly(
                "reason", .enumeration(of: Reason.self), nullable: true,
                "The reason for the outcome; `null` if there is none."),
            .readOnly(
                "reference", .string(), nullable: true,
                "The reference that the page showed to the person. If the decision belongs to no "
                    + "tenant, a tenant can read only the members about itself; the other members "
                    + "are `null`."),
            .readOnly(
                "email", .string(), nullable: true,
                "The person's email address, as the sign-in stated it; `null` if it was missing or "
                    + "malformed."),
            .readOnly(
                "provider", .string(), nullable: true,
                "The kind of the person's identity provider, for example `google`, `oidc` or "
                    + "`password`."),
            .readOnly(
                "provider_name", .string(), always: false,
                "The name of the registered provider at which the person signed in; absent if "
                    + "there is none."),
            .readOnly(
                "issuer", .string(), nullable: true,
                "The provider's issuer: its URL; `gatehouse` for `password`; for a Cognito pool, "
                    + "the pool's id. For people of a pool's external provider: "
                    + "`<pool>/<provider>`, or the issuer that `upstreams` sets."),
            .readOnly(
                "subject", .string(), nullable: true, "The person's identifier at the issuer."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that the decision belongs to; `null` if it belongs to none. "
                    + "If a tenant reads a decision that belongs to no tenant, it is the id of "
                    + "the reading tenant."),
            .readOnly(
                "tenant_name", .string(), always: false,
                "The name of the tenant; absent if the decision belongs to no tenant."),
            .readOnly(
                "user_id", .uuid, nullable: true,
                "The id of the user who was found or created; `null` if there is none. For a user "
                    + "who was merged into another, it is the id of the other."),
            .readOnly(
                "invite_id", .uuid, nullable: true,
                "The id of the invite that was used or refused; `null` if there is none."),
            .readOnly(
                "policy_version", .integer(1...1_000_000_000), nullable: true,
                "The version of the tenant's policy that was applied; `null` if the decision "
                    + "belongs to no tenant."),
            .readOnly(
                "trace", .array(of: .object(step)),
                "The rules that were applied, each with its result and what it examined."),
            .readOnly(
                "duration_ms", .any, nullable: true,
                "How many milliseconds the decision took, with a fraction; `null` if a tenant "
                    + "reads a decision that belongs to no tenant."
            ).typed("number"),
            .readOnly(
                "request_id", .string(), nullable: true,
                "The id of the request that caused the decision, as its response had it in "
                    + "`X-Request-Id`; `null` if there is none."),
            NearestYes.field,
            .readOnly(
                "replay_of", .uuid, nullable: true,
                "Always `null`. A repeated event gets the recorded decision, not a new one, while "
                    + "nothing has changed."),
        ])

    /// A step of a trace.
    static let step = ObjectShape(
        "TraceStep",
        [
            .readOnly("rule", .enumeration(of: Rule.self), ruleText),
            .readOnly("result", .string(), resultText),
            .readOnly(
                "detail", .string(),
                "More about the result, for example an id; empty if there is no more. It names no "
                    + "person. In rule `5`, it says what proves the address: `claim` (the "
                    + "statement of a provider, or the token of an invite), `proved` (the mailbox "
                    + "itself) or `authoritative` (a provider that is authoritative for the "
                    + "domain). `native`: a Cognito pool must still prove it."),
            .readOnly(
                "about", .array(of: .object(stepObject)), "The objects that the rule examined."),
        ])

    private static let stepObject = ObjectShape(
        "TraceReference",
        [
            .readOnly(
                "type", .enumeration(of: TraceReference.Kind.self), "The type of the object."),
            .readOnly("id", .uuid, "The object's id. The object may have been deleted since."),
            .readOnly(
                "tenant_id", .uuid, nullable: true,
                "The id of the tenant that owns the object; `null` for the platform."),
            .readOnly(
                "name", .string(), always: false,
                "The object's current name or email address; absent in lists, for a join "
                    + "link, and if the object no longer exists."),
        ])

    private static let ruleText = """
        The rule. The rules run in this order until one decides. `limit`: were too many attempts \
        refused? `provider`: is the provider registered, and may its upstream be used? \
        `user_name`: does the user name of a Cognito pool look like that of another provider? \
        `tenant`: do all inputs that name a tenant name the same one, and is it active? `1`: does \
        the identity belong to a user (can be checked again after `4`)? `2`: is there a \
        well-formed address? `3`: is the token of an invite or of a join link valid? `4`: which \
        tenants know the address? `5`: is the address proved? `6`: is there a valid invite? `7`: \
        is there a pending user whom an operator or an import created? `8`: is there an active \
        user with another identity, or did an operator unlink this identity (checked before `6`)? \
        `block_list`: does the policy block the address? `9`: has the tenant verified the domain \
        of the address? `10`: is the tenant open to everyone, or is there a join link (checked \
        before `9`)? `admin_create`: did an administrator of the pool create the user? \
        `confirmation`: does the pool confirm the sign-up of the same person?
        """

    private static let resultText = """
        What the rule found, for people to read. If the rule decided, it is the `reason` of the \
        refusal or the `outcome`. Otherwise, for example: `known` (the provider), `asked` or `none \
        asked` (a tenant was named, or none), `not known` (the identity), `well formed` (the \
        address), `no token` or `live` (a valid token), `one` (one tenant is left), `would refuse` \
        (a further tenant knows the address but would refuse), `\(TraceEntry.addressProved)` (the \
        address is proved), `no live invite`, `no pending row` (no such pending user), `no active \
        user`, `no verified domain`, `not authoritative` (the provider, for the verified domain).
        """
}
