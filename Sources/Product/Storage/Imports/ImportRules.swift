import Domain
import JSON
import Postgres
import Text

/// How an import is done; the same for all its rows.
package struct ImportRules: Sendable {
    package enum Conflict: String, Sendable, CaseIterable {
        case skip, update, fail
    }

    package var id: UUID
    package var conflict: Conflict
    /// The roles that its maker may give and act for.
    package var roles: [UserRole]
    /// The maker speaks for the tenant alone: so do the identities.
    package var isAssertedByTenant: Bool

    /// The platform's word alone makes users with the ids of a file.
    var keepsFileIDs: Bool { !isAssertedByTenant }

    package init(id: UUID, conflict: Conflict, roles: [UserRole], isAssertedByTenant: Bool) {
        self.id = id
        self.conflict = conflict
        self.roles = roles
        self.isAssertedByTenant = isAssertedByTenant
    }
}

/// A row in which nothing stands in the way, and the user of the tenant who has its address.
struct ImportCandidate: Sendable {
    var row: Int
    var user: ImportedUser
    var known: UUID?
    /// The row's id is no user's of this tenant; the user gets another one.
    var idIsForeign = false
    /// The row's id, if the new user gets it; nil: another one.
    var fileID: UUID?
}
