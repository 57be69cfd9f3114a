import Domain
import JSON
import Storage
import Text

/// Makes, once on a day of UTC and for each active tenant with a rule for inactivity, the job that
/// follows it, if a user is due. Any number of replicas may look; one makes the job.
package struct InactivityRounds: Sendable {
    /// Tenants that are found at once.
    private static let tenants = 100

    private let database: Database

    package init(database: Database) { self.database = database }

    /// A tenant whose day cannot begin is left for the next round, and its error is thrown after all
    /// others.
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

    /// A tenant with as many jobs as it may is looked at again in the next round.
    private func beginDay(of tenant: UUID) async throws {
        let isDue = try await isAnyUserDue(in: tenant)
        do {
            try await database.scope(tenant).change(by: .system) { change in
                guard try await change.beginInactivityDay(), isDue else { return }
                // One that is paused or not at its end goes before.
                guard try await !change.hasLiveJob(InactivityJob.kind) else { return }
                _ = try await change.createJob(
                    InactivityJob.kind, .object([]), total: nil, by: .system)
            }
        } catch is TooManyJobs {}
    }

    /// Page by page, until one is found.
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
                    for: user.facts, since: standing.since, at: now, mails: database.sendsMail)
                    != nil
            }
            if isDue { return true }
            guard let end = page.end else { return false }
            cursor = end
        }
    }
}
