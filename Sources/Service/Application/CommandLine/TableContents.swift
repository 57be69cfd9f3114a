import Postgres

/// What a table has: enough to see that two databases hold the same.
struct TableContents: Equatable, Sendable {
    var rows: Int
    /// Of all rows in any order; the same text for the same rows on any server.
    var digest: String

    /// Of every table in the schema `public`, by its name.
    static func all(_ transaction: Transaction) async throws -> [String: TableContents] {
        let tables = try await transaction.query(
            """
            SELECT quote_ident(relname) FROM pg_class
            WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
            """)
        var contents: [String: TableContents] = [:]
        for table in tables {
            let name = try table.get(0, as: String.self)
            // A sum does not depend on the order, which a restore changes.
            let answer = try await transaction.query(
                """
                SELECT count(*), coalesce(sum(
                    ('x' || left(md5(whole_row::text), 15))::bit(60)::bigint::numeric), 0)::text
                FROM public.\(raw: name) AS whole_row
                """)
            guard let row = answer.first else { continue }
            contents[name] = TableContents(rows: try row.get(0), digest: try row.get(1))
        }
        return contents
    }

    /// What the second has otherwise than the first, a sentence for each table; empty if nothing.
    static func differences(
        _ dumped: [String: TableContents], _ restored: [String: TableContents]
    ) -> [String] {
        Set(dumped.keys).union(restored.keys).sorted().compactMap { name in
            switch (dumped[name], restored[name]) {
            case (nil, _): "\(name) was not in the dump"
            case (_, nil): "\(name) is missing"
            case (let before?, let after?) where before.rows != after.rows:
                "\(name) has \(after.rows) rows instead of \(before.rows)"
            case (let before, let after): before == after ? nil : "\(name) has other rows"
            }
        }
    }
}
