import Domain
import JSON
import Storage
import Text

/// The job kind that creates the invites of a list that is too long for one response.
struct InviteJobs: JobKind {
    static let name = "invites"

    var name: String { Self.name }

    func rights(_ job: JobRow) -> [Right] { [.manageInvites] }

    /// Creates the invites of one batch. The addresses are locked in a fixed order, as for a list
    /// in a request, so that two transactions cannot deadlock.
    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        let rows = try await work.waiting()
        let inviting = try await inviting(rows, work, application)
        var left = try await work.change.mailsLeft(.invite)
        var quotas = try await work.change.inviteQuotas()
        var results: [JobResult] = []
        for row in rows.sorted(by: { Self.order($0) < Self.order($1) }) {
            let result = try await work.row(row.row) {
                // The input is missing if the person was purged meanwhile.
                guard let input = Input(object: row.input) else { throw Problem.notFound("row") }
                var request = try InviteAsking.request(input, inviting)
                request.mailsLeft = left
                request.quotas = quotas
                return try await invite(request, row.row, work.change, application)
            }
            if result.status == .done {
                left -= 1
                quotas.use()
            }
            results.append(result)
        }
        return JobStep(results, isLast: rows.count < work.limit)
    }

    private func inviting(
        _ rows: [WaitingRow], _ work: JobWork, _ application: Application
    ) async throws -> Inviting {
        let inputs = rows.compactMap { Input(object: $0.input) }
        let tenant = work.job.tenant
        return Inviting(
            principal: work.principal, tenant: tenant, application: application,
            now: work.change.now,
            returns: try await ReturnAddress.allowed(inputs, of: tenant, application))
    }

    private static func order(_ row: WaitingRow) -> (String, Int) {
        (row.input["email"]?.string?.lowercased() ?? "", row.row)
    }

    private func invite(
        _ request: InviteRequest, _ row: Int, _ change: Change, _ application: Application
    ) async throws -> JobResult {
        let made = try await change.invite(request)
        _ = try await InviteAsking.posted(made, change, application.database, application.publicURL)
        // An existing invite was not created by the job, so an undo must not revoke it.
        return JobResult(
            row: row, made.outcome == .existing ? .unchanged : .done,
            targetType: "invite", targetID: made.invite.id,
            effect: made.outcome == .created ? .object([]) : nil)
    }

    /// Revokes the invite if it is still pending or has expired.
    func undo(
        _ row: JobResult, _ work: JobWork, _ application: Application
    ) async throws -> JobResult {
        guard let id = row.targetID else { throw Problem.notFound("invite") }
        let invite = try await work.change.lockInvite(id)
        try InviteEndpoints.requireRole(
            work.principal, invite.role, in: work.job.tenant, isGiven: false)
        let status = invite.status(at: work.change.now)
        guard status == .pending || status == .expired else {
            return JobResult(
                row: row.row, .kept, code: "changed",
                detail: "The invite is \(status.rawValue).")
        }
        _ = try await work.change.revoke(invite)
        return JobResult(row: row.row, .undone)
    }

    /// The maximum number of invites that are created in the request itself. A longer list, of up
    /// to `most`, becomes a job.
    static let atOnce = 1000
    static let most = 10_000

    /// Creates the job for a list. Its mails are sent as the rows are processed. Every invite must
    /// be sent by mail, since the job's report never shows a link.
    static func begin(_ inputs: [Input], _ call: Call) async throws -> JobRow {
        let faults = inputs.enumerated().compactMap { index, input in
            InviteAsking.delivery(input, call.application) == .mail
                ? nil
                : FieldError(
                    "/invites/\(index)/delivery", .notAllowed,
                    "shows a link, which is not possible for a list of over \(atOnce); send it by "
                        + "mail, or send lists of at most \(atOnce)")
        }
        if !faults.isEmpty { throw Problem.invalid(faults) }
        // To send invites again, the caller must prove presence, since an invite may be for an
        // admin.
        if !call.isDryRun, inputs.contains(where: { $0.flag("resend") }) {
            try call.requireRecentSignIn(for: "To send many invites again")
        }
        let rows = inputs.enumerated().map { index, input in
            (
                row: index + 1,
                emailKey: (try? EmailAddress(input.optionalString("email") ?? ""))?.key ?? "",
                input: JSONValue.object(input.members)
            )
        }
        await call.database.analyzeGrownTables()
        return try await call.making { change in
            let job = try await change.createJob(
                name, .object([]), total: rows.count, by: call.jobMaker, isDryRun: call.isDryRun)
            try await change.addRows(to: job.id, rows)
            return job
        }
    }
}
