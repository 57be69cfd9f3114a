import Domain
import HTTP
import JSON
import Runtime
import Storage
import Synchronization
import Text

/// `/v1/tenants/{tenant}/jobs`, and `/v1/jobs` for the platform: work that continues after the
/// response to the request that created it.
package struct JobEndpoints: Sendable {
    package static let all: [Endpoint] =
        JobEndpoints(isPlatform: false).endpoints + JobEndpoints(isPlatform: true).endpoints

    let isPlatform: Bool

    var path: String { isPlatform ? "/v1/jobs" : "/v1/tenants/{tenant}/jobs" }
    var access: Access { isPlatform ? .platform(.readUsers) : .right(.readUsers) }

    private var endpoints: [Endpoint] {
        [list, get, report, events]
            + [
                act("pause", "Pauses a job after its current batch of rows.") {
                    change, job, _ in
                    try await change.pauseJob(job)
                },
                act("resume", "Resumes a paused job, which then acts with the caller's rights.") {
                    change, job, call in
                    try await change.resumeJob(job, by: call.jobMaker)
                },
                act(
                    "cancel",
                    "Cancels a job. Changes that the job already made stay. They can be undone if "
                        + "`undo_until` is not `null`."
                ) {
                    change, job, _ in
                    try await change.cancelJob(job)
                },
                act(
                    "undo",
                    "Undoes the changes that a job made. Objects that were changed again after "
                        + "the job's change stay as they are."
                ) {
                    change, job, call in try await change.undoJob(job, by: call.jobMaker)
                },
            ]
    }

    func operation(_ verb: String, _ noun: String = "Job") -> String {
        verb + (isPlatform ? "Platform" : "") + noun
    }

    private var list: Endpoint {
        Endpoint(
            .get, path, id: operation("list", "Jobs"), tag: "Jobs",
            summary: isPlatform
                ? "Lists the jobs of all tenants, newest first."
                : "Lists the tenant's jobs, newest first.",
            access: access,
            query: QueryParameter.list(sorts: ["-created_at", "created_at"])
                + [
                    QueryParameter(
                        "status", .enumeration(of: JobRow.Status.self),
                        "Only jobs with this status."),
                    QueryParameter("kind", .string(min: 1, max: 64), "Only jobs of this kind."),
                ],
            answers: [.list(JobRow.shape)], mayLag: true
        ) { call in
            let filter = JobFilter(
                status: call.query.optionalString("status").flatMap(JobRow.Status.init),
                kind: call.query.optionalString("kind"))
            let query = try call.listQuery()
            let page =
                isPlatform
                ? try await call.database.jobs(query, filter)
                : try await call.scope.jobs(query, filter)
            return call.list(page) { $0.write(to: &$1, at: call.now) }
        }
    }

    private var get: Endpoint {
        Endpoint(
            .get, path + "/{id}", id: operation("get"), tag: "Jobs", summary: "Returns one job.",
            access: access, answers: [.ok(JobRow.shape)]
        ) { call in
            let (_, job) = try await find(call)
            return .ok(job.json(at: call.now), etag: job.etag)
        }
    }

    /// An endpoint that acts on a job. Its caller needs the same rights as the creator of the job.
    private func act(
        _ verb: String, _ summary: String,
        _ body: @escaping @Sendable (Change, JobRow, Call) async throws -> JobRow
    ) -> Endpoint {
        let undoes = sameBytes(verb, "undo")
        return Endpoint(
            .post, path + "/{id}/\(verb)", id: operation(verb), tag: "Jobs", summary: summary,
            notes: Self.rightsText, access: access,
            answers: [.ok(JobRow.shape).showing(Self.shown(after: verb))],
            problems: [.jobState], idempotent: true, exists: exists
        ) { call in
            let (scope, _) = try await find(call)
            let id = try call.id()
            let kinds = JobKinds.all
            let row = try await scope.change(by: call.actor) { change in
                let job = try await change.lockJob(id)
                guard let kind = kinds.named(job.kind) else {
                    throw Problem(
                        .jobState,
                        "This version of the service does not know the job's kind.")
                }
                var asked = job
                // A caller who acts on a job of an inactivity rule needs rights, although the
                // service, which created the job, needs none. The caller is therefore set as the
                // maker when the rights are read.
                asked.maker = call.jobMaker
                if undoes { asked.isUndoing = true }
                try require(call, kind.rights(asked), on: job)
                let row = try await body(change, job, call)
                if !row.status.isLive { try await kind.ended(change, row) }
                return row
            }
            return .ok(row.json(at: call.now), etag: row.etag)
        }
    }

    /// The members of a job that show that it was paused, cancelled or undone.
    private static func shown(after verb: String) -> [String: JSONValue?] {
        switch verb {
        case "pause": ["status": .string("paused"), "reason": .string("requested")]
        case "cancel":
            [
                "status": .string("cancelled"),
                "finished_at": .string("2026-11-20T09:31:00.000Z"),
            ]
        case "undo":
            [
                "undoing": .bool(true),
                "progress": .object([
                    .init("done", .int(5000)), .init("failed", .int(0)),
                    .init("total", .int(5000)), .init("rate", .null), .init("eta", .null),
                ]),
                "started_at": .string("2026-11-20T09:30:01.000Z"),
                "undo_until": .string("2026-12-20T09:31:00.000Z"),
            ]
        default: [:]
        }
    }

    private static let rightsText = """
        The caller also needs the scope that the kind of the job needs: `users:write` for \
        `import`, `inactivity` and `users_actions` (for the action `revoke_keys`: \
        `api-keys:write`), `invites:write` for `invites` and `invites_actions`, `api-keys:write` \
        for `api_keys_actions`.
        """

    /// Throws 403 unless the caller has the rights on the job. A caller who has a right only over
    /// its own objects may act only on its own jobs.
    private func require(_ call: Call, _ rights: [Right], on job: JobRow) throws {
        let who = call.principal
        let isOwn = sameBytes(job.createdByID, who.id?.description ?? "")
        let target = PermissionTarget(ownerID: isOwn ? who.subject.selfID : nil)
        for right in rights {
            let permission = Permissions.permits(
                who.subject, right, in: job.tenant, target: target)
            guard permission == .allowed else { throw Problem.missing(right, permission) }
        }
    }

    @Sendable func exists(_ call: Call) async throws -> Bool {
        do {
            _ = try await find(call)
            return true
        } catch let problem as Problem where problem.code == .notFound {
            return false
        }
    }

    /// The job that the path names, and the scope of its tenant.
    func find(_ call: Call) async throws -> (TenantScope, JobRow) {
        let id = try call.id()
        let tenant: UUID? =
            isPlatform ? try await call.database.tenant(ofJob: id) : try call.tenant.id
        guard let tenant, let job = try await call.database.scope(tenant).job(id) else {
            throw Problem.notFound("job")
        }
        return (call.database.scope(tenant), job)
    }
}

