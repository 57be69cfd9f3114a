import Domain
import JSON
import Postgres
import Text

extension Change {
    /// Undoes one row of an import, unless the user has changed since then. The caller may change
    /// only users with one of `roles`.
    package func undoImport(
        _ result: JobResult, roles: [UserRole]
    ) async throws -> JobResult {
        var result = result
        guard let id = result.targetID, let effect = result.effect else { return kept(result) }
        guard let user = try await user(id) else {
            return kept(result, "The user is no longer there.")
        }
        guard roles.contains(user.role) else {
            let fault = ImportFault.userTooHigh
            return kept(result, fault.detail, fault.code)
        }
        let isCreated = effect["created"]?.bool == true
        guard user.version == (isCreated ? 1 : effect["version"]?.int), !user.isDeleted else {
            return kept(result, "The user has changed since.")
        }
        if isCreated {
            guard try await isUntouched(user) else {
                return kept(result, "The user has signed in or been used since.")
            }
            try await removeImported(user)
        } else {
            guard try await restoreImported(user, effect) else {
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

    /// Whether the user has not signed in and has no key, session or merged account.
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

    private func removeImported(_ user: UserRow) async throws {
        for identity in user.identities { try await invalidate(identity) }
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

/// Removes imports that have ended and uploads that were abandoned, with their rows. Each is
/// removed in batches, since one transaction for a large import would take too long.
extension Database {
    /// The maximum number of batches in one call (`batches`), and of batches of one import in a
    /// call (`batchesOfOne`). The second limit keeps a large import from delaying the others.
    private static let batches = 100
    private static let batchesOfOne = 50

    /// Removes ended imports and returns how many were removed. The rest of a large import is left
    /// to the next call. An import that fails is skipped, and its error is thrown at the end.
    @discardableResult
    package func removeImports() async throws -> Int {
        var passed = PassedOver("imports")
        let count = try await removeImports(&passed)
        if passed.count > 0 { throw passed }
        return count
    }

    func removeImports(_ passed: inout PassedOver) async throws -> Int {
        let found = try await platform.read(
            """
            SELECT tenant_id, id FROM imports WHERE expires_at <= \(clock())
                AND \(passed.others("id"))
            ORDER BY expires_at LIMIT \(Self.purgeBatch)
            """)
        var (count, left) = (0, Self.batches)
        for row in found {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            guard !passed.leaves(tenant) else { continue }
            var step = ImportRemoval.more
            var own = Self.batchesOfOne
            do {
                while step == .more, own > 0, left > 0 {
                    (own, left) = (own - 1, left - 1)
                    step = try await scope(tenant).change(by: .system) { change in
                        try await change.removeRows(ofImport: id)
                    }
                }
                if step == .done { count += 1 }
            } catch {
                try passed.add(id, of: tenant, error)
            }
        }
        return count
    }

    /// Cancels paused imports that were uploaded at least this many seconds ago, since their
    /// addresses and password hashes must not be kept for ever.
    func cancelPausedImports(
        after seconds: Int64, _ passed: inout PassedOver
    ) async throws {
        let found = try await platform.read(
            """
            SELECT j.tenant_id, j.id FROM imports i
            JOIN jobs j ON j.tenant_id = i.tenant_id AND j.id = i.job_id
            WHERE i.created_at <= \(clock().adding(seconds: -seconds)) AND j.status = 'paused'
                AND NOT j.is_undoing AND \(passed.others("j.id", of: "j.tenant_id"))
            LIMIT \(Self.purgeBatch)
            """)
        for row in found {
            let (tenant, id): (UUID, UUID) = (try row.get(0), try row.get(1))
            guard !passed.leaves(tenant) else { continue }
            do {
                try await scope(tenant).change(by: .system) { change in
                    let job = try await change.lockJob(id)
                    guard job.status == .paused, !job.isUndoing else { return }
                    _ = try await change.cancelJob(job)
                    try await change.endImport(of: id)
                }
            } catch {
                try passed.add(id, of: tenant, error)
            }
        }
    }
}

/// How far a removal is after one batch.
enum ImportRemoval: Sendable {
    case more, done
    /// Another replica is removing the import, or it no longer exists.
    case elsewhere
}

extension Change {
    func removeRows(ofImport id: UUID) async throws -> ImportRemoval {
        let held = try await query(
            """
            SELECT 1 FROM imports WHERE tenant_id = \(tenant) AND id = \(id)
                AND expires_at <= \(now) FOR UPDATE SKIP LOCKED
            """)
        if held.isEmpty { return .elsewhere }
        for table in ["import_keys", "import_rows"] as [SQL] {
            let rows = try await query(
                """
                DELETE FROM \(table) WHERE tenant_id = \(tenant) AND ctid = ANY (ARRAY(
                    SELECT ctid FROM \(table) WHERE tenant_id = \(tenant) AND import_id = \(id)
                    LIMIT \(Database.sweepBatch)))
                """
            ).affected
            guard rows < Database.sweepBatch else { return .more }
        }
        try await query("DELETE FROM imports WHERE tenant_id = \(tenant) AND id = \(id)")
        return .done
    }
}
