import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/stats/overview`: the figures of the console's start page.
package enum OverviewEndpoints {
    package static let all: [Endpoint] = [overview, SearchEndpoint.search]

    private static let count = Kind.integer(0...Int.max)

    private static let overview = Endpoint(
        .get, "/v1/stats/overview", id: "getOverview", tag: "Overview",
        summary:
            "Returns what needs an operator's attention, the numbers of users and tenants, and the "
            + "numbers of sign-ups and key uses in a period of time.",
        access: .right(.readUsers),
        query: [
            QueryParameter(
                "window", .enumeration(["24h", "7d", "30d"]),
                "The period: the last hours or days, including the current one; `7d` if absent."),
            QueryParameter("since", .timestamp, "The period's start; `window` is then ignored."),
            QueryParameter(
                "until", .timestamp,
                "The end of the period; now if absent. Without `since`, it has no effect."),
            .timeZone,
        ],
        answers: [.ok(shape)], mayLag: true
    ) { call in
        let zone = call.query.optionalString("time_zone") ?? "UTC"
        let window = try window(call, zone)
        guard let found = try await call.database.overview(tenant: call.principal.tenant, window)
        else {
            throw Problem.unknownTimeZone
        }
        let steps = try await call.database.firstSteps(tenant: call.principal.tenant)
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
                    FieldError(
                        "?since", .invalid,
                        "must be before `until`, and in the past")
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
        .readOnly("at", .timestamp, "When this part of the period begins."),
        .readOnly("admitted", count, "The number of sign-ups in this time that were admitted."),
        .readOnly("refused", count, "The number of sign-ups in this time that were refused."),
    ])

    private static let shape = ObjectShape(
        "Overview",
        [
            .readOnly("users", count, "The number of users, without deleted ones."),
            .readOnly(
                "users_exact", .bool,
                "Whether `users` is exact. If false, there are too many users to count, and the "
                    + "number is an estimate or a lower bound."),
            .readOnly("tenants", count, "The number of tenants, without deleted ones."),
            .readOnly("since", .timestamp, "The start of the period."),
            .readOnly(
                "until", .timestamp,
                "The end of the period. The list of decisions, filtered by this `since` and "
                    + "`until`, contains the decisions that `sign_ups` counts."),
            .readOnly("time_zone", .string(), "The time zone in which days begin at midnight."),
            .readOnly(
                "sign_ups", .array(of: .object(bucket)),
                "The sign-ups in parts of the period, for example by hour or day. A sign-up is in "
                    + "`admitted` if the outcome of its decision is `created`, `linked`, "
                    + "`existing` or `reserved`."),
            .readOnly(
                "key_verifications", count,
                "How often API keys were verified as valid, in all hours (UTC) that begin in the "
                    + "period."),
            .readOnly(
                "key_uses", count,
                "How often API keys were used in any way, in all hours (UTC) that begin in the "
                    + "period."),
            .readOnly(
                "attention", .array(of: .object(AttentionView.shape)),
                "What needs an operator's attention, as far as the caller may read it. For each "
                    + "`kind`, it has at most the 5 tenants with the highest `count`."),
            .readOnly(
                "first_steps", .object(FirstSteps.shape),
                "Which of the first steps after the installation are done."),
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
    /// The zone in which days begin. PostgreSQL decides whether it exists.
    static let timeZone = QueryParameter(
        "time_zone", .string(min: 1, max: 64, rule: .timeZone),
        "The time zone in which days begin at midnight, for example `Europe/Berlin`; UTC if "
            + "absent.")
}

extension Problem {
    static let unknownTimeZone = Problem.invalid([
        FieldError("?time_zone", .invalid, "must be a time zone, such as Europe/Berlin")
    ])
}

extension TextRule {
    /// A name in the form of the IANA time zone database. PostgreSQL checks whether it exists.
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

extension QueryParameter {
    /// The parameters that request a histogram of a list by time: the number of items in each part
    /// of the period.
    static let histogram: [QueryParameter] = [
        QueryParameter(
            "histogram", .integer(HistogramRequest.bars),
            "The approximate maximum number of bars of a histogram. Each bar is the number of "
                + "matching items in a part of the period. If absent, the response has no "
                + "histogram."),
        .timeZone,
    ]
}

extension Call {
    /// The requested histogram; `nil` if none is requested, or if the list is exported as a file.
    var histogramRequest: HistogramRequest? {
        guard export == nil, let most = query.optionalInt("histogram") else { return nil }
        return HistogramRequest(
            since: query.optionalTimestamp("since"), until: query.optionalTimestamp("until"),
            most: most, zone: query.optionalString("time_zone") ?? "UTC")
    }

    /// Returns the histogram that `count` computes, if the query requests one. Throws 422 for a
    /// time zone that does not exist.
    func histogram(
        _ count: (HistogramRequest) async throws -> ListHistogram?
    ) async throws -> ListHistogram? {
        guard let request = histogramRequest else { return nil }
        guard let found = try await count(request) else { throw Problem.unknownTimeZone }
        return found
    }
}

extension ListHistogram {
    /// Writes the histogram as a member of a list's page.
    func write(to json: inout JSONWriter) {
        json.object("histogram") { json in
            json.member("since", since)
            json.member("until", until)
            json.name("bars")
            json.beginArray()
            for bar in bars {
                json.object {
                    $0.member("at", bar.at)
                    $0.member("count", bar.count)
                    $0.member("exact", bar.exact)
                }
            }
            json.endArray()
        }
    }

    private static let bar = ObjectShape([
        .readOnly("at", .timestamp, "When the bar begins. The bar ends when the next bar begins."),
        .readOnly(
            "count", .integer(0...most),
            "The number of items in the bar; at most 1,000 are counted."),
        .readOnly(
            "exact", .bool,
            "Whether `count` is exact. If false, counting stopped early, and there are more."),
    ])

    static let shape = ObjectShape(
        "Histogram",
        [
            .readOnly(
                "since", .timestamp,
                "When the first bar begins: the requested `since` or, if absent, the time of the "
                    + "oldest item, if there is one."),
            .readOnly(
                "until", .timestamp,
                "When the last bar ends: the requested `until` or, if absent, now."),
            .readOnly(
                "bars", .array(of: .object(bar)),
                "The parts of the period, oldest first, each with its number of items."),
        ])
}