extension JobEndpoints {
    private static let eventsText = """
        The first event comes at once, the next ones when the job has changed, at most one a \
        second. Between them there are comments (lines that begin with `:`).

        ```
        retry: 2000
        id: 4
        event: progress
        data: {"id":"3f2b8c1e-6a4d-4f0e-9b7a-2c5d8e1f4a6b","kind":"import","status":"running",…}
        ```

        `event`: `progress` while the job is `queued`, `running` or `paused`; `end` in the last \
        event, after which the stream ends. `id`: the version of the job. `retry`: the \
        milliseconds after which a browser connects again. A stream also ends after 10 minutes: \
        connect again if `end` has not come. A new stream begins with the job as it is then; the \
        header field `Last-Event-ID` has no effect.
        """

    /// The endpoint that reports the progress as Server-Sent Events.
    var events: Endpoint {
        Endpoint(
            .get, path + "/{id}/events", id: operation("get", "JobEvents"), tag: "Jobs",
            summary: "Streams the job's progress as Server-Sent Events until the job ends. Each "
                + "event's data is the job.",
            notes: Self.eventsText, access: access,
            answers: [Answer(200, .other([.events]))],
            problems: [.rateLimited], isStream: true
        ) { call in
            let (scope, job) = try await find(call)
            let events = JobEvents(scope, job)
            return Response(
                200,
                fields: [
                    Field("content-type", "text/event-stream"),
                    Field("cache-control", "no-store"), Field("x-accel-buffering", "no"),
                ], body: .stream { try await events.next() })
        }
    }
}

