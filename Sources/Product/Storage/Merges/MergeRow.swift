import JSON
import Postgres
import Text

/// A merge of two records of one person, as stored; it may have been undone.
package struct MergeRow: ListedRow {
    package enum Status: String, Sendable, CaseIterable {
        case done, undone
    }

    package var id: UUID
    /// The user that remains.
    package var winner: UUID
    /// The user who was merged into the winner; the id now refers to the winner.
    package var loser: UUID
    package var status: Status
    package var createdAt: Timestamp
    /// The type of the actor who merged the users: `operator`, `key` or `user`.
    package var createdByType: String
    package var createdByID: String
    package var createdByName: String
    /// How many identities, invites and addresses the merge moved from the loser to the winner.
    package var identities: Int
    package var invites: Int
    package var addresses: Int
    package var keys: [MovedKey]
    /// How many of the loser's sign-ins were not moved but removed: a password, and sign-ins that
    /// were never proved.
    package var left: Int

    /// The access that ended when this merge was undone; `nil` before the undo.
    package var ended: EndedAccess?

    /// The time from which the merge can no longer be undone.
    package var undoUntil: Timestamp { createdAt.adding(seconds: Self.undoSeconds) }

    /// Seconds for which a merge can be undone.
    static let undoSeconds: Int64 = 30 * 86_400

    static let columns: SQL =
        """
        id, winner_id, loser_id, status, created_at, created_by_type, created_by_id,
        created_by_name, cardinality(identities), cardinality(accepted_invites),
        cardinality(addresses), keys::text, jsonb_array_length(left_identities), ended::text
        """

    init(_ row: Row) throws(PostgresError) {
        guard let status = Status(rawValue: try row.get(3)) else {
            throw PostgresError(.decoding, "status")
        }
        self.status = status
        (id, winner, loser) = (try row.get(0), try row.get(1), try row.get(2))
        createdAt = try row.get(4)
        (createdByType, createdByID) = (try row.get(5), try row.get(6))
        createdByName = try row.get(7)
        (identities, invites) = (try row.get(8), try row.get(9))
        addresses = try row.get(10)
        keys = try row.json(11).array?.compactMap(MovedKey.init) ?? []
        left = try row.get(12)
        if try row.get(13, as: String?.self) != nil { ended = EndedAccess(try row.json(13)) }
    }
}

extension TenantScope {
    /// One page of merges, newest first. If `winner` is nil, it contains the merges of all users.
    package func merges(
        _ list: ListQuery, winner: UUID?
    ) async throws(PostgresError) -> ListPage<MergeRow> {
        var source: SQL = "user_merges WHERE tenant_id = \(tenant)"
        if let winner { source += " AND winner_id = \(winner)" }
        let statement = ListStatement(
            columns: MergeRow.columns, source: source, isWide: winner == nil)
        return try await readLagging(statement.page(list)).page(list, MergeRow.init)
    }

    package func merge(_ id: UUID) async throws(PostgresError) -> MergeRow? {
        let rows = try await read(
            "SELECT \(MergeRow.columns) FROM user_merges WHERE tenant_id = \(tenant) AND id = \(id)"
        )
        return try rows.first.map(MergeRow.init)
    }
}
