import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/stats/overview` and `/v1/search`: what the console's first page and its palette ask.
enum OverviewEndpoints {
    static let all: [Endpoint] = [overview, search]

    private static let count = Kind.integer(0...Int.max)

    private static let overview = Endpoint(
        .get, "/v1/stats/overview", id: "getOverview", tag: "Overview",
        summary: "Users, tenants and sign-ups of a window, up to now.",
        access: .right("readUsers"),
        query: [QueryParameter("window", .enumeration(["24h", "7d", "30d"]), "7d when absent.")],
        answers: [
            .ok(
                ObjectShape(
                    "Overview",
                    [
                        .readOnly("users", count), .readOnly("tenants", count),
                        .readOnly(
                            "sign_ups",
                            .array(
                                of: .object(
                                    ObjectShape([
                                        .readOnly("at", .timestamp), .readOnly("admitted", count),
                                        .readOnly("refused", count),
                                    ])))),
                        .readOnly(
                            "key_verifications", count,
                            "How often keys were found good."),
                    ]))
        ]
    ) { call in
        let hour: Int64 = 3600
        let (buckets, seconds) =
            switch call.query.optionalString("window") {
            case "24h": (24, hour)
            case "30d": (30, 24 * hour)
            default: (7, 24 * hour)
            }
        let found = try await call.services.database.overview(
            tenant: call.principal.tenant, buckets: buckets, of: seconds)
        let signUps = found.signUps.map { bucket in
            JSONValue.object([
                .init("at", .time(bucket.at)), .init("admitted", .int(bucket.admitted)),
                .init("refused", .int(bucket.refused)),
            ])
        }
        return .ok(
            .object([
                .init("users", .int(found.users)), .init("tenants", .int(found.tenants)),
                .init("sign_ups", .array(signUps)),
                .init("key_verifications", .int(found.verifications)),
            ]))
    }

    private static let most = 10
    /// A total given is not counted.
    private static let best = ListQuery(limit: most, total: ListTotal(most, exact: false))

    private static let search = Endpoint(
        .get, "/v1/search", id: "search", tag: "Overview",
        summary: "Tenants by slug or name and, for a tenant's credential, its users.",
        access: .right("readUsers"),
        query: [QueryParameter("q", .string(min: 1, max: 255), required: true)],
        answers: [
            .ok(
                ObjectShape(
                    "SearchResult",
                    [
                        .readOnly(
                            "items",
                            .array(
                                of: .object(
                                    ObjectShape([
                                        .readOnly("type", .enumeration(["tenant", "user"])),
                                        .readOnly("id", .uuid), .readOnly("name", .string()),
                                        .readOnly("slug", .string(), always: false),
                                        .readOnly("email", .string(), always: false),
                                        .readOnly("tenant_id", .uuid, always: false),
                                    ]))))
                    ]))
        ]
    ) { call in
        let text = try call.query.string("q")
        let database = try call.services.database
        guard let home = call.principal.tenant else {
            let tenants = try await database.tenants(best, status: nil, matching: text)
            return .ok(.object([.init("items", .array(tenants.rows.map(found)))]))
        }
        let scope = database.scope(home)
        let own = try await scope.tenantRow().map { [$0] } ?? []
        let wanted = text.lowercased()
        let tenants = own.filter {
            $0.slug.contains(wanted) || $0.name.lowercased().contains(wanted)
        }
        let users = try await scope.users(best, UserFilter(text: text)).rows.map { user in
            JSONValue.object([
                .init("type", .string("user")), .init("id", .uuid(user.id)),
                .init("name", .string(user.name ?? user.email)),
                .init("email", .string(user.email)), .init("tenant_id", .uuid(home)),
            ])
        }
        return .ok(.object([.init("items", .array(tenants.map(found) + users))]))
    }

    private static func found(_ tenant: TenantRow) -> JSONValue {
        .object([
            .init("type", .string("tenant")), .init("id", .uuid(tenant.id)),
            .init("name", .string(tenant.name)), .init("slug", .string(tenant.slug)),
        ])
    }
}
