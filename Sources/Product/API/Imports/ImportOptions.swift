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
    /// When the file came: what has ended by then is over.
    var now = Timestamp.systemClock()
}
