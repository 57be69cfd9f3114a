import Postgres

extension Database {
    /// A list of at least so many rows looks at the statistics of the tables that it writes to.
    package static let largeWrite = 100

    /// Brings the statistics of tables up that earlier large writes have grown. It changes how quick
    /// statements are and nothing else, so a failure (another one at work) is passed over.
    package func analyzeGrownTables() async {
        _ = try? await app.query("SELECT analyze_grown_tables()")
    }
}
