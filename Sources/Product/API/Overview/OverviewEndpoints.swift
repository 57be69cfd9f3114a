import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/stats/overview`: what the console's first page asks.
enum OverviewEndpoints {
    static let all: [Endpoint] = [overview, SearchEndpoint.search]

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
                        .readOnly("users", count),
                        .readOnly("users_exact", .bool, "Whether they were counted."),
                        .readOnly("tenants", count),
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
                .init("users", .int(found.users.value)),
                .init("users_exact", .bool(found.users.exact)),
                .init("tenants", .int(found.tenants)),
                .init("sign_ups", .array(signUps)),
                .init("key_verifications", .int(found.verifications)),
            ]))
    }
}
