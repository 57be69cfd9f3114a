import Postgres
import Text

/// What a store refuses although the input was well formed; callers do not see SQLSTATE.
package enum StorageFailure: Error, Sendable {
    /// Not visible to this caller.
    case notFound(String)
    /// Another object holds the requested value. `id` names it if the caller may know.
    case conflict(code: String, detail: String, id: UUID?)
    /// `If-Match` named another version.
    case versionMismatch
    /// The database is unavailable; nothing was written.
    case unavailable
    /// The response to COMMIT was lost.
    case commitUnknown

    /// What an error from a store means to callers, nil if it is a fault of ours.
    package init?(_ error: any Error) {
        if let failure = error as? StorageFailure {
            self = failure
            return
        }
        switch (error as? PostgresError)?.kind {
        case .unavailable, .timeout, .cancelled: self = .unavailable
        case .commitUnknown: self = .commitUnknown
        default: return nil
        }
    }
}
