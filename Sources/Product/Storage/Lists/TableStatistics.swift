import Postgres

extension Database {
    /// A list of at least this many rows checks the statistics of the tables that it writes to.
    package static let largeWrite = 100

    /// Analyzes tables that earlier large writes have grown. It changes only how fast statements
    /// are, so a failure (a concurrent ANALYZE) is ignored.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
