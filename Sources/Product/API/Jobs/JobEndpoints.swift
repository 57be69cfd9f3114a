import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/tenants/{tenant}/jobs`, and `/v1/jobs` for the platform: work that goes on after its
/// request.
struct JobEndpoints: Sendable {
    static let all: [Endpoint] =
        JobEndpoints(isPlatform: false).endpoints + JobEndpoints(isPlatform: true).endpoints

    let isPlatform: Bool

    var path: String { isPlatform ? "/v1/jobs" : "/v1/tenants/{tenant}/jobs" }
    var access: Access { isPlatform ? .platform(.readUsers) : .right(.readUsers) }

    private var endpoints: [Endpoint] {
        [list, get, report, events]
            + [
                act("pause", "Lets the batch at hand end and begins no further.") {
                    change, job, _ in
                    try await change.pauseJob(job)
                },
                act("resume", "Goes on, in the caller's name.") { change, job, call in
                    try await change.resumeJob(job, by: call.jobMaker)
                },
                act("cancel", "Ends it; what is done stays, and can be undone.") { change, job, _ in
                    try await change.cancelJob(job)
                },
                act("undo", "Takes back what it did, but for what has changed since.") {
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
                ? "The jobs of all tenants, newest first."
                : "The tenant's jobs, newest first.",
            access: access,
            query: QueryParameter.list(sorts: ["-created_at", "created_at"])
                + [
                    QueryParameter("status", .enumeration(of: JobRow.Status.self)),
                    QueryParameter("kind", .string(min: 1, max: 64), "Only of this kind."),
                ],
            answers: [.list(JobRow.shape)], mayLag: true
        ) { call in
            let filter = JobFilter(
                status: call.query.optionalString("status").flatMap(JobRow.Status.init),
                kind: call.query.optionalString("kind"))
            let query = try call.listQuery()
            let page =
                isPlatform
                ? try await call.services.database.jobs(query, filter)
                : try await call.scope.jobs(query, filter)
            return call.list(page) { $0.write(to: &$1, at: call.now) }
        }
    }

    private var get: Endpoint {
        Endpoint(
            .get, path + "/{id}", id: operation("get"), tag: "Jobs", summary: "One job.",
            access: access, answers: [.ok(JobRow.shape)]
        ) { call in
            let (_, job) = try await find(call)
            return .ok(job.json(at: call.now), etag: job.etag)
        }
    }

    /// Acting on a job needs what the job itself needs.
    private func act(
        _ verb: String, _ summary: String,
        _ body: @escaping @Sendable (Change, JobRow, Call) async throws -> JobRow
    ) -> Endpoint {
        let undoes = sameBytes(verb, "undo")
        return Endpoint(
            .post, path + "/{id}/\(verb)", id: operation(verb), tag: "Jobs", summary: summary,
            access: access, answers: [.ok(JobRow.shape)], problems: [.jobState], idempotent: true,
            exists: exists
        ) { call in
            let (scope, _) = try await find(call)
            let id = try call.id()
            let kinds = call.services.jobKinds
            do {
                let row = try await scope.change(by: call.actor) { change in
                    let job = try await change.lockJob(id)
                    guard let kind = kinds.named(job.kind) else {
                        throw Problem(.jobState, "This version does not know the job's kind.")
                    }
                    var asked = job
                    // A rule's own job needs no right; who acts on it does.
                    asked.maker = call.jobMaker
                    if undoes { asked.isUndoing = true }
                    try require(call, kind.rights(asked), on: job)
                    let row = try await body(change, job, call)
                    if !row.status.isLive { try await kind.ended(change, row) }
                    return row
                }
                return .ok(row.json(at: call.now), etag: row.etag)
            } catch let wrong as WrongJobState {
                throw Problem(.jobState, wrong.detail)
            }
        }
    }

    /// Who has a right over own objects alone acts on own jobs alone.
    private func require(_ call: Call, _ rights: [Right], on job: JobRow) throws {
        let who = call.principal
        let isOwn = sameBytes(job.createdByID, who.id?.description ?? "")
        let target = PermissionTarget(ownerID: isOwn ? who.subject.selfID : nil)
        for right in rights {
            let permission = Permissions.permits(
                who.subject, right, in: job.tenant, target: target)
            guard permission == .allowed else {
                throw Problem.forbidden("The right \(right.rawValue) is missing.")
            }
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

    /// The path's job and its tenant's rows.
    func find(_ call: Call) async throws -> (TenantScope, JobRow) {
        let id = try call.id()
        let database = try call.services.database
        let tenant: UUID? =
            isPlatform ? try await database.tenant(ofJob: id) : try call.tenant.id
        guard let tenant, let job = try await database.scope(tenant).job(id) else {
            throw Problem.notFound("job")
        }
        return (database.scope(tenant), job)
    }
}
