import Postgres
import Text

/// A refusal of a store although the input was well formed. Callers do not see SQLSTATE.
package enum StorageFailure: Error, Sendable {
    /// The object does not exist, or the caller may not see it.
    case notFound(String)
    /// Another object holds the requested value. `id` names it if the caller may know.
    case conflict(code: String, detail: String, id: UUID?)
    /// `If-Match` named another version.
    case versionMismatch
    /// The database is unavailable; nothing was written.
    case unavailable
    /// The response to COMMIT was lost.
    case commitUnknown

    /// What an error from a store means to callers; `nil` if it is an internal fault.
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
