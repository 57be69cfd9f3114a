import Postgres

extension TestDatabase {
    /// A digest of the rows of every table, by its name, to see that nothing was written. Without the
    /// counts of rate limits, which a call adds to that changes nothing.
    package func content() async throws -> [String: String] {
        let postgres = client(as: administrator)
        let names = try await postgres.query(
            """
            SELECT format('%I', relname) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
                AND relname <> 'minute_counts' ORDER BY 1
            """)
        var content: [String: String] = [:]
        for row in names {
            let name = try row.get(0, as: String.self)
            let digest = try await postgres.query(
                SQL(
                    raw: "SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') "
                        + "FROM \(name) t"))
            content[name] = try digest.first?.get(0, as: String.self)
        }
        await postgres.close()
        return content
    }
}
