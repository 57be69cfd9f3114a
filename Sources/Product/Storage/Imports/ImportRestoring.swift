import Domain
import JSON
import Postgres
import Text

extension Change {
    /// False if another user has the external id now, or the user has signed in by what the import
    /// brought.
    func restoreImported(
        _ user: UserRow, _ effect: JSONValue, _ database: Database
    ) async throws -> Bool {
        guard try await mayRestore(user, effect) else { return false }
        let made = effect["identities"]?.array?.compactMap { $0.string.flatMap { UUID($0) } } ?? []
        for identity in user.identities where made.contains(identity.id) {
            try await invalidate(identity, database)
        }
        try await query(
            """
            DELETE FROM identities WHERE tenant_id = \(tenant) AND user_id = \(user.id)
                AND id = ANY (\(made))
            """)
        // The undo ends what the import's password could have opened meanwhile.
        if effect["password"]?.bool == true { try await endResets(of: user.id) }
        let row = try await writeBack(user, effect)
        let schema = try await attributeSchema().schema
        index(row.attributes, of: row.id, createdAt: row.createdAt, by: schema)
        try await putInSearch(row)
        try await auditRestored(user, row)
        return true
    }

    private func mayRestore(_ user: UserRow, _ effect: JSONValue) async throws -> Bool {
        let isSignIn =
            effect["password"]?.bool == true || effect["proof"]?.bool == true
            || !(effect["identities"]?.array ?? []).isEmpty
        guard !isSignIn || user.lastSignInAt?.description == effect["signed_in"]?.string else {
            return false
        }
        guard let externalID = effect["external_id"]?.string, externalID != user.externalID else {
            return true
        }
        return try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND external_id = \(externalID)
                AND status <> 'deleted' AND status <> 'merged' AND id <> \(user.id)
            """
        ).isEmpty
    }

    private func writeBack(_ user: UserRow, _ effect: JSONValue) async throws -> UserRow {
        let role = effect["role"]?.string.flatMap(UserRole.init) ?? user.role
        return try await query(
            """
            UPDATE users SET name = \(effect["name"]?.string), role = \(role),
                external_id = \(effect["external_id"]?.string),
                keep = coalesce(\(effect["keep"]?.bool)::boolean, keep),
                public_attributes = \(effect["public_attributes"]?.string ?? "{}"),
                private_attributes = \(effect["private_attributes"]?.string ?? "{}"),
                password_hash = CASE WHEN \(effect["password"]?.bool == true) THEN NULL
                    ELSE password_hash END,
                status = CASE WHEN \(effect["activation"]?.bool == true) THEN 'pending'
                    ELSE status END,
                email_verified_at = CASE WHEN \(effect["proof"]?.bool == true) THEN NULL
                    ELSE email_verified_at END,
                version = version + 1, updated_at = \(now)
            WHERE tenant_id = \(tenant) AND id = \(user.id)
            RETURNING \(UserRow.columns(of: tenant))
            """
        ).only(UserRow.init)
    }

    private func auditRestored(_ user: UserRow, _ row: UserRow) async throws {
        var changes = AuditChanges()
        changes.add("name", user.name, row.name)
        changes.add("role", user.role, row.role)
        changes.add("status", user.status, row.status)
        changes.add("external_id", user.externalID, row.externalID)
        changes.add("keep", .bool(user.isKept), .bool(row.isKept))
        changes.add(user.attributes, row.attributes)
        try await audit(.userUpdated, row.target, changes)
    }
}
