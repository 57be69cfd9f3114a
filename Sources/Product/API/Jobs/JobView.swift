import Domain
import HTTP
import JSON
import Storage
import Text

extension JobRow {
    /// The name of the parameter that contains the notes on the whole file. They were written when
    /// the file was received.
    static let notesMember = "notes"

    func write(to json: inout JSONWriter, at now: Timestamp) {
        json.object {
            $0.member("id", id)
            $0.member("tenant_id", tenant)
            $0.member("kind", kind)
            $0.member("status", status)
            $0.member("undoing", isUndoing)
            $0.member("reason", reason)
            $0.member("dry_run", isDryRun)
            $0.member("notes", parameters[Self.notesMember] ?? .array([]))
            $0.object("progress") {
                $0.member("done", done)
                $0.member("failed", failed)
                $0.member("total", total)
                $0.member("rate", rate.map { JSONValue.number("\($0)") } ?? .null)
                $0.member("eta", eta(at: now))
            }
            $0.member("undone", undone)
            $0.member("kept", kept)
            $0.object("created_by") {
                $0.member("type", createdByType)
                $0.member("id", createdByID)
                $0.member("name", createdByName)
            }
            $0.member("created_at", createdAt)
            $0.member("started_at", startedAt)
            $0.member("finished_at", finishedAt)
            $0.member("undo_until", undoUntil)
        }
    }

    func json(at now: Timestamp) -> JSONValue { .written { write(to: &$0, at: now) } }

    var etag: String { ETag.version(version) }

    /// The number of rows that were processed; during an undo, the number that were undone or kept.
    private var handled: Int { isUndoing ? undone + kept : done + failed }

    /// The speed in rows per second, rounded to a tenth; `nil` before the first batch.
    private var rate: Double? {
        guard worked > 0, handled > 0 else { return nil }
        return (Double(handled) / (Double(worked) / 1_000_000) * 10).rounded() / 10
    }

    private func eta(at now: Timestamp) -> Timestamp? {
        guard status == .running, let total, let rate, rate > 0 else { return nil }
        let left = max(0, isUndoing ? done - handled : total - handled)
        return now.adding(seconds: Int64((Double(left) / rate).rounded(.up)))
    }

    private static let count = Kind.integer(0...Int.max)

    static let shape = ObjectShape(
        "Job", versioned: true,
        [
            .readOnly("id", .uuid, "The job's id."),
            .readOnly("tenant_id", .uuid, "The id of the tenant whose objects the job works on."),
            .readOnly("kind", .string(), "The kind of the job, for example `users_actions`."),
            .readOnly(
                "status", .enumeration(of: JobRow.Status.self),
                "`queued`: the job waits until it is run. `running`: it works on its rows. "
                    + "`paused`: it has stopped for now, see `reason`. `cancelled`: it was stopped "
                    + "before its end. `done`: it has worked on all rows, of which some may have "
                    + "failed. `failed`: it broke off, see `reason`. `undone`: its changes were "
                    + "undone, except those of `kept` rows."),
            .readOnly("undoing", .bool, "Whether the job's changes are being undone."),
            .readOnly(
                "reason", .string(), nullable: true,
                "Why the job is paused (`requested`, `tenant_suspended` or `rights_lost`) or why "
                    + "it failed; otherwise `null`."),
            .readOnly("dry_run", .bool, "Whether the job only reports what would happen."),
            .readOnly(
                "notes", .array(of: .string()),
                "Notes on an import's file as a whole, for example columns that are not imported."
            ),
            .readOnly("progress", .object(progress), "The progress of the job."),
            .readOnly("undone", count, "The number of rows whose changes were undone."),
            .readOnly("kept", count, "The number of rows whose changes an undo kept."),
            .readOnly(
                "created_by",
                .object(
                    ObjectShape(
                        "JobMaker",
                        [
                            .readOnly(
                                "type", .string(),
                                "The kind of creator: `operator`, `user`, `key` (an API key) or "
                                    + "`system` (Gatehouse itself)."),
                            .readOnly(
                                "id", .string(),
                                "The id of the operator, user or API key; `gatehouse` for "
                                    + "Gatehouse itself."),
                            .readOnly(
                                "name", .string(),
                                "The creator's name or email address when the job was created."),
                        ])), "Who created the job."),
            .readOnly("created_at", .timestamp, "When the job was created."),
            .readOnly(
                "started_at", .timestamp, nullable: true,
                "When the job began; `null` if it has not begun."),
            .readOnly(
                "finished_at", .timestamp, nullable: true,
                "When the job or, after an undo, the undo ended; `null` until then."),
            .readOnly(
                "undo_until", .timestamp, nullable: true,
                "Until when the job can be undone; `null` before its end, or if there is nothing "
                    + "to undo."),
        ])

    private static let progress = ObjectShape(
        "JobProgress",
        [
            .readOnly(
                "done", count,
                "The number of rows that were done, or that needed no change."),
            .readOnly("failed", count, "The number of rows that were refused."),
            .readOnly(
                "total", count, nullable: true,
                "The number of all rows; `null` while unknown."),
            .readOnly(
                "rate", .any, nullable: true,
                "Rows per second. It is measured from batch to batch, so it is `null` until the "
                    + "second batch, and stays `null` for a job of one batch."
            ).typed("number"),
            .readOnly(
                "eta", .timestamp, nullable: true,
                "When the job is expected to end; `null` if it is not running, or if `total` or "
                    + "`rate` is `null`."),
        ])
}

extension Call {
    /// The caller as the creator of a job that this call creates or acts on. The job acts in the
    /// caller's name.
    var jobMaker: JobMaker {
        JobMaker(
            type: actor.type, id: actor.id, name: actor.name, home: principal.tenant)
    }
}

extension Response {
    /// A 202 response with a job that was just created.
    static func accepted(_ job: JobRow, _ call: Call) -> Response {
        accepted(
            job.json(at: call.now), at: "/v1/tenants/\(job.tenant)/jobs/\(job.id)", etag: job.etag)
    }
}

extension JobResult: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("row", row)
            $0.member("status", status)
            $0.member("code", code)
            $0.member("detail", detail)
            $0.member("target_type", targetType)
            $0.member("target_id", targetID)
            $0.member("conflicting_id", conflictingID)
        }
    }

    static let shape = ObjectShape(
        "JobResult",
        [
            .readOnly(
                "row", .integer(1...Int.max),
                "The number of the row, from 1. The header line of a CSV file does not count."),
            .readOnly(
                "status", .enumeration(of: JobResult.Status.self),
                "`waiting`: the job has not reached the row yet. `done`: the row was changed or, "
                    + "in a dry run, would be. `unchanged`: nothing was changed. `failed`: "
                    + "the row was refused, see `code`. `undone`: an undo took the change back. "
                    + "`kept`: an undo left the change as it is, see `code`."),
            .readOnly(
                "code", .string(), nullable: true,
                "Why the row failed or was left unchanged, or why an undo kept the change, as a "
                    + "stable code; `null` if there is none."),
            .readOnly(
                "detail", .string(), nullable: true,
                "An explanation of the result for people to read; `null` if there is none."),
            .readOnly(
                "target_type", .string(), nullable: true,
                "The type of the object, for example `user`, `invite` or `api_key`; `null` if the "
                    + "row has no object."),
            .readOnly(
                "target_id", .uuid, nullable: true,
                "The id of the object; `null` if the row has no object. If a dry run would create "
                    + "the object, no object with this id exists."),
            .readOnly(
                "conflicting_id", .uuid, nullable: true,
                "If the row failed because its user was merged into another: the id of the other "
                    + "user. Otherwise `null`."),
        ])
}
