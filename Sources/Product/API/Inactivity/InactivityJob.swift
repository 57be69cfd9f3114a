import Domain
import JSON
import Storage
import Text

/// One day's run of a tenant's inactivity rule. It warns, suspends and deletes users who are due,
/// in the order of their ids, up to the day's maximum number. Each batch reads the policy again, so
/// that switching the rule off stops the job.
struct InactivityJob: JobKind {
    static let kind = "inactivity"
    /// The reason for the job's actions, as the audit log and a suspended user's object show it.
    static let reason = "inactivity"
    /// The number of users that one page reads. `pages` is the number of pages in one batch.
    static let page = 500
    static let pages = 10

    let name: String = kind

    /// The rights that a caller needs to act on the job. For an undo, these are the rights to
    /// resume and restore users; otherwise, the rights to suspend and delete them. A job that the
    /// service created needs no rights while it runs.
    func rights(_ job: JobRow) -> [Right] {
        if job.isUndoing { return [.resumeUsers, .restoreUsers] }
        return job.maker.isSystem ? [] : [.suspendUsers, .deleteUsers]
    }

    func step(_ work: JobWork, _ application: Application) async throws -> JobStep {
        guard let standing = try await work.change.standingInactivity() else {
            return last([], of: work)
        }
        var batch = try await InactivityBatch(work, application, standing)
        try await batch.run()
        try await work.change.count(
            inactivityActs: batch.results.count { $0.status != .failed })
        if batch.isOver { return last(batch.results, of: work) }
        return JobStep(batch.results, state: batch.state, isLast: false)
    }

    private func last(_ results: [JobResult], of work: JobWork) -> JobStep {
        let total = work.job.done + work.job.failed + results.count
        return JobStep(results, total: total, isLast: true)
    }

    /// Undoes the row as a bulk action on users does. A warning is a mail, which cannot be undone.
    func undo(
        _ row: JobResult, _ work: JobWork, _ application: Application
    ) async throws -> JobResult {
        guard let verb = row.effect?["act"]?.string.flatMap(UserAction.Verb.init) else {
            return JobResult(row: row.row, .kept, code: "no_undo")
        }
        let place = BulkContext(
            change: work.change, principal: work.principal, application: application)
        return try await UserAction(verb, reason: nil, role: nil).undo(row, at: place)
    }
}

/// One batch of the job: several pages of users, in one transaction.
private struct InactivityBatch {
    let work: JobWork
    let place: BulkContext
    let standing: StandingInactivity
    /// The maximum number of users to act on in this day's run. The job's first batch computes it.
    let cap: Int
    /// The number of users that the job may still act on.
    let left: Int
    /// The number of users that may still be warned.
    var warnings: Int
    var cursor: UUID?
    var results: [JobResult] = []
    var isOver = false

    private var change: Change { work.change }

    init(_ work: JobWork, _ application: Application, _ standing: StandingInactivity) async throws {
        self.work = work
        self.standing = standing
        place = BulkContext(
            change: work.change, principal: work.principal, application: application)
        let counted = work.job.state["cap"]?.int
        cap = if let counted { counted } else { try await work.change.inactivityCap() }
        left = min(
            cap - (try await work.change.inactivityActs()), cap - work.job.done - work.job.failed)
        warnings = try await work.change.warningsLeft()
        cursor = work.job.state["after"]?.string.flatMap { UUID($0) }
    }

    var state: JSONValue {
        .object([
            .init("cap", .int(cap)),
            .init("after", cursor.map { .string($0.description) } ?? .null),
        ])
    }

    mutating func run() async throws {
        for _ in 0..<InactivityJob.pages {
            let page = try await change.inactiveUsers(
                after: cursor, limit: InactivityJob.page,
                activeUntil: standing.latest(at: change.now))
            for user in page.users where step(for: user.facts) != nil {
                if results.count >= left {
                    isOver = true
                    return
                }
                if results.count >= work.limit { return }
                if let result = try await act(on: user.id) { results.append(result) }
                cursor = user.id
            }
            guard let end = page.end else {
                isOver = true
                return
            }
            cursor = end
        }
    }

    /// The step that is due for a user; `nil` if there is none. If no more mails may be sent in
    /// this hour, the step is `nil` for a user who is due for a warning. The user is then warned on
    /// another day.
    private func step(for facts: InactivityFacts) -> InactivityRule.Step? {
        let step = standing.rule.step(
            for: facts, since: standing.since, at: change.now, mails: place.application.sendsMail)
        return step == .warn && warnings <= 0 ? nil : step
    }

