import Cryptography
import Domain
import JSON
import Storage
import Text

/// What the caller says of a file beside the file itself.
struct ImportOptions: Sendable {
    /// Our columns by theirs.
    var mapping: [String: String]?
    /// The former system's own issuer: each row's id there is then a sign-in too.
    var issuer: String?
    var firebase: FirebaseProject?
    /// Of a Cognito import.
    var pool: Provider?
    /// Whether its cells have the guards of our own exports, whatever its columns are.
    var isGuarded = false
    /// Whether a CSV is in Windows-1252, and not in UTF-8.
    var isWindows1252 = false
    /// Whether hashes are held to the tighter bounds of `GATEHOUSE_IMPORTED_HASHES`.
    var holdsTightly = false
    /// When the file came: what has ended by then is over.
    var now = Timestamp.systemClock()
}
