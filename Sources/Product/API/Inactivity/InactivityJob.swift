import Domain
import JSON
import Storage
import Text

/// One day's work of a tenant's inactivity rule: warns, suspends and deletes users who are due, in
/// the order of their ids, and no more than the day's share. The policy is read again for each
/// batch, so that switching the rule off stops the job.
struct InactivityJob: JobKind {
    static let kind = "inactivity"
    /// The reason in the audit log and on the suspended user.
    static let reason = "inactivity"
    /// The number of users that one page reads. `pages` is the number of pages in one batch.
    static let page = 500
    static let pages = 10

    let name: String = kind

    /// The service itself needs no rights. A person who resumes or undoes the job needs the rights
    /// for these acts.
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

    /// Undone like an action on many users. A warning has no effect that could be undone.
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

/// One batch: several pages of users, in one transaction.
private struct InactivityBatch {
    let work: JobWork
    let place: BulkContext
    let standing: StandingInactivity
    /// The day's share, which the job's first batch computes.
    let cap: Int
    /// How many users may still be acted on.
    let left: Int
    /// How many users may still be warned.
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

    /// When no mails are left for this hour, no user is warned, and users who are due for a warning
    /// wait for another day.
    private func step(for facts: InactivityFacts) -> InactivityRule.Step? {
        let step = standing.rule.step(
            for: facts, since: standing.since, at: change.now, mails: place.application.sendsMail)
        return step == .warn && warnings <= 0 ? nil : step
    }

    /// Checks again under the user's lock, since a sign-in may have just happened. `nil` if nothing
    /// is due.
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

/// Once per UTC day, for each active tenant with an inactivity rule, creates the job that applies
/// it, if a user is due. Any number of replicas may run this; only one creates the job.
package struct InactivityRounds: Sendable {
    /// The number of tenants that one query returns.
    private static let tenants = 100

    private let database: Database

    package init(database: Database) { self.database = database }

    /// A tenant whose day cannot begin is left for the next round. Its error is thrown after all
    /// others are done.
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

    /// A tenant that has reached its limit of jobs is tried again in the next round.
    private func beginDay(of tenant: UUID) async throws {
        let isDue = try await isAnyUserDue(in: tenant)
        do {
            try await database.scope(tenant).change(by: .system) { change in
                guard try await change.beginInactivityDay(), isDue else { return }
                // An unfinished job, such as a paused one, goes first.
                guard try await !change.hasLiveJob(InactivityJob.kind) else { return }
                _ = try await change.createJob(
                    InactivityJob.kind, .object([]), total: nil, by: .system)
            }
        } catch is TooManyJobs {}
    }

    /// Reads page by page until one user is found.
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