    /// Locks the user and checks again which step is due, since the user may just have signed in.
    /// Then performs the step; returns `nil` if none is due any more.
    private mutating func act(on id: UUID) async throws -> JobResult? {
        guard
            let (row, facts) = try await change.lockInactive(
                id, activeUntil: standing.latest(at: change.now)),
            let step = step(for: facts)
        else { return nil }
        let batch = self
        if step == .warn { warnings -= 1 }
        return try await work.row(number) {
            switch step {
            case .warn: try await batch.warn(row, facts)
            case .suspend: try await batch.apply(.suspend, to: row)
            case .delete: try await batch.apply(.delete, to: row)
            }
        }
    }

    private var number: Int { work.job.position + results.count + 1 }

    private func warn(_ row: UserRow, _ facts: InactivityFacts) async throws -> JobResult {
        let isSent = try await change.warnOfInactivity(
            row,
            suspension: standing.rule.suspension(
                of: facts, since: standing.since, warnedAt: change.now),
            left: warnings)
        return JobResult(
            row: number, isSent ? .done : .unchanged, code: isSent ? nil : "no_mail_server",
            detail: isSent ? "Warned by mail." : "Not warned: no mail server is set.",
            targetType: UserAction.target, targetID: row.id)
    }

    private func apply(_ verb: UserAction.Verb, to row: UserRow) async throws -> JobResult {
        let action = UserAction(verb, reason: InactivityJob.reason, role: nil)
        var result = try await action.apply(to: row, row: number, at: place)
        result.detail = verb == .suspend ? "Suspended." : "Deleted."
        if case .object(let members) = result.effect {
            result.effect = .object(members + [.init("act", .string(verb.rawValue))])
        }
        if verb == .suspend, let version = result.effect?["version"]?.int {
            try await change.noteInactivitySuspension(of: row.id, version: version)
        }
        return result
    }
}

/// Creates a job once per UTC day for each active tenant that has an inactivity rule and a user who
/// is due. Any number of replicas may run this; only one of them creates the job.
package struct InactivityRounds: Sendable {
    /// The number of tenants that one query returns.
    private static let tenants = 100

    private let database: Database

    package init(database: Database) { self.database = database }

    /// Begins the day for each tenant whose day is due. If this fails for a tenant, the next round
    /// tries again. The last error is thrown after all tenants were handled.
    package func round() async throws {
        var last: UUID?
        var failure: (any Error)?
        repeat {
            let found = try await database.tenantsWithInactivity(after: last, limit: Self.tenants)
            for tenant in found where tenant.isDue {
                do { try await beginDay(of: tenant.id) } catch { failure = error }
            }
            last = found.count == Self.tenants ? found.last?.id : nil
        } while last != nil
        if let failure { throw failure }
    }

    /// Creates the tenant's job for today if a user is due. If the tenant has reached its limit of
    /// jobs, the next round tries again.
    private func beginDay(of tenant: UUID) async throws {
        let isDue = try await isAnyUserDue(in: tenant)
        do {
            try await database.scope(tenant).change(by: .system) { change in
                guard try await change.beginInactivityDay(), isDue else { return }
                // No second job is created while one is unfinished, such as a paused one.
                guard try await !change.hasLiveJob(InactivityJob.kind) else { return }
                _ = try await change.createJob(
                    InactivityJob.kind, .object([]), total: nil, by: .system)
            }
        } catch is TooManyJobs {}
    }

    /// Whether a user of the tenant is due. Reads page by page until one is found.
    private func isAnyUserDue(in tenant: UUID) async throws -> Bool {
        let scope = database.scope(tenant)
        guard let standing = try await scope.standingInactivity() else { return false }
        let now = database.clock()
        var cursor: UUID?
        while true {
            let page = try await scope.inactiveUsers(
                after: cursor, limit: InactivityJob.page, activeUntil: standing.latest(at: now))
            let isDue = page.users.contains { user in
                standing.rule.step(
                    for: user.facts, since: standing.since, at: now,
                    mails: database.options.sendsMail)
                    != nil
            }
            if isDue { return true }
            guard let end = page.end else { return false }
            cursor = end
        }
    }
}
