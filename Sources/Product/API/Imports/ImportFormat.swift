import HTTP

/// Where a file comes from.
package enum ImportFormat: String, Sendable, CaseIterable {
    case csv, ndjson, auth0, cognito, supabase, clerk, keycloak, firebase

    /// The member of a document that holds the rows; nil: the document is a list, or a row for each
    /// line.
    var container: String? {
        switch self {
        case .keycloak, .firebase: "users"
        case .cognito: "Users"
        case .csv, .ndjson, .auth0, .supabase, .clerk: nil
        }
    }

    /// Whether a file of comma-separated values begins without the names of its columns.
    var hasNoHeader: Bool { self == .firebase }
}

/// The limits of one import.
package enum ImportLimits {
    /// Bytes of the body as it is sent, and of what it unpacks to.
    package static let packed = 1 << 30
    package static let unpacked = 4 << 30
    /// The most unpacked bytes for each packed one: a file of addresses has some 10.
    package static let ratio = 200
    /// Rows of one file.
    package static let rows = 5_000_000
    /// Bytes of one row.
    package static let row = 1 << 20
    /// Bytes of a form's `options`.
    package static let options = 64 << 10
    package static let columns = 500
    package static let identities = 20
    /// Characters of what is said of a row that was taken.
    package static let note = 500
    /// Bytes of the address that a sign-in's provider said; a longer one is left out.
    package static let email = 320
    /// Bytes of the parts of a sign-in.
    package static let issuer = 512
    package static let subject = 255
}
