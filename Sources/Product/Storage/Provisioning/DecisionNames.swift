import JSON
import Postgres
import Text

/// Display names for the rows that a trace names by their ids.
extension Database {
    /// A trace with a `name` for each object that still exists. `tenant`: shows only its rows, and
    /// omits steps about other tenants; nil: all of them, for the platform.
    package func shown(
        _ trace: JSONValue, to tenant: UUID?
    ) async throws(PostgresError) -> JSONValue {
        let steps = (trace.array ?? []).filter { $0.isAbout(nothingBut: tenant) }
        let about = steps.flatMap { $0["about"]?.array ?? [] }
        var names: [String: String] = [:]
        let owners = Set(about.compactMap { $0["tenant_id"]?.string.flatMap { UUID($0) } })
        for owner in owners.sorted() {
            let ids = about.compactMap { $0["id"]?.string.flatMap { UUID($0) } }
            let rows = try await scope(owner).read(
                """
                SELECT id, name FROM tenants WHERE id = \(owner)
                UNION ALL SELECT id, email FROM users
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                UNION ALL SELECT id, email FROM invites
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                UNION ALL SELECT id, display FROM domains
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                """)
            for row in rows { try Self.add(row, to: &names) }
        }
        let providers = about.filter { $0["type"]?.string == "provider" }
            .compactMap { $0["id"]?.string.flatMap { UUID($0) } }
        for (id, name) in try await providerNames(providers) { names[id.description] = name }
        return .array(steps.map { $0.naming(names) })
    }

    /// The decisions with the names of their tenants and registered providers. `reader`: the tenant
    /// that reads them; nil: the platform.
    func named(
        _ rows: [DecisionRow], to reader: UUID?
    ) async throws(PostgresError) -> [DecisionRow] {
        let ids = rows.map { $0.cut(to: reader).registeredProvider }
        let providers = try await providerNames(ids.compactMap { $0 })
        let tenants = try await tenantNames(rows.compactMap(\.tenantID), to: reader)
        return zip(rows, ids).map { row, provider in
            var row = row
            row.providerName = provider.flatMap { providers[$0] }
            row.tenantName = row.tenantID.flatMap { tenants[$0] }
            return row
        }
    }

    private func providerNames(_ ids: [UUID]) async throws(PostgresError) -> [UUID: String] {
        let wanted = Set(ids).subtracting([.platform])
        guard !wanted.isEmpty else { return [:] }
        return try await readLaggingAsApp(
            "SELECT id, name FROM providers WHERE id = ANY(\(wanted.sorted()))"
        ).names()
    }

    private static func add(_ row: Row, to names: inout [String: String]) throws(PostgresError) {
        names[try row.get(0, as: UUID.self).description] = try row.get(1, as: String.self)
    }
}

extension JSONValue {
    /// Whether a step names no row of another tenant; a platform's provider is visible to all.
    fileprivate func isAbout(nothingBut tenant: UUID?) -> Bool {
        guard let tenant else { return true }
        return (self["about"]?.array ?? []).allSatisfy { reference in
            reference["tenant_id"]?.string.map { $0 == tenant.description } ?? true
        }
    }

    fileprivate func naming(_ names: [String: String]) -> JSONValue {
        guard var members = self.members,
            let at = members.firstIndex(where: { $0.name == "about" })
        else { return self }
        members[at].value = .array(
            (members[at].value.array ?? []).map { reference in
                guard let id = reference["id"]?.string, let name = names[id] else {
                    return reference
                }
                return .object(
                    (reference.members ?? []) + [JSONValue.Member("name", .string(name))])
            })
        return .object(members)
    }
}

extension DecisionRow {
    /// The one that the rules read; nil if none was found.
    fileprivate var registeredProvider: UUID? {
        let about = (trace.array ?? []).flatMap { $0["about"]?.array ?? [] }
        return about.first { $0["type"]?.string == "provider" }?["id"]?.string.flatMap { UUID($0) }
    }

    /// Reduced to what a tenant may read of it; `tenant` nil: unchanged.
    package func cut(to tenant: UUID?) -> DecisionRow {
        var row = self
        row.trace = .array((trace.array ?? []).filter { $0.isAbout(nothingBut: tenant) })
        return row
    }
}
