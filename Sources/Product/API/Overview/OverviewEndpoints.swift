import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/stats/overview`: the figures of the console's first page.
enum OverviewEndpoints {
    static let all: [Endpoint] = [overview, SearchEndpoint.search]

    private static let count = Kind.integer(0...Int.max)

    private static let overview = Endpoint(
        .get, "/v1/stats/overview", id: "getOverview", tag: "Overview",
        summary:
            "What waits for an operator; users, tenants, sign-ups and uses of keys in a window.",
        access: .right(.readUsers),
        query: [
            QueryParameter("window", .enumeration(["24h", "7d", "30d"]), "7d when absent."),
            QueryParameter("since", .timestamp, "When the window begins, instead of `window`."),
            QueryParameter("until", .timestamp, "With `since`: when it ends; now when absent."),
            .timeZone,
        ],
        answers: [.ok(shape)], mayLag: true
    ) { call in
        let zone = call.query.optionalString("time_zone") ?? "UTC"
        let window = try window(call, zone)
        let database = try call.services.database
        guard let found = try await database.overview(tenant: call.principal.tenant, window) else {
            throw Problem.unknownTimeZone
        }
        let steps = try await database.firstSteps(tenant: call.principal.tenant)
        return .ok(
            found.json(
                in: zone,
                [
                    .init("attention", try await AttentionView.items(call)),
                    .init("first_steps", steps.json),
                ]))
    }

    private static func window(_ call: Call, _ zone: String) throws -> OverviewWindow {
        if let since = call.query.optionalTimestamp("since") {
            let now = Timestamp(microseconds: (call.now.microseconds / 1000 + 1) * 1000)
            let until = min(call.query.optionalTimestamp("until") ?? now, now)
            guard since < until else {
                throw Problem.invalid([
                    FieldError("?since", .invalid, "must be before the end, and in the past")
                ])
            }
            return .between(since, until, zone: zone)
        }
        return switch call.query.optionalString("window") {
        case "24h": .hours(24)
        case "30d": .days(30, zone: zone)
        default: .days(7, zone: zone)
        }
    }

    private static let bucket = ObjectShape([
        .readOnly("at", .timestamp), .readOnly("admitted", count), .readOnly("refused", count),
    ])

    private static let shape = ObjectShape(
        "Overview",
        [
            .readOnly("users", count, "All but the deleted ones."),
            .readOnly("users_exact", .bool, "Whether they were counted."),
            .readOnly("tenants", count, "All but the deleted ones."),
            .readOnly("since", .timestamp, "When the window begins."),
            .readOnly(
                "until", .timestamp,
                "When it ends: decisions listed with both bounds are those that are counted."),
            .readOnly("time_zone", .string(), "Where the days begin at midnight."),
            .readOnly(
                "sign_ups", .array(of: .object(bucket)),
                "By hour or day; admitted: created, linked, existing and reserved."),
            .readOnly(
                "key_verifications", count,
                "How often keys were found good when asked about, in whole hours."),
            .readOnly("key_uses", count, "How often keys were used in any way, in whole hours."),
            .readOnly(
                "attention", .array(of: .object(AttentionView.shape)),
                "What waits, of the tenants with most of it, as far as the caller may read it."),
            .readOnly("first_steps", .object(FirstSteps.shape), "Which are done."),
        ])
}

extension Overview {
    fileprivate func json(in zone: String, _ more: [JSONValue.Member]) -> JSONValue {
        let signUps = signUps.map { bucket in
            JSONValue.object([
                .init("at", .time(bucket.at)), .init("admitted", .int(bucket.admitted)),
                .init("refused", .int(bucket.refused)),
            ])
        }
        let numbers: [JSONValue.Member] = [
            .init("users", .int(users.value)), .init("users_exact", .bool(users.exact)),
            .init("tenants", .int(tenants)), .init("since", .time(since)),
            .init("until", .time(until)), .init("time_zone", .string(zone)),
            .init("sign_ups", .array(signUps)), .init("key_verifications", .int(verifications)),
            .init("key_uses", .int(keyUses)),
        ]
        return .object(numbers + more)
    }
}

extension QueryParameter {
    /// Where days begin; PostgreSQL decides whether it exists.
    static let timeZone = QueryParameter(
        "time_zone", .string(min: 1, max: 64, rule: .timeZone),
        "Where the days begin at midnight, as `Europe/Berlin`; UTC when absent.")
}

extension Problem {
    static let unknownTimeZone = Problem.invalid([
        FieldError("?time_zone", .invalid, "must be a time zone, such as Europe/Berlin")
    ])
}

extension TextRule {
    /// A name of the form of the IANA time zone database; PostgreSQL checks whether it exists.
    fileprivate static let timeZone = TextRule(
        pattern: "^[A-Za-z][A-Za-z0-9_+/-]*$", detail: "must be a time zone, such as Europe/Berlin",
        example: "Europe/Berlin"
    ) { text in
        let others = Set("_+/-".utf8)
        return text.utf8.first.map(\.isASCIILetter) == true
            && text.utf8.allSatisfy {
                $0.isASCIILetter || (0x30...0x39).contains($0) || others.contains($0)
            }
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool {
        (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
    }
}
