import Domain
import JSON
import Postgres
import Text

/// Work on many rows that goes on after its request was answered.
package struct JobRow: ListedRow {
    package enum Status: String, Sendable, CaseIterable {
        case queued, running, paused, cancelled, done, failed, undone

        /// Whether something is still to be done.
        package var isLive: Bool { [.queued, .running, .paused].contains(self) }
    }

    package var id: UUID
    package var tenant: UUID
    package var kind: String
    package var status: Status
    package var isDryRun: Bool
    /// Its effects are being taken back.
    package var isUndoing: Bool
    /// Nil: not known yet.
    package var total: Int?
    package var done: Int
    package var failed: Int
    package var undone: Int
    /// Rows that an undo left as they are.
    package var kept: Int
    /// What was asked; it never changes.
    package var parameters: JSONValue
    /// How far its kind is, beside the position.
    package var state: JSONValue
    package var position: Int
    /// Why it is paused (`JobPause`) or failed; nil otherwise.
    package var reason: String?
    package var attempts: Int
    package var createdByType: String
    package var createdByID: String
    package var createdByName: String
    /// Whose rights are asked at each batch.
    package var maker: JobMaker
    package var fence: Int
    /// Microseconds in which a runner had it.
    package var worked: Int
    package var version: Int
    package var createdAt: Timestamp
    package var startedAt: Timestamp?
    package var finishedAt: Timestamp?
    /// Exclusive; nil: there is nothing to undo.
    package var undoUntil: Timestamp?

    /// Seconds for which job, rows and undo last after its end.
    package static let keptSeconds: Int64 = 30 * 86_400

    static let columns: SQL =
        """
        id, tenant_id, kind, status, dry_run, is_undoing, total, done, failed, undone, kept,
        parameters::text, state::text, position, reason, attempts, created_by_type, created_by_id,
        created_by_name, actor_type, actor_id, actor_name, actor_home, fence, worked_us, version,
        created_at, started_at, finished_at, undo_until
        """

    init(_ row: Row) throws(PostgresError) {
        (id, tenant, kind) = (try row.get(0), try row.get(1), try row.get(2))
        guard let status = Status(rawValue: try row.get(3)) else {
            throw PostgresError(.decoding, "status")
        }
        self.status = status
        (isDryRun, isUndoing, total) = (try row.get(4), try row.get(5), try row.get(6))
        (done, failed, undone, kept) = (
            try row.get(7), try row.get(8), try row.get(9), try row.get(10)
        )
        (parameters, state) = (try row.json(11), try row.json(12))
        (position, reason, attempts) = (try row.get(13), try row.get(14), try row.get(15))
        (createdByType, createdByID) = (try row.get(16), try row.get(17))
        createdByName = try row.get(18)
        maker = JobMaker(
            type: try row.get(19), id: try row.get(20), name: try row.get(21),
            home: try row.get(22))
        (fence, worked, version) = (try row.get(23), try row.get(24), try row.get(25))
        (createdAt, startedAt) = (try row.get(26), try row.get(27))
        (finishedAt, undoUntil) = (try row.get(28), try row.get(29))
    }

    /// Its place in the audit.
    package var target: AuditTarget { AuditTarget("job", id, kind) }
}