/// The events of one stream. The job is read from the database once a second, because another
/// replica may run it.
private final class JobEvents: Sendable {
    private struct State {
        var first: JobRow?
        var version = 0
        var silent = 0
        var isOver = false
    }

    private static let interval: Duration = .seconds(1)
    /// The number of seconds without an event after which a comment is sent. The comment keeps
    /// proxies from closing the connection. It also reveals that a client has disconnected, so that
    /// its stream no longer counts against the limit.
    private static let heartbeat = 2

    private let scope: TenantScope
    private let id: UUID
    private let state: Mutex<State>

    init(_ scope: TenantScope, _ job: JobRow) {
        self.scope = scope
        id = job.id
        state = Mutex(State(first: job))
    }

    func next() async throws -> [UInt8]? {
        if state.withLock({ $0.isOver }) { return nil }
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { return event(first, start: "retry: 2000\n") }
        await EventLoop.pause(Self.interval)
        guard let job = try await scope.job(id) else {
            state.withLock { $0.isOver = true }
            return nil
        }
        let isNew = state.withLock { $0.version != job.version }
        if isNew { return event(job) }
        let isDue = state.withLock { state in
            state.silent += 1
            if state.silent < Self.heartbeat { return false }
            state.silent = 0
            return true
        }
        return isDue ? Array(":\n\n".utf8) : []
    }

    /// The text of an event. The last event of a stream reports the end of the job.
    private func event(_ job: JobRow, start: String = "") -> [UInt8] {
        state.withLock { state in
            state.version = job.version
            state.silent = 0
            state.isOver = !job.status.isLive
        }
        let data = String(
            decoding: job.json(at: scope.database.clock()).encoded(), as: UTF8.self)
        let name = job.status.isLive ? "progress" : "end"
        return Array("\(start)id: \(job.version)\nevent: \(name)\ndata: \(data)\n\n".utf8)
    }
}

extension JobEndpoints {
    /// The endpoint that returns the result of each row. As for every list, `Accept` can request a
    /// file.
    var report: Endpoint {
        Endpoint(
            .get, path + "/{id}/report", id: operation("get", "JobReport"), tag: "Jobs",
            summary:
                "Returns the result of each row of the job, in the order of the rows; as a file if "
                + "`Accept` asks for one.",
            access: access,
            query: [
                .limit, .cursor,
                QueryParameter(
                    "status", .enumeration(of: JobResult.Status.self), "Only rows with this status."
                ),
            ],
            answers: [.list(JobResult.shape)], exists: exists
        ) { call in
            let (scope, job) = try await find(call)
            let page = try call.page(defaultSort: "row")
            let status = call.query.optionalString("status").flatMap(JobResult.Status.init)
            let found = try await scope.results(
                of: job.id, after: page.after.flatMap { Int($0.key) } ?? 0,
                limit: page.limit + 1, status: status)
            let rows = found.prefix(page.limit)
            let next = found.count > page.limit ? rows.last : nil
            var total = call.export != nil ? Total(0, exact: false) : page.after?.total
            if total == nil {
                let counted = try await scope.resultCount(of: job.id, status: status)
                total = Total(counted.value, exact: counted.exact)
            }
            return call.list(
                rows, next: next.map { Cursor(key: "\($0.row)", id: job.id) },
                total: total ?? Total(0)
            ) { $0.write(to: &$1) }
        }
    }
}
