import Postgres
import Text

/// The names of tenants for the rows of a list, by one query for the page: a join would read all
/// tenants where there are few.
extension Database {
    /// By the ids of those that exist. `reader`: sees only itself; nil: the platform, which sees all.
    func tenantNames(
        _ ids: [UUID], to reader: UUID?
    ) async throws(PostgresError) -> [UUID: String] {
        if let reader { return try await scope(reader).tenantNames(ids) }
        let wanted = Set(ids).subtracting([.platform])
        guard !wanted.isEmpty else { return [:] }
        return try await readLagging(Self.tenantNames(wanted.sorted()), in: nil).names()
    }

    fileprivate static func tenantNames(_ ids: [UUID]) -> SQL {
        "SELECT id, name FROM tenants WHERE id = ANY(\(ids))"
    }
}

extension TenantScope {
    /// By the ids of those that this tenant sees.
    func tenantNames(_ ids: [UUID]) async throws(PostgresError) -> [UUID: String] {
        let wanted = Set(ids).intersection([tenant])
        guard !wanted.isEmpty else { return [:] }
        return try await readLagging(Database.tenantNames(wanted.sorted())).names()
    }
}

extension Rows {
    /// Of rows of an id and a name.
    func names() throws(PostgresError) -> [UUID: String] {
        var names: [UUID: String] = [:]
        for row in self { names[try row.get(0)] = try row.get(1, as: String.self) }
        return names
    }
}
