import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/cors-origins/refused`: what knocked, and was not let in.
enum RefusedOriginEndpoint {
    private static let most = 200
    /// Without `since`.
    private static let seconds: Int64 = 86_400

    static let endpoint = Endpoint(
        .get, "/v1/tenants/{tenant}/cors-origins/refused", id: "listRefusedOrigins",
        tag: "CORS origins",
        summary:
            "Origins that were refused, the most frequent first. Anybody can cause an entry: at "
            + "most 100 an hour are kept, for 7 days.",
        access: .right(.readOrigins),
        query: [
            QueryParameter("since", .timestamp, "Whole hours from this one on: the last 24 hours.")
        ],
        answers: [
            .ok(
                ObjectShape(
                    "RefusedOrigins", [.readOnly("items", .array(of: .object(shape), max: most))]))
        ]
    ) { call in
        let since = call.query.optionalTimestamp("since") ?? call.now.adding(seconds: -seconds)
        let rows = try await call.scope.refusedOrigins(since: since, limit: most)
        return .ok(
            .object([
                .init(
                    "items",
                    .array(
                        rows.map { row in
                            .object([
                                .init("origin", .string(row.origin)),
                                .init("count", .int(row.count)),
                                .init("first_seen", .time(row.firstSeen)),
                                .init("last_seen", .time(row.lastSeen)),
                                .init("paths", .strings(row.paths)),
                            ])
                        }))
            ]))
    }

    private static let shape = ObjectShape(
        "RefusedOrigin",
        [
            .readOnly("origin", .string(max: 512), "As the browser wrote it."),
            .readOnly("count", .integer(1...Int.max), "Requests that were refused."),
            .readOnly("first_seen", .timestamp, "The first of them, in these hours."),
            .readOnly("last_seen", .timestamp, "The last of them."),
            .readOnly("paths", .array(of: .string(), max: 3), "Some of the paths, as templates."),
        ])
}
