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

/// The form in which a row waits.
extension ImportedUser {
    var document: JSONValue {
        var members: [JSONValue.Member] = [.init("email", .string(email.original))]
        func add(_ name: String, _ text: String?) {
            if let text { members.append(.init(name, .string(text))) }
        }
        if emailVerified { members.append(.init("email_verified", .bool(true))) }
        if awaitsPassword { members.append(.init("password_awaited", .bool(true))) }
        add("id", id)
        if isDeleted { members.append(.init("deleted", .bool(true))) }
        if let isKept { members.append(.init("keep", .bool(isKept))) }
        if isSuspended { members.append(.init("suspended", .bool(true))) }
        add("name", name)
        add("role", role?.rawValue)
        add("external_id", externalID)
        add("password_hash", passwordHash)
        add("created_at", createdAt?.description)
        add("note", note)
        if !publicAttributes.isEmpty {
            members.append(.init("public_attributes", .object(publicAttributes)))
        }
        if !privateAttributes.isEmpty {
            members.append(.init("private_attributes", .object(privateAttributes)))
        }
        if !identities.isEmpty {
            members.append(.init("identities", .array(identities.map(\.document))))
        }
        return .object(members)
    }

    init?(_ document: JSONValue) {
        guard let text = document["email"]?.string, let email = try? EmailAddress(text) else {
            return nil
        }
        self.init(email: email)
        emailVerified = document["email_verified"]?.bool ?? false
        awaitsPassword = document["password_awaited"]?.bool ?? false
        id = document["id"]?.string
        isDeleted = document["deleted"]?.bool ?? false
        isKept = document["keep"]?.bool
        isSuspended = document["suspended"]?.bool ?? false
        name = document["name"]?.string
        role = document["role"]?.string.flatMap(UserRole.init)
        externalID = document["external_id"]?.string
        passwordHash = document["password_hash"]?.string
        createdAt = document["created_at"]?.string.flatMap { Timestamp($0) }
        note = document["note"]?.string
        publicAttributes = document["public_attributes"]?.members ?? []
        privateAttributes = document["private_attributes"]?.members ?? []
        identities = document["identities"]?.array?.compactMap(ImportedIdentity.init) ?? []
    }
}

extension ImportedIdentity {
    var document: JSONValue {
        var members: [JSONValue.Member] = [
            .init("provider", .string(provider)), .init("issuer", .string(issuer)),
            .init("subject", .string(subject)),
        ]
        if let email { members.append(.init("email", .string(email))) }
        return .object(members)
    }

    init?(_ document: JSONValue) {
        guard let provider = document["provider"]?.string, let issuer = document["issuer"]?.string,
            let subject = document["subject"]?.string
        else { return nil }
        self.init(
            provider: provider, issuer: issuer, subject: subject,
            email: document["email"]?.string)
    }
}

/// Anybody could have signed up elsewhere with an address that was never verified there, with a
/// password and sign-ins of their own.
extension ImportedUser {
    /// An id that the user does not get is kept as the external id where the row has none. The same words, be
    /// the id another's or no one's.
    mutating func takeForeignID() {
        if externalID == nil {
            externalID = id
            add("The user has an id of this tenant; the row's is kept as the external id.")
        } else {
            add("The user has an id of this tenant; the row's is not taken over.")
        }
    }

    /// As a new user. Who has no sign-in but an unverified address's password waits for a mailed
    /// reset: only who reads the mail sets one.
    var asNew: ImportedUser {
        guard !emailVerified else { return self }
        var user = self
        if passwordHash != nil {
            user.passwordHash = nil
            user.awaitsPassword = true
            user.add("The address is not verified, so the password is not taken over.")
        }
        // The reset would prove the address for sign-ins that may be another person's.
        if !identities.isEmpty { user.awaitsPassword = false }
        return user
    }

    /// What a known user may get: sign-ins of a verified address alone, and none beside those that
    /// another person may hold.
    func asUpdate(of known: UserRow, hasPassword: Bool) -> ImportedUser {
        guard known.emailKey == email.key else { return withoutSignIns(Self.otherAddress) }
        let added = identities.contains { identity in
            !known.identities.contains { $0.isSameSignIn(as: identity) }
        }
        if emailVerified {
            return holdsAll(of: known, hasPassword) ? self : withoutSignIns(Self.unproved)
        }
        let isNothing = !added && (passwordHash == nil || hasPassword)
        return isNothing ? self : withoutSignIns(Self.unverified)
    }

    private static let unverified =
        "The address is not verified, so password and sign-ins are not taken over."
    private static let otherAddress =
        "The user has another address by now, which an import does not change: password and sign-ins "
        + "are not taken over."
    private static let unproved =
        "The user's address and sign-ins were never proved, so the file's are not taken over."

    /// The user's address is proved, or no one but this row's person can sign in as the user.
    private func holdsAll(of known: UserRow, _ hasPassword: Bool) -> Bool {
        let others = known.identities.contains { identity in
            !identities.contains { identity.isSameSignIn(as: $0) }
        }
        return known.emailVerifiedAt != nil || !hasPassword && !others
    }

    private func withoutSignIns(_ why: String) -> ImportedUser {
        var user = self
        user.add(why)
        user.emailVerified = false
        user.passwordHash = nil
        user.identities = []
        return user
    }

    private mutating func add(_ text: String) {
        note = [text, note].compactMap { $0 }.joined(separator: " ")
    }
}

extension IdentityRow {
    func isSameSignIn(as other: ImportedIdentity) -> Bool {
        sameBytes(provider, other.provider) && sameBytes(issuer, other.issuer)
            && sameBytes(subject, other.subject)
    }
}

extension ImportedUser {
    /// What no earlier row of the import may have. Rows with unverified addresses have the complements:
    /// they are no rivals of a row with a verified one.
    var keys: [Int64] { emailVerified ? ownKeys : ownKeys.map { ~$0 } }

    /// Of a row with an unverified address: what no row with a verified one may have.
    var verifiedKeys: [Int64] { emailVerified ? [] : ownKeys }

    private var ownKeys: [Int64] {
        var keys = [StagedPerson.key(email: email.key)]
        // Two rows of one deleted person stand in no one's way.
        if isDeleted { return [] }
        // An id that the user does not get becomes the external id; who gets theirs is not known yet.
        if let externalID = externalID ?? id { keys.append(Self.key(externalID: externalID)) }
        if let id { keys.append(StagedPerson.key(id: id)) }
        return keys + identities.map(\.key)
    }

    static func key(externalID: String) -> Int64 { StagedPerson.key(externalID: externalID) }
}

extension ImportedIdentity {
    /// By the bytes of its three parts.
    var key: Int64 {
        StagedPerson.key(provider: provider, issuer: issuer, subject: subject)
    }
}
