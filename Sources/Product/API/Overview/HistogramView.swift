import Domain
import JSON
import Storage
import Text

extension QueryParameter {
    /// Of a list by time: how its rows are spread over the period.
    static let histogram: [QueryParameter] = [
        QueryParameter(
            "histogram", .integer(HistogramRequest.bars),
            "Also counts what passes the filters in about so many parts of the period."),
        .timeZone,
    ]
}

extension Call {
    /// Nil: none is asked for, or the list is exported.
    var histogramRequest: HistogramRequest? {
        guard export == nil, let most = query.optionalInt("histogram") else { return nil }
        return HistogramRequest(
            since: query.optionalTimestamp("since"), until: query.optionalTimestamp("until"),
            most: most, zone: query.optionalString("time_zone") ?? "UTC")
    }

    /// What `count` counts for the request, if one is made; 422 for a zone that does not exist.
    func histogram(
        _ count: (HistogramRequest) async throws -> ListHistogram?
    ) async throws -> ListHistogram? {
        guard let request = histogramRequest else { return nil }
        guard let found = try await count(request) else { throw Problem.unknownTimeZone }
        return found
    }
}

extension ListHistogram {
    /// The member of a list's page.
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
        .readOnly("at", .timestamp, "Its beginning; it ends with the next one's."),
        .readOnly("count", .integer(0...most)),
        .readOnly("exact", .bool, "False: there are more; counting stops early."),
    ])

    static let shape = ObjectShape(
        "Histogram",
        [
            .readOnly("since", .timestamp, "As asked for, else when the oldest row was made."),
            .readOnly("until", .timestamp, "When the last bar ends: as asked for, else now."),
            .readOnly("bars", .array(of: .object(bar))),
        ])
}
