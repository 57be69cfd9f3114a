import Domain
import Postgres
import Storage
import Text

extension Database {
    /// Active users `n@acme.example`, all created at one moment.
    package func addUsers(_ numbers: ClosedRange<Int>, to tenant: UUID) async throws {
        try await scope(tenant).change(by: .system) { try await $0.addUsers(numbers) }
    }
}

extension Change {
    /// Locks all of the tenant's rows in a table, as changes of them do.
    package func lockRows(of table: String) async throws {
        let own = table == "tenants" ? "id" : "tenant_id"
        try await query(
            "/* test */ SELECT 1 FROM \(raw: table) WHERE \(raw: own) = \(tenant) FOR UPDATE")
    }

    /// Users `n@acme.example`, all created at one moment.
    package func addUsers(
        _ numbers: ClosedRange<Int>, _ status: User.Status = .active, source: String = "import"
    ) async throws {
        // One statement for each few thousand: a single one would exceed its time on a busy
        // machine.
        for first in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 5000) {
            let last = min(first + 4999, numbers.upperBound)
            try await query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at)
                SELECT anchor.id, md5(\(tenant.description) || n::text)::uuid,
                    n || '@acme.example', n || '@acme.example', 'member', \(status), \(source),
                    \(now), \(now)
                FROM \(SQL.anchor(of: tenant)),
                    generate_series(\(first)::bigint, \(last)::bigint) AS n
                WHERE anchor.id = \(tenant)
                """)
        }
    }

    /// Writes the texts by which a search finds the users who meet a condition, as a change of them
    /// does. `text` is an expression of their columns.
    package func putInSearch(_ text: SQL, where condition: SQL) async throws {
        var found: (ids: [UUID], texts: [String], times: [Timestamp]) = ([], [], [])
        let rows = try await query(
            """
            /* test */ SELECT id, \(text), created_at FROM users
            WHERE tenant_id = \(tenant) AND \(condition)
            """)
        for row in rows {
            found.ids.append(try row.get(0))
            found.texts.append(try row.get(1))
            found.times.append(try row.get(2))
        }
        try await query(
            "SELECT user_search_put_all(\(tenant), \(found.ids), \(found.texts), \(found.times))")
    }
}
