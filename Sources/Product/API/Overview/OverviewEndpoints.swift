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
        summary: "Users, tenants, sign-ups and uses of keys in a window, up to now.",
        access: .right(.readUsers),
        query: [
            QueryParameter("window", .enumeration(["24h", "7d", "30d"]), "7d when absent."),
            QueryParameter(
                "time_zone", .string(min: 1, max: 64, rule: .timeZone),
                "Where the days begin at midnight, as `Europe/Berlin`; UTC when absent."),
        ],
        answers: [.ok(shape)]
    ) { call in
        let zone = call.query.optionalString("time_zone") ?? "UTC"
        let window: OverviewWindow =
            switch call.query.optionalString("window") {
            case "24h": .hours(24)
            case "30d": .days(30, zone: zone)
            default: .days(7, zone: zone)
            }
        guard
            let found = try await call.services.database.overview(
                tenant: call.principal.tenant, window)
        else {
            throw Problem.invalid([
                FieldError("?time_zone", .invalid, "must be a time zone, such as Europe/Berlin")
            ])
        }
        return .ok(found.json(in: zone))
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
        ])
}

extension Overview {
    fileprivate func json(in zone: String) -> JSONValue {
        let signUps = signUps.map { bucket in
            JSONValue.object([
                .init("at", .time(bucket.at)), .init("admitted", .int(bucket.admitted)),
                .init("refused", .int(bucket.refused)),
            ])
        }
        return .object([
            .init("users", .int(users.value)), .init("users_exact", .bool(users.exact)),
            .init("tenants", .int(tenants)), .init("since", .time(since)),
            .init("until", .time(until)), .init("time_zone", .string(zone)),
            .init("sign_ups", .array(signUps)), .init("key_verifications", .int(verifications)),
            .init("key_uses", .int(keyUses)),
        ])
    }
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
