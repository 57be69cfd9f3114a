import Domain
import JSON
import Text

/// A sign-in of an imported user, as the importer asserts it.
package struct ImportedIdentity: Sendable, Equatable {
    package var provider: String
    package var issuer: String
    package var subject: String
    /// The address as the provider gave it.
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

/// One row of an import, in whatever format it came.
package struct ImportedUser: Sendable, Equatable {
    package var email: EmailAddress
    package var emailVerified = false
    package var name: String?
    /// `nil` makes a new user a member; a known user keeps their role.
    package var role: UserRole?
    package var isSuspended = false
    /// The file says that the user was deleted, so nothing is made from the row.
    package var isDeleted = false
    /// `nil` leaves a new user subject to the policy's `inactivity`; a known user stays as they
    /// are.
    package var isKept: Bool?
    package var externalID: String?
    /// The user's id in the system of the file. If a user of this tenant has it, the row means that
    /// user, whatever the address is.
    package var id: String?
    /// The members of each object are merged into those of a known user.
    package var publicAttributes: [JSONValue.Member] = []
    package var privateAttributes: [JSONValue.Member] = []
    package var identities: [ImportedIdentity] = []
    /// In the format of `users.password_hash`.
    package var passwordHash: String?
    /// Whether the user had a password that the file does not contain.
    package var awaitsPassword = false
    package var createdAt: Timestamp?
    /// What was not taken from the row; shown in its result.
    package var note: String?

    package init(email: EmailAddress) { self.email = email }
}

/// A row that cannot be imported, and why.
package struct ImportFault: Error, Sendable, Equatable {
    /// A code like that of a problem.
    package var code: String
    /// A text for people; it names no person.
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

/// The form in which a row is stored while it waits.
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

/// An address that the other system never verified proves nothing: anyone could have signed up
/// there with it, with a password and sign-ins of their own.
extension ImportedUser {
    /// An id that the user does not get is kept as the external id if the row has none. The note is
    /// the same whether the id is another user's or no one's.
    mutating func takeForeignID() {
        if externalID == nil {
            externalID = id
            add("The user has an id of this tenant; the row's is kept as the external id.")
        } else {
            add("The user has an id of this tenant; the row's is not taken over.")
        }
    }

    /// The row as it creates a new user. If the only sign-in is the password of an unverified
    /// address, the user waits for a reset by mail: only a person who reads that mail can set a
    /// password.
    var asNew: ImportedUser {
        guard !emailVerified else { return self }
        var user = self
        if passwordHash != nil {
            user.passwordHash = nil
            user.awaitsPassword = true
            user.add("The address is not verified, so the password is not taken over.")
        }
        // The reset would prove the address, and so accept sign-ins that may be another person's.
        if !identities.isEmpty { user.awaitsPassword = false }
        return user
    }

    /// The row as it may update a known user: it brings sign-ins only with a verified address, and
    /// only if no other person may hold the sign-ins that the user already has.
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

    /// Whether the user's address is proved, or only this row's person can sign in as the user.
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
    /// The keys that no earlier row of the import may have. For a row with an unverified address
    /// their bits are inverted, so that it does not compete with a row whose address is verified.
    var keys: [Int64] { emailVerified ? ownKeys : ownKeys.map { ~$0 } }

    /// For a row with an unverified address: the keys that no row with a verified address may have.
    var verifiedKeys: [Int64] { emailVerified ? [] : ownKeys }

    private var ownKeys: [Int64] {
        var keys = [StagedPerson.key(email: email.key)]
        // A row of a deleted person claims no keys.
        if isDeleted { return [] }
        // If a new user cannot get the row's id, the id becomes the external id. This is decided
        // later, so the row claims the id as both.
        if let externalID = externalID ?? id { keys.append(Self.key(externalID: externalID)) }
        if let id { keys.append(StagedPerson.key(id: id)) }
        return keys + identities.map(\.key)
    }

    static func key(externalID: String) -> Int64 { StagedPerson.key(externalID: externalID) }
}

extension ImportedIdentity {
    /// A key made from the bytes of the three parts.
    var key: Int64 {
        StagedPerson.key(provider: provider, issuer: issuer, subject: subject)
    }
}
