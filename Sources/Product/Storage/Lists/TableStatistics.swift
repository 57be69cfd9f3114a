import Postgres

extension SQL {
    /// A condition, with its AND, that every id passes, for a walk from one id on: as `ListQuery.everyTime`.
    static let everyID: SQL = " AND id <= 'ffffffff-ffff-ffff-ffff-ffffffffffff'"

    /// The value of a column of text, so that no index serves a condition on it: for one that stands beside a
    /// condition whose own index finds few rows. In a table that PostgreSQL has not counted it takes each
    /// index that serves two conditions for equally good, also the one of all rows with a frequent status.
    static func unindexed(_ column: StaticString) -> SQL { "(\(raw: "\(column)") || '')" }
}

extension Database {
    /// A list of at least this many rows checks the statistics of the tables that it writes to.
    package static let largeWrite = 100

    /// Analyzes tables that earlier large writes have grown. It changes only how fast statements
    /// are, so a failure (a concurrent ANALYZE) is ignored.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
