import Domain
import JSON
import Storage
import Text

/// The items on which an operator should act, as the overview shows them. Each item leads to a
/// list, and has the number of entries in it.
enum AttentionView {
    /// The items for the caller's own tenant or, for the platform, for all tenants. Items that the
    /// caller may not see are left out.
    static func items(_ call: Call) async throws -> JSONValue {
        let home = call.principal.tenant
        let kinds = Attention.Kind.allCases.filter { call.isAllowedAtHome($0.right) }
        let found = try await call.database.attention(kinds, tenant: home)
        var items: [JSONValue] = []
        for kind in kinds {
            let tenants = found.filter { $0.kind == kind }
            for one in tenants.prefix(Attention.tenants) {
                let isLast = one.tenantID == tenants.prefix(Attention.tenants).last?.tenantID
                items.append(
                    item(
                        kind.rawValue, one.count, tenant: one,
                        hasMore: isLast && tenants.count > Attention.tenants))
            }
        }
        return .array(own(call) + items + (try await unreachable(call, call.database)))
    }

    /// An item if the caller's own account has no way to sign in again; else none.
    private static func own(_ call: Call) -> [JSONValue] {
        guard call.principal.isConsoleSession, !call.principal.canReturn else { return [] }
        return [item("sign_in_unset", ListTotal(1, exact: true))]
    }

    /// An item with the number of providers that this server cannot reach; none if it reaches all.
    private static func unreachable(_ call: Call, _ database: Database) async throws -> [JSONValue]
    {
        let failing = call.application.documents.unreachable
        guard !failing.isEmpty, call.isAllowedAtHome(.readProviders) else { return [] }
        let list = ListQuery(limit: QueryParameter.limits.upperBound)
        let page = try await database.providers(
            list, owner: call.principal.tenant, ids: Array(failing.keys))
        if page.rows.isEmpty { return [] }
        let since = page.rows.compactMap { failing[$0.id] }.min()
        return [item("providers_unreachable", page.total, since: since)]
    }

    private static func item(
        _ kind: String, _ count: ListTotal, tenant: Attention? = nil, since: Timestamp? = nil,
        hasMore: Bool = false
    ) -> JSONValue {
        let place: JSONValue? = tenant.flatMap {
            $0.tenantID == .platform
                ? nil
                : .object([
                    .init("id", .uuid($0.tenantID)), .init("slug", .string($0.slug)),
                    .init("name", .string($0.name)),
                ])
        }
        return .object([
            .init("kind", .string(kind)), .init("tenant", place ?? .null),
            .init(
                "count",
                .object([
                    .init("value", .int(count.value)), .init("exact", .bool(count.exact)),
                ])),
            .init("since", since.map(JSONValue.time) ?? .null),
            .init("more_tenants", .bool(hasMore)),
        ])
    }

    private static let tenant = ObjectShape([
        .readOnly("id", .uuid, "The tenant's id."),
        .readOnly("slug", .string(), "The tenant's slug."),
        .readOnly("name", .string(), "The tenant's name."),
    ])
    private static let count = ObjectShape([
        .readOnly("value", .integer(1...Int.max), "The number of the people or objects."),
        .readOnly(
            "exact", .bool,
            "Whether `value` is exact. If false, counting stopped early, and there are at least "
                + "this many."),
    ])
    static let shape = ObjectShape(
        "Attention",
        [
            .readOnly(
                "kind",
                .enumeration(
                    ["sign_in_unset"] + Attention.Kind.allCases.map(\.rawValue) + [
                        "providers_unreachable"
                    ]),
                "What needs attention. `sign_in_unset`: the caller has no usable way to sign in "
                    + "again, such as a password or a passkey. `join_requests`: people wait for "
                    + "approval. `domains_unproved`: domains are not verified, or their DNS record "
                    + "is missing. `mail_failed`: the mail of invites failed. `keys_ending`: keys "
                    + "expire within 14 days. "
                    + "`origins_refused`: origins were refused in the last 24 hours. "
                    + "`keys_given_before`: keys have a scope that is as strong as an admin's "
                    + "rights, from a version of Gatehouse that did not check whether the caller may "
                    + "grant it. `providers_unreachable`: this server cannot reach providers."
            ),
            .readOnly(
                "tenant", .object(tenant), nullable: true,
                "The tenant that the item is about; `null` for `sign_in_unset`, for providers and "
                    + "for keys of the platform."),
            .readOnly(
                "count", .object(count),
                "How many people, domains, invites, keys, origins or providers need attention; 1 "
                    + "for `sign_in_unset`."),
            .readOnly(
                "since", .timestamp, nullable: true,
                "For `providers_unreachable`: when the first of the failures began; otherwise "
                    + "`null`."),
            .readOnly(
                "more_tenants", .bool,
                "Whether this is the last item of its `kind`, and the response omits more tenants "
                    + "with this kind."),
        ])
}

extension Attention.Kind {
    /// The right that a caller needs to see the item.
    fileprivate var right: Right {
        switch self {
        case .joinRequests: .approveUsers
        case .domainsUnproved: .readPolicy
        case .mailFailed: .readInvites
        case .keysEnding, .keysGivenBefore: .listKeys
        case .originsRefused: .readOrigins
        }
    }
}

extension Call {
    fileprivate func isAllowedAtHome(_ right: Right) -> Bool {
        Permissions.permits(principal.subject, right, in: principal.tenant) == .allowed
    }
}

extension FirstSteps {
    var json: JSONValue {
        .object([
            .init("tenant", .bool(tenant)), .init("invite", .bool(invite)),
            .init("provider", .bool(provider)), .init("call", .bool(call)),
            .init("second_owner", .bool(secondOwner)),
        ])
    }

    static let shape = ObjectShape(
        "FirstSteps",
        [
            .readOnly("tenant", .bool, "Whether there is a tenant."),
            .readOnly("invite", .bool, "Whether an invite was created."),
            .readOnly("provider", .bool, "Whether a provider is registered."),
            .readOnly("call", .bool, "Whether an API key was ever used successfully."),
            .readOnly(
                "second_owner", .bool,
                "Whether there are at least two active operators with role `owner`."),
        ])
}
