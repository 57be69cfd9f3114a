import Domain
import Text

/// Callers who may see or change what is their own and nothing else.
extension Call {
    /// The user whose things alone the caller reaches under this right; nil: not so bounded.
    func bound(_ right: Right) -> UUID? { Permissions.bound(domainPrincipal, right) }

    /// Another person's thing is not there for a caller who sees his own alone.
    func sees(_ user: UUID?) -> Bool {
        guard let own = bound(.readUsers) else { return true }
        return user == own
    }
}
