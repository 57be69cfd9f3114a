import Domain
import Text

/// Callers limited to their own objects.
extension Call {
    /// The only user whose objects the caller reaches under this right; nil: not limited.
    func bound(_ right: Right) -> UUID? { Permissions.bound(principal.subject, right) }

    /// Callers limited to their own objects get 404 for others'.
    func sees(_ user: UUID?) -> Bool {
        guard let own = bound(.readUsers) else { return true }
        return user == own
    }
}
