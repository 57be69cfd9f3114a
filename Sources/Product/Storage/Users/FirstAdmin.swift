import Domain
import JSON
import Postgres
import Text

/// The first user of a tenant, who becomes its admin if a client's settings allow it.
extension TenantScope {
    /// False for a tenant whose users are all deleted.
    package func hasUsers() async throws(PostgresError) -> Bool {
        let rows = try await read(
            "SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status <> 'deleted' LIMIT 1")
        return !rows.isEmpty
    }
}

extension Change {
    /// nil if the tenant has a user already, or if the client no longer allows it. The client's row
    /// is locked, so that only one of several is the first; the setting is cleared. `profile`: the
    /// app's initial data about the user.
    package func makeFirstAdmin(
        email: EmailAddress, name: String, passwordHash: String, client: String,
        profile: [JSONValue.Member] = [], database: Database
    ) async throws -> UserRow? {
        let row = try await lockClient(client)
        guard row.settings["admin_sign_up"]?.bool == true else { return nil }
        let others = try await query(
            "SELECT 1 FROM users WHERE tenant_id = \(tenant) AND status <> 'deleted' LIMIT 1")
        guard others.isEmpty else { return nil }
        let new = NewUser(
            email: email.original, emailKey: email.key, name: name, role: .admin, status: .active,
            source: .signUp, passwordHash: passwordHash)
        guard try await insertUser(new, database) else { return nil }
        if !profile.isEmpty { try await editClientProfile(of: new.id, at: client, profile) }
        var next = row
        next.settings = .object(
            (row.settings.members ?? []).filter { !sameBytes($0.name, "admin_sign_up") })
        _ = try await putClient(row, as: next)
        return try await lockUser(new.id)
    }
}
