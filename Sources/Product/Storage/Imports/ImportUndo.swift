import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Takes one row of an import back, unless the user has changed since. `roles`: those that the
    /// caller may act for.
    package func undoImport(
        _ result: JobResult, roles: [UserRole], in database: Database
    ) async throws -> JobResult {
        var result = result
        guard let id = result.targetID, let effect = result.effect else { return kept(result) }
        guard let user = try await user(id) else {
            return kept(result, "The user is no longer there.")
        }
        guard roles.contains(user.role) else {
            return kept(result, "The role is above what this credential may give.", "forbidden")
        }
        let isCreated = effect["created"]?.bool == true
        guard user.version == (isCreated ? 1 : effect["version"]?.int), !user.isDeleted else {
            return kept(result, "The user has changed since.")
        }
        if isCreated {
            guard try await isUntouched(user) else {
                return kept(result, "The user has signed in or been used since.")
            }
            try await removeImported(user, database)
        } else {
            guard try await restoreImported(user, effect, database) else {
                return kept(result, "The user has changed since.")
            }
        }
        result.status = .undone
        result.effect = nil
        return result
    }

    private func kept(
        _ result: JobResult, _ detail: String = "There is nothing to undo.",
        _ code: String = "undo_conflict"
    ) -> JobResult {
        JobResult(
            row: result.row, .kept, code: code, detail: detail, targetType: result.targetType,
            targetID: result.targetID, effect: result.effect)
    }

    private func user(_ id: UUID) async throws -> UserRow? {
        do {
            return try await lockUser(id)
        } catch StorageFailure.notFound {
            return nil
        }
    }

    /// Nothing refers to the user but what the import wrote.
    private func isUntouched(_ user: UserRow) async throws -> Bool {
        guard user.lastSignInAt == nil, user.identities.allSatisfy({ $0.lastUsedAt == nil }) else {
            return false
        }
        return try await query(
            """
            SELECT 1 FROM api_keys WHERE tenant_id = \(tenant) AND owner_user_id = \(user.id)
            UNION ALL SELECT 1 FROM sessions
            WHERE tenant_id = \(tenant) AND user_id = \(user.id)
            UNION ALL SELECT 1 FROM merged_users
            WHERE tenant_id = \(tenant) AND user_id = \(user.id)
            LIMIT 1
            """
        ).isEmpty
    }

    private func removeImported(_ user: UserRow, _ database: Database) async throws {
        for identity in user.identities { try await invalidate(identity, database) }
        try await query("SELECT user_search_drop(\(tenant), \(user.id))")
        try await query("DELETE FROM users WHERE tenant_id = \(tenant) AND id = \(user.id)")
        let others = try await query(
            """
            SELECT 1 FROM users WHERE tenant_id = \(tenant) AND email_key = \(user.emailKey)
            UNION ALL SELECT 1 FROM invites
            WHERE tenant_id = \(tenant) AND email_key = \(user.emailKey) LIMIT 1
            """)
        if others.isEmpty {
            try await query(
                "SELECT directory_remove_person(\(database.personKey(emailKey: user.emailKey)))")
        }
        try await audit(.userRemoved, user.target)
    }
}

extension UserRow {
    fileprivate var isDeleted: Bool { status == .deleted }
}
