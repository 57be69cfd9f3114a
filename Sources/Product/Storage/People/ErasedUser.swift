import Domain
import JSON
import Postgres
import Text

/// The erasure of one user, as the tenant's audit trail records it.
package struct ErasedUser: Sendable {
    package let tenant: UUID
    package let id: UUID
    package let erasedAt: Timestamp
    /// The id of the operator who erased the user.
    package let erasedBy: String
    /// What was erased, in the form of `ErasureEvidence.json`.
    package let evidence: JSONValue
}

extension Database {
    /// The token that confirms an erasure. It is bound to these users in their current versions and
    /// to the console session, so it becomes invalid when one of the users changes.
    package func erasureConfirmation(
        of users: [(tenant: UUID, id: UUID, version: Int?)], session: UUID
    ) -> String {
        let rows = users.sorted { ($0.tenant, $0.id) < ($1.tenant, $1.id) }.map {
            "\($0.tenant) \($0.id) \($0.version.map(String.init) ?? "gone")"
        }
        return purgeConfirmation(of: "\(session): \(rows.joined(separator: ", "))")
    }
}

extension TenantScope {
    /// The record of a user's erasure; nil if the user was never erased with evidence.
    package func erasedUser(_ id: UUID) async throws -> ErasedUser? {
        let rows = try await read(
            """
            SELECT occurred_at, actor_id, (changes -> 'removed' -> 1)::text FROM audit_events
            WHERE tenant_id = \(tenant) AND target_id = \(id.description) AND target_type = 'user'
                AND action = \(AuditAction.userPurged.rawValue) AND changes ? 'removed'
            ORDER BY occurred_at DESC, id DESC LIMIT 1
            """)
        guard let row = rows.first else { return nil }
        let text: String = try row.get(2)
        return ErasedUser(
            tenant: tenant, id: id, erasedAt: try row.get(0), erasedBy: try row.get(1),
            evidence: try JSONValue(parsing: Array(text.utf8)))
    }
}

extension Change {
    /// Purges the user, whatever the user's status is, and records what was stored. Throws 412 if
    /// the row no longer has this version.
    package func eraseUser(
        _ id: UUID, version: Int
    ) async throws -> ErasedUser {
        let row = try await lockUser(id)
        guard row.version == version else { throw StorageFailure.versionMismatch }
        var evidence = try await seeingMerged { try await ErasureEvidence(of: row, transaction) }
        let before = evidence
        evidence.left = try await purgeUser(row, isManual: true) {
            before.leaving($0).json
        }
        return ErasedUser(
            tenant: tenant, id: id, erasedAt: now, erasedBy: actor.id, evidence: evidence.json)
    }

    /// Audits that the data about the user was exported.
    package func recordExport(of row: UserRow) async throws {
        try await audit(.userExported, row.target)
    }
}

/// How many rows are stored about one user in each table, and what a purge leaves. It has only
/// numbers and ids, so that it reveals nothing about the erased data.
package struct ErasureEvidence: Sendable {
    /// The number of rows in each table that has any.
    var counts: [(table: PersonTable, rows: Int)] = []
    /// The ids of the users who were merged into this user.
    var mergedIDs: [UUID] = []
    /// What the purge left: HMACs of the address and of the identities, by which the tenant refuses
    /// the person; `nil` before the purge.
    var left: LeftTombstones?

    init() {}

    /// Counts the rows that are stored about the user. The transaction must be able to see merged
    /// users.
    init(of row: UserRow, _ transaction: Transaction) async throws(PostgresError) {
        let records = try await PersonRecords(of: row, isOwnOnly: true, transaction)
        let found = try await transaction.query(PersonTable.counts(records))
        mergedIDs = row.mergedIDs
        guard let row = found.first else { return }
        for (index, table) in PersonTable.all.enumerated() {
            let rows: Int = try row.get(index)
            if rows > 0 { counts.append((table, rows)) }
        }
    }

    /// The same evidence, with the HMACs that the purge left.
    func leaving(_ left: LeftTombstones) -> ErasureEvidence {
        var evidence = self
        evidence.left = left
        return evidence
    }

    /// The evidence as JSON: `{"removed": {"users": 1, …}, "redacted": {…}, "revoked": {…},
    /// "tombstones": 2, …}`.
    package var json: JSONValue {
        var members = PersonTable.Fate.allCases.map { fate in
            JSONValue.Member(
                fate.rawValue,
                .object(
                    counts.filter { $0.table.fate == fate }.map {
                        .init($0.table.name, .int($0.rows))
                    }))
        }
        members.append(.init("merged_ids", .array(mergedIDs.map { .string($0.description) })))
        if let left {
            members.append(.init("tombstones", .int(left.count)))
            members.append(.init("tombstones_until", .string(left.until.description)))
        }
        return .object(members)
    }
}
