import Domain
import Postgres
import Text

/// A user of some tenant, as a search over all of them shows it.
package struct NamedPerson: Sendable {
    package let tenant: UUID
    package let tenantName: String
    package let id: UUID
    package let email: String
    package let name: String?

    init(_ row: Row) throws(PostgresError) {
        (tenant, tenantName, id, email, name) = try row.columns()
    }
}

extension Database {
    /// Users of all tenants that are not deleted, each word of `text` being part of the address or
    /// the name; at most `most`. Without three letters or digits in a row it finds none: the index
    /// knows nothing shorter.
    package func people(matching text: String, most: Int) async throws -> [NamedPerson] {
        let words = Self.words(of: text)
        let isFound = words.contains { word in
            word.split { !$0.isLetter && !$0.isNumber }.contains { $0.count > 2 }
        }
        guard isFound else { return [] }
        let patterns = Self.patterns(of: text)
        let found = try await readLagging(
            "SELECT tenant_id, user_id FROM search_people(\(patterns), \(most)::integer)", in: nil)
        let tenants: [UUID] = try found.map { try $0.get(0) }
        let ids: [UUID] = try found.map { try $0.get(1) }
        guard !ids.isEmpty else { return [] }
        let rows = try await readLagging(
            """
            SELECT u.tenant_id, t.name, u.id, u.email, u.name
            FROM users u JOIN tenants t ON t.id = u.tenant_id AND t.id = ANY (\(tenants))
            WHERE u.tenant_id = ANY (\(tenants)) AND u.id = ANY (\(ids)) AND u.status <> 'deleted'
                AND t.status <> 'deleted'
            ORDER BY u.email_key, t.slug
            """, in: nil)
        return try rows.map(NamedPerson.init)
    }
}
