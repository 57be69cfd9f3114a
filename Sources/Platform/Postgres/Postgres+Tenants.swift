import Text

/// Reads of one tenant, wherever its rows are.
extension Postgres {
    /// Where the rows of this tenant are; `nil` if they are at this server, or if it is unknown.
    func location(of tenant: UUID) -> TenantServers.Location? { servers?.location(of: tenant) }

    /// Like `read` without a task, for the rows of one tenant, which the statement names.
    /// `app.tenant` is not set: this is for a role that reads across tenants.
    package func read(
        of tenant: UUID, _ sql: SQL, then finish: @escaping (Result<Rows, PostgresError>) -> Void
    ) {
        guard let location = location(of: tenant), let own = location.shards.statement(sql) else {
            return read(sql, then: finish)
        }
        location.server.read(own, in: StatementScope(shard: location.shards.id)) { [self] answer in
            if case .failure(let error) = answer, error.isElsewhere {
                location.note(error, of: sql.text)
                return read(sql, then: finish)
            }
            finish(answer)
        }
    }

    /// A read with `app.tenant` set, in one round trip, under the rules of `read`.
    package func tenantRead(_ tenant: UUID, _ sql: SQL) async throws(PostgresError) -> Rows {
        let scope = StatementScope(tenant: tenant)
        guard let location = location(of: tenant) else {
            return try await send(sql, .read, in: scope)
        }
        do {
            guard let own = location.shards.statement(sql) else {
                return try await location.server.send(sql, .read, in: scope)
            }
            return try await location.server.send(
                own, .read, in: StatementScope(tenant: tenant, shard: location.shards.id))
        } catch {
            guard error.isElsewhere else { throw error }
            location.note(error, of: sql.text)
            return try await send(sql, .read, in: scope)
        }
    }
}
