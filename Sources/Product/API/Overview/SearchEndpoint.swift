import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/search`, for the console's palette. A text finds tenants and, within a tenant, users, keys
/// and invites; an id finds the one object that has it.
enum SearchEndpoint {
    private static let most = 10
    /// A query for the best matches. It already contains a total, so that the matches are not
    /// counted.
    private static let best = ListQuery(limit: most, total: ListTotal(most, exact: false))

    static let search = Endpoint(
        .get, "/v1/search", id: "search", tag: "Overview",
        summary:
            "Finds tenants by slug or name, and a verified domain by its exact name. Within one "
            + "tenant, also users, keys, invites, domains and origins; for the platform, also the "
            + "users of all tenants. All words must match, in any order. A tenant's credential "
            + "finds only its own tenant. The text can also be an id, a request id, the reference of "
            + "a refusal or of a failed sign-in, an address that was refused, or the last 4 "
            + "characters of a key.",
        access: .right(.readUsers),
        query: [
            QueryParameter(
                "q", .string(min: 1, max: 255), required: true,
                "The words to search for, or one whole value, such as an id, a request id or a "
                    + "reference."),
            QueryParameter(
                "tenant", .string(min: 1, max: 63),
                "The tenant to search in, by id or slug. A tenant's credential searches its own "
                    + "tenant without it, and gets 404 if it names another."
            ),
        ],
        answers: [
            .ok(
                ObjectShape(
                    "SearchResult",
                    [
                        .readOnly(
                            "items", .array(of: item), "The objects that were found, of all types.")
                    ]))
        ],
        problems: [.notFound], mayLag: true
    ) { call in
        // White space around pasted text is ignored.
        let text = DisplayText.stripped(try call.query.string("q"))
        var items: [JSONValue] = []
        var foundTenant = call.principal.tenant
        if let wanted = call.query.optionalString("tenant") {
            guard let tenant = try await call.database.tenant(wanted),
                foundTenant == nil || tenant.id == foundTenant
            else { throw Problem.notFound("tenant") }
            foundTenant = tenant.id
        }
        if call.principal.tenant == nil {
            let tenants = try await call.database.tenants(best, statuses: nil, matching: text).rows
            items += tenants.map(found)
            if UUID(text) != nil, let one = try await call.database.tenant(text) {
                items.append(found(one))
            }
        }
        if items.isEmpty { items = try await decision(text, call) }
        items += try await decisions(named: text, in: foundTenant, call)
        items += try await failures(named: text, in: foundTenant, call)
        items += try await keys(endingIn: text, in: foundTenant, call)
        if let id = UUID(text), foundTenant == nil { items += try await anywhere(id, call) }
        guard let foundTenant else {
            return answer(
                items + (try await domains(verifiedAs: text, call))
                    + (try await people(named: text, outside: nil, call)))
        }
        let scope = call.database.scope(foundTenant)
        if call.principal.tenant != nil, let own = try await scope.tenantRow() {
            let wanted = text.lowercased()
            let isMeant = own.id == UUID(text) || own.nameKey.contains(wanted)
            if isMeant || own.slug.contains(wanted) { items.append(found(own)) }
        }
        if let id = UUID(text) {
            items += try await things(of: scope, id, call)
        } else {
            items += try await things(of: scope, named: text, call)
            items += try await people(named: text, outside: foundTenant, call)
        }
        return answer(items)
    }

    /// The decision with this id, of any tenant or of none. Only credentials of the platform get
    /// it.
    private static func decision(_ text: String, _ call: Call) async throws -> [JSONValue] {
        guard let id = UUID(text), call.principal.platform,
            Permissions.permits(call.principal.subject, .readDecisions, in: nil) == .allowed,
            let row = try await call.database.decision(id, tenant: nil)
        else { return [] }
        return [item("decision", row.id, row.email ?? row.subject, row.email, row.tenantID)]
    }

    private static func answer(_ items: [JSONValue]) -> Response {
        .ok(.object([.init("items", .array(items))]))
    }

    /// Finds decisions by a text: a reference that a person was shown, a request id, or an email
    /// address. For an email address, only refusals are found. A caller with the platform's
    /// credentials also gets decisions that have no tenant.
    private static func decisions(
        named text: String, in foundTenant: UUID?, _ call: Call
    ) async throws -> [JSONValue] {
        // Credentials of the platform find decisions without naming their tenant.
        let place = call.principal.platform ? nil : foundTenant
        guard call.bound(.readDecisions) == nil,
            Permissions.permits(call.principal.subject, .readDecisions, in: place) == .allowed
        else { return [] }
        var filter = DecisionFilter()
        if let email = try? EmailAddress(plused(text)) {
            filter = DecisionFilter(outcomes: [Outcome.refused.rawValue], emailKey: email.key)
        } else if text.utf8.count == 6 {
            filter.reference = text
        } else if isRequestID(text) {
            filter.requestID = text
        } else {
            return []
        }
        return try await call.database.decisions(best, tenant: place, filter).rows
            .map {
                item("decision", $0.id, $0.email ?? $0.reference, $0.email, $0.tenantID)
            }
    }

    /// Finds sign-ins that failed before the policy rules were applied. `text` is either the
    /// reference that the person was shown or the request id.
    private static func failures(
        named text: String, in foundTenant: UUID?, _ call: Call
    ) async throws -> [JSONValue] {
        let place = call.principal.platform ? nil : foundTenant
        let isReference = text.utf8.count == 6
        guard isReference || isRequestID(text),
            Permissions.permits(call.principal.subject, .readClients, in: place) == .allowed
        else { return [] }
        let filter = FailedSignInFilter(
            requestID: isReference ? nil : text, reference: isReference ? text : nil)
        return try await call.database.failedSignIns(best, tenant: place, filter).rows
            .map {
                item(
                    "failed_sign_in", $0.id, $0.reference ?? $0.requestID, nil,
                    $0.tenant == .platform ? nil : $0.tenant)
            }
    }

    /// The text with plus signs in place of spaces. In a query string a plus sign means a space,
    /// and no email address contains a space.
    private static func plused(_ text: String) -> String {
        text.split(separator: " ", omittingEmptySubsequences: false).joined(separator: "+")
    }

    /// Whether the text may be a request id: the server's own, or one that a proxy set.
    private static func isRequestID(_ text: String) -> Bool {
        text.utf8.count >= 8 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x40 }
    }

    private static func keys(
        endingIn text: String, in foundTenant: UUID?, _ call: Call
    ) async throws -> [JSONValue] {
        let place = call.principal.platform ? nil : foundTenant
        guard text.utf8.count == 4, call.bound(.listKeys) == nil,
            Permissions.permits(call.principal.subject, .listKeys, in: place) == .allowed
        else { return [] }
        return try await call.database.keys(endingIn: text, tenant: place)
            .map { item("api_key", $0.id, $0.name, nil, $0.tenant == .platform ? nil : $0.tenant) }
    }

    /// The object with this id, in any tenant or in none. Only credentials of the platform get it.
    private static func anywhere(_ id: UUID, _ call: Call) async throws -> [JSONValue] {
        guard call.principal.platform else { return [] }
        let subject = call.principal.subject
        var items: [JSONValue] = []
        for tenant in try await call.database.tenants(withThing: id) {
            items += try await things(of: call.database.scope(tenant), id, call)
        }
        if Permissions.permits(subject, .readProviders, in: nil) == .allowed,
            let row = try await call.database.provider(id, owner: nil)
        {
            items.append(item("provider", row.id, row.name, nil, row.tenantID))
        }
        if Permissions.permits(subject, .readOperators, in: nil) == .allowed,
            let row = try await call.database.operatorRow(id)
        {
            items.append(item("operator", row.id, row.name ?? row.email, row.email, row.tenant))
        }
        return items
    }

    /// Users of other tenants, each with the name of its tenant. Only credentials of the platform
    /// get them.
    private static func people(
        named text: String, outside tenant: UUID?, _ call: Call
    ) async throws -> [JSONValue] {
        guard call.principal.platform,
            Permissions.permits(call.principal.subject, .readUsers, in: nil) == .allowed
        else { return [] }
        return try await call.database.people(matching: text, most: most)
            .filter { $0.tenant != tenant }
            .map {
                item(
                    "user", $0.id, $0.name ?? $0.email, $0.email, $0.tenant,
                    tenantName: $0.tenantName)
            }
    }

    /// The verified domain with this name, in any tenant. Only credentials of the platform get it.
    private static func domains(
        verifiedAs text: String, _ call: Call
    ) async throws -> [JSONValue] {
        guard call.principal.platform, let name = try? DomainName(text),
            let tenant = try await call.database.tenant(ofDomain: name.ascii)
        else { return [] }
        let scope = call.database.scope(tenant)
        guard may(call, .readPolicy, in: scope),
            let row = try await scope.domain(named: name.ascii)
        else { return [] }
        return [item("domain", row.id, row.domain, nil, tenant)]
    }

    private static func domains(
        of scope: TenantScope, named text: String, _ call: Call
    ) async throws -> [JSONValue] {
        guard may(call, .readPolicy, in: scope) else { return [] }
        return try await scope.domains(best, status: nil, matching: text).rows
            .map { item("domain", $0.id, $0.domain, nil, scope.tenant) }
    }

    private static func may(_ call: Call, _ right: Right, in scope: TenantScope) -> Bool {
        let place = scope.tenant == .platform ? nil : scope.tenant
        return Permissions.permits(call.principal.subject, right, in: place) == .allowed
    }

    private static func things(
        of scope: TenantScope, named text: String, _ call: Call
    ) async throws -> [JSONValue] {
        var items = try await scope.users(best, UserFilter(text: text)).rows.map(found)
        if may(call, .listKeys, in: scope) {
            items += try await scope.apiKeys(best, APIKeyFilter(text: text)).rows
                .map { found($0, in: scope) }
        }
        if may(call, .readInvites, in: scope) {
            items += try await scope.invites(best, InviteFilter(text: text)).rows.map(found)
        }
        items += try await domains(of: scope, named: text, call)
        if may(call, .readOrigins, in: scope) {
            items += try await scope.origins(best, matching: text).rows
                .map { item("cors_origin", $0.id, $0.origin, nil, scope.tenant) }
        }
        return items
    }

    private static func things(
        of scope: TenantScope, _ id: UUID, _ call: Call
    ) async throws -> [JSONValue] {
        var items: [JSONValue] = []
        var person = try await scope.winner(over: id) ?? id
        if let owner = try await scope.user(ofSignIn: id) { person = owner }
        if may(call, .readUsers, in: scope), let user = try await scope.user(person) {
            items.append(found(user))
        }
        if may(call, .listKeys, in: scope), let key = try await scope.apiKey(id) {
            items.append(found(key, in: scope))
        }
        if may(call, .readInvites, in: scope), let invite = try await scope.invite(id) {
            items.append(found(invite))
        }
        let tenant = scope.tenant == .platform ? nil : scope.tenant
        if may(call, .readInvites, in: scope), let link = try await scope.joinLink(id) {
            items.append(
                item("join_link", link.id, link.link.domains.first ?? link.makerName, nil, tenant))
        }
        if may(call, .readPolicy, in: scope), let row = try await scope.domain(id) {
            items.append(item("domain", row.id, row.domain, nil, tenant))
        }
        if may(call, .readOrigins, in: scope), let row = try await scope.origin(id) {
            items.append(item("cors_origin", row.id, row.origin, nil, tenant))
        }
        if may(call, .readUsers, in: scope), let row = try await scope.job(id) {
            items.append(item("job", row.id, row.kind, nil, tenant))
        }
        if !call.principal.platform, may(call, .readDecisions, in: scope),
            let row = try await call.database.decision(id, tenant: scope.tenant)
        {
            items.append(
                item("decision", row.id, row.email ?? row.subject, row.email, scope.tenant))
        }
        return items
    }

    private static let item = Kind.object(
        ObjectShape([
            .readOnly(
                "type",
                .enumeration([
                    "tenant", "user", "api_key", "invite", "join_link", "decision",
                    "failed_sign_in",
                    "domain", "cors_origin", "job", "provider", "operator",
                ]),
                "The type of the object. A `failed_sign_in` is a sign-in that failed before the "
                    + "policy rules were applied."),
            .readOnly("id", .uuid, "The object's id."),
            .readOnly(
                "name", .string(),
                "A text by which people recognise the object, for example a name, an address, a "
                    + "domain, an origin or a reference."),
            .readOnly(
                "slug", .string(), always: false, "The tenant's name in URLs; only for a tenant."),
            .readOnly(
                "email", .string(), always: false,
                "The email address of the user, invite, operator or decision; absent for an object "
                    + "without one."),
            .readOnly(
                "tenant_id", .uuid, always: false,
                "The id of the tenant that the object belongs to; absent for a tenant itself, and "
                    + "for an object of the platform."),
            .readOnly(
                "tenant_name", .string(), always: false,
                "The tenant's name; only for a user of another tenant than the requested one."),
        ]))

    private static func item(
        _ type: String, _ id: UUID, _ name: String, _ email: String?, _ tenant: UUID?,
        tenantName: String? = nil
    ) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("type", .string(type)), .init("id", .uuid(id)), .init("name", .string(name)),
        ]
        if let tenant { members.append(.init("tenant_id", .uuid(tenant))) }
        if let email { members.append(.init("email", .string(email))) }
        if let tenantName { members.append(.init("tenant_name", .string(tenantName))) }
        return .object(members)
    }

    private static func found(_ user: UserRow) -> JSONValue {
        item("user", user.id, user.name ?? user.email, user.email, user.tenant)
    }

    private static func found(_ key: APIKeyRow, in scope: TenantScope) -> JSONValue {
        item(
            "api_key", key.id, key.key.name, nil, scope.tenant == .platform ? nil : scope.tenant)
    }

    private static func found(_ invite: InviteRow) -> JSONValue {
        item("invite", invite.id, invite.email, invite.email, invite.tenantID)
    }

    private static func found(_ tenant: TenantRow) -> JSONValue {
        .object([
            .init("type", .string("tenant")), .init("id", .uuid(tenant.id)),
            .init("name", .string(tenant.name)), .init("slug", .string(tenant.slug)),
        ])
    }
}
