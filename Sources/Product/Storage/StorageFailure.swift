import Postgres
import Text

/// What a store refuses although the input was well formed; nothing above knows SQLSTATE.
package enum StorageFailure: Error, Sendable {
    /// Not there for this caller.
    case notFound(String)
    /// Another thing holds what was asked for. `id` names it where the caller may know.
    case conflict(code: String, detail: String, id: UUID?)
    /// `If-Match` named another version.
    case versionMismatch
    /// The database cannot be asked now; nothing was written.
    case unavailable
    /// The answer to COMMIT was lost.
    case commitUnknown

    /// What an error from a store means to those above, nil where it is a fault of ours.
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
