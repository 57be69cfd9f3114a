import Text

/// What a store refuses although the input was well formed; nothing above knows SQLSTATE.
package enum StorageFailure: Error, Sendable {
    /// Not there for this caller.
    case notFound(String)
    /// Another thing holds what was asked for. `id` names it where the caller may know.
    case conflict(code: String, detail: String, id: UUID?)
    /// `If-Match` named another version.
    case versionMismatch
}
