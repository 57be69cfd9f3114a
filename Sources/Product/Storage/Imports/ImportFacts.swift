import Domain
import JSON
import Postgres
import Text

/// What the tenant knows of the people in one batch, read by a statement for each table.
struct ImportFacts: Sendable {
    struct Known: Sendable {
        var id: UUID
        var role: UserRole
        var status: User.Status
        var emailKey: String
    }

    enum Verdict {
        case result(JobResult)
        case create(ImportCandidate)
        case update(ImportCandidate, UUID)

        /// The id of its row that a new user gets.
        var fileID: UUID? {
            if case .create(let candidate) = self { candidate.fileID } else { nil }
        }
    }

    /// By email key.
    var known: [String: Known] = [:]
    /// By the ids that rows have, in their canonical form; deleted users too.
    var byID: [String: Known] = [:]
    /// Ids of rows that new users may get: nothing of any tenant has or had them.
    var free: Set<UUID> = []
    /// Email keys of users who were deleted, and of former addresses of others.
    var deleted: Set<String> = []
    var reserved: Set<String> = []
    /// By the keys of external ids and of identities.
    var holders: [Int64: UUID] = [:]
    /// Identities that an operator unlinked, or of a person who was purged.
    var barred: Set<Int64> = []
    /// Of the file: the first row that has a key.
    var first: [Int64: Int] = [:]
}
