import Domain
import JSON
import Text

/// A sign-in of an imported user, on the importer's word.
package struct ImportedIdentity: Sendable, Equatable {
    package var provider: String
    package var issuer: String
    package var subject: String
    /// As the provider said it.
    package var email: String?

    package init(provider: String, issuer: String, subject: String, email: String? = nil) {
        self.provider = provider
        self.issuer = issuer
        self.subject = subject
        self.email = email
    }
}

extension ImportedIdentity {
    package func isSameSignIn(as other: ImportedIdentity) -> Bool {
        sameBytes(provider, other.provider) && sameBytes(issuer, other.issuer)
            && sameBytes(subject, other.subject)
    }
}

/// One row of an import, whatever format it came in.
package struct ImportedUser: Sendable, Equatable {
    package var email: EmailAddress
    package var emailVerified = false
    package var name: String?
    /// Nil: a new user is a member, a known one keeps the role.
    package var role: UserRole?
    package var isSuspended = false
    /// The file says that the user was deleted: nothing is made of the row.
    package var isDeleted = false
    /// Nil: a new user is not kept from the policy's `inactivity`, a known one stays as it is.
    package var isKept: Bool?
    package var externalID: String?
    /// The user's id in the system of the file: a user of this tenant who has it is meant, whatever the
    /// address is.
    package var id: String?
    /// Each an object's members, merged into those of a known user.
    package var publicAttributes: [JSONValue.Member] = []
    package var privateAttributes: [JSONValue.Member] = []
    package var identities: [ImportedIdentity] = []
    /// As `users.password_hash` keeps it.
    package var passwordHash: String?
    /// Whether there was one that did not come along.
    package var awaitsPassword = false
    package var createdAt: Timestamp?
    /// What of the row is not taken over, for its result.
    package var note: String?

    package init(email: EmailAddress) { self.email = email }
}

/// A row that cannot be imported, and why.
package struct ImportFault: Error, Sendable, Equatable {
    /// As a problem's.
    package var code: String
    /// For people; names no person.
    package var detail: String

    package init(_ code: String, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

/// A row as it is staged, numbered from 1.
package struct StagedRow: Sendable {
    package var row: Int
    package var content: Result<ImportedUser, ImportFault>

    package init(row: Int, _ content: Result<ImportedUser, ImportFault>) {
        self.row = row
        self.content = content
    }
}
