import Domain
import JSON
import Postgres
import Text

/// What is held about one user, table by table, and what a purge leaves of it: numbers and ids
/// alone, so that the record of an erasure keeps nothing of what was erased.
package struct ErasureEvidence: Sendable {
    /// By the names of `PersonTable`; only those that have rows.
    package var counts: [(table: PersonTable, rows: Int)] = []
    /// The ids that were merged into the user's.
    package var mergedIDs: [UUID] = []
    /// HMACs of the address and the identities, by which the tenant refuses the person.
    package var left: LeftTombstones?

    package init() {}

    /// The transaction sees merged users.
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

    /// The same after the purge.
    func leaving(_ left: LeftTombstones) -> ErasureEvidence {
        var evidence = self
        evidence.left = left
        return evidence
    }

    /// `{"removed": {"users": 1, …}, "redacted": {…}, "revoked": {…}, "tombstones": 2, …}`.
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
