import JSON
import Postgres
import Text

/// What became of one row of a job.
package struct JobResult: Sendable {
    package enum Status: String, Sendable, CaseIterable {
        case waiting, done, unchanged, failed, undone, kept
    }

    package var row: Int
    package var status: Status
    /// Stable, as a problem's; nil unless it failed or was kept.
    package var code: String?
    /// For people; names no person.
    package var detail: String?
    /// What it was done to: `user`, `invite`, `api_key`.
    package var targetType: String?
    package var targetID: UUID?
    /// Who is left of a merge; of a stored row, as it is now.
    package var conflictingID: UUID?
    /// What an undo needs; nil: there is nothing to undo.
    package var effect: JSONValue?
    /// Of an import's row about a known user: an external id that it gives, and that another user has.
    var externalID: String?

    package init(
        row: Int, _ status: Status, code: String? = nil, detail: String? = nil,
        targetType: String? = nil, targetID: UUID? = nil, effect: JSONValue? = nil
    ) {
        self.row = row
        self.status = status
        self.code = code
        self.detail = detail
        self.targetType = targetType
        self.targetID = targetID
        self.effect = effect
    }

    static let columns: SQL = "row, status, code, detail, target_type, target_id, effect::text"

    init(_ found: Row) throws(PostgresError) {
        guard let status = Status(rawValue: try found.get(1)) else {
            throw PostgresError(.decoding, "status")
        }
        self.init(
            row: try found.get(0), status, code: try found.get(2), detail: try found.get(3),
            targetType: try found.get(4), targetID: try found.get(5))
        if case let effect = try found.json(6), effect != .null { self.effect = effect }
    }

    /// `columns` and, of a row that failed since its user was merged, the winner.
    static func reported(in tenant: UUID) -> SQL {
        """
        \(columns), CASE WHEN target_type = 'user' AND code = 'conflict' THEN
            (SELECT m.user_id FROM merged_users m
                WHERE m.tenant_id = \(tenant) AND m.id = target_id) END
        """
    }

    /// From `reported`.
    static func ofReport(_ found: Row) throws(PostgresError) -> JobResult {
        var result = try JobResult(found)
        result.conflictingID = try found.get(7)
        return result
    }
}
