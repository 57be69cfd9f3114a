import HTTP
import Storage
import Text

extension Call {
    /// Counts runs of the rules that write nothing against the caller's limit per minute: they
    /// block no other call, but cost as much as real ones. Throws 429.
    func takeDryRuns(_ number: Int = 1) async throws {
        let database = try services.database
        let caller = principal.id?.description ?? (principal.tenant ?? .platform).description
        let taken = try await database.count(
            "dry runs of \(principal.kind.rawValue) \(caller)", number)
        guard taken > database.limits.dryRuns else { return }
        throw Problem.rateLimited(
            "Too many dry runs; wait a minute.", limit: database.limits.dryRuns,
            retryAfter: database.secondsOfMinuteLeft)
    }
}
