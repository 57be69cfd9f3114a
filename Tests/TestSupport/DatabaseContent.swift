import Postgres
import Text

extension TestDatabase {
    /// A digest of the rows of every table, by name, to see that nothing was written. It leaves out
    /// the counts of rate limits, which even a call that changes nothing increases. With `tenant`,
    /// it has only that tenant's rows, of the tables that name a tenant.
    package func content(of tenant: UUID? = nil) async throws -> [String: String] {
        let postgres = client(as: administrator)
        let names = try await postgres.query(
            """
            SELECT format('%I', relname) FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
                AND relname <> 'minute_counts' AND (\(tenant == nil) OR EXISTS (
                    SELECT 1 FROM pg_attribute a WHERE a.attrelid = pg_class.oid
                        AND a.attname = 'tenant_id' AND NOT a.attisdropped)) ORDER BY 1
            """)
        let ours = tenant.map { "WHERE t.tenant_id = '\($0)'" } ?? ""
        var content: [String: String] = [:]
        for row in names {
            let name = try row.get(0, as: String.self)
            let digest = try await postgres.query(
                SQL(
                    raw: "SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') "
                        + "FROM \(name) t \(ours)"))
            content[name] = try digest.first?.get(0, as: String.self)
        }
        await postgres.close()
        return content
    }
}
