import Postgres
import Text

/// The number of rows of a filtered list in each part of a period.
package struct ListHistogram: Sendable {
    package struct Bar: Sendable {
        package var at: Timestamp
        package var count: Int
        /// Whether the count is exact; false if counting stopped because there are more than `most`
        /// rows.
        package var exact: Bool
    }

    /// The largest number of rows that is counted exactly for one bar; counting stops above this
    /// number. So a histogram reads a limited number of rows, however long the list is.
    package static let most = 1000

    package var since: Timestamp
    /// The end of the last bar.
    package var until: Timestamp
    package var bars: [Bar]

    /// Returns the SQL that selects the start of each bar and its number of rows, counted up to
    /// `most` plus one. `source` is a function: given a further condition, it returns the SQL of
    /// the list's rows that meet this condition.
    static func counting(
        _ starts: [Timestamp], until: Timestamp, of column: SQL, _ source: (SQL) -> SQL
    ) -> SQL {
        let within = source(" AND \(column) >= bar.at AND \(column) < bar.until")
        return """
            SELECT bar.at, (SELECT count(*) FROM (SELECT 1 FROM \(within)
                LIMIT \(raw: "\(most + 1)")) AS capped)
            FROM unnest(\(starts)::timestamptz[],
                \(Array(starts.dropFirst()) + [until])::timestamptz[]) AS bar (at, until)
            ORDER BY bar.at
            """
    }

    /// Returns the SQL that selects the start of a single bar and its number of rows, counted up to
    /// `most` plus one.
    static func counting(
        from start: Timestamp, until end: Timestamp, of column: SQL, _ source: (SQL) -> SQL
    ) -> SQL {
        let within = source(" AND \(column) >= \(start) AND \(column) < \(end)")
        return """
            SELECT \(start)::timestamptz, count(*) FROM (SELECT 1 FROM \(within)
                LIMIT \(raw: "\(most + 1)")) AS capped
            """
    }
}

extension ListHistogram.Bar {
    fileprivate init(_ row: Row) throws(PostgresError) {
        let count: Int = try row.get(1)
        at = try row.get(0)
        self.count = min(count, ListHistogram.most)
        exact = count <= ListHistogram.most
    }
}

/// A request for a histogram of a list.
package struct HistogramRequest: Sendable {
    /// How many bars a request may ask for.
    package static let bars = 10...120
    /// The possible lengths of a bar in seconds: from a minute to 30 days.
    private static let steps: [Int64] = [
        60, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 604_800, 2_592_000,
    ]
    private static let day: Int64 = 86_400

    /// The start of the period; `nil` for the time of the oldest row.
    var since: Timestamp?
    /// The end of the period; `nil` for now.
    var until: Timestamp?
    /// The approximate upper limit of the number of bars.
    var most: Int
    /// An IANA time zone name. Bars of a day or longer begin at midnight in this zone.
    var zone: String

    package init(since: Timestamp?, until: Timestamp?, most: Int, zone: String) {
        self.since = since
        self.until = until
        self.most = most
        self.zone = zone
    }

    /// Returns the length of a bar in seconds. It is chosen so that a period of `seconds` seconds
    /// has at most about `most` bars.
    static func step(of seconds: Int64, most: Int) -> Int64 {
        let most = Int64(most)
        return steps.first { seconds / $0 <= most } ?? (seconds / most / day + 1) * day
    }

    /// Returns the SQL that selects the starts of the bars: first the start of the period, then the
    /// times at which a clock in the zone shows a multiple of the step.
    static func starts(from since: Timestamp, to until: Timestamp, step: Int64, zone: String) -> SQL
    {
        """
        SELECT DISTINCT greatest(at AT TIME ZONE \(zone), \(since)::timestamptz) AS start
        FROM generate_series(
            date_bin(\(step) * interval '1 second', \(since)::timestamptz AT TIME ZONE \(zone),
                timestamp '2001-01-01'),
            \(until)::timestamptz AT TIME ZONE \(zone), \(step) * interval '1 second') AS at
        WHERE at AT TIME ZONE \(zone) < \(until) ORDER BY start
        """
    }
}

extension Database {
    /// Returns the histogram; `nil` if PostgreSQL does not know the zone. `column` is the column
    /// with the time of a row, and `oldest` selects the time of the oldest row. `source` is a
    /// function: given a further condition, it returns the SQL of the rows that meet this condition
    /// and pass the filters.
    func histogram(
        _ request: HistogramRequest, of column: SQL, oldest: SQL, in tenant: UUID?,
        _ source: (SQL) -> SQL
    ) async throws(PostgresError) -> ListHistogram? {
        let until =
            request.until ?? Timestamp(microseconds: (clock().microseconds / 1000 + 1) * 1000)
        var since = request.since
        if since == nil {
            since = try await readLagging(oldest, in: tenant).first.map {
                row throws(PostgresError) in
                try row.get(0)
            }
        }
        guard let since, since < until else {
            return ListHistogram(since: request.since ?? until, until: until, bars: [])
        }
        let step = HistogramRequest.step(
            of: (until.microseconds - since.microseconds) / 1_000_000, most: request.most)
        let starts: [Timestamp]
        do {
            starts = try await readLagging(
                HistogramRequest.starts(from: since, to: until, step: step, zone: request.zone),
                in: tenant
            ).all { row throws(PostgresError) in try row.get(0) }
        } catch  where error.sqlstate == "22023" {
            return nil
        }
        var bars: [ListHistogram.Bar] = []
        do {
            bars = try await readLagging(
                ListHistogram.counting(starts, until: until, of: column, source), in: tenant
            ).all { row throws(PostgresError) in try ListHistogram.Bar(row) }
        } catch  where error.sqlstate == "0A000" {
            // A distributed database can count the rows of all tenants only with a separate
            // statement for each bar.
            for (start, end) in zip(starts, Array(starts.dropFirst()) + [until]) {
                let counted = ListHistogram.counting(
                    from: start, until: end, of: column, source)
                bars += try await readLagging(counted, in: tenant)
                    .all { row throws(PostgresError) in try ListHistogram.Bar(row) }
            }
        }
        return ListHistogram(since: since, until: until, bars: bars)
    }
}
