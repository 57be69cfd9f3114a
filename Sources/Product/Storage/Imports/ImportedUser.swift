import Domain
import JSON
import Text

/// A sign-in of an imported user: an account at a provider, as the importer states it.
package struct ImportedIdentity: Sendable, Equatable {
    package var provider: String
    package var issuer: String
    package var subject: String
    /// The address that the provider reported; `nil` if none.
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

/// One row of an import, independent of the format of its file.
package struct ImportedUser: Sendable, Equatable {
    package var email: EmailAddress
    package var emailVerified = false
    package var name: String?
    /// The role; `nil` makes a new user a member, and leaves an existing user's role unchanged.
    package var role: UserRole?
    package var isSuspended = false
    /// Whether the file marks the user as deleted. Such a row creates and changes nothing.
    package var isDeleted = false
    /// Whether the user is exempt from the policy's `inactivity`. With nil a new user is not
    /// exempt, and an existing user keeps their setting.
    package var isKept: Bool?
    package var externalID: String?
    /// The user's id in the file. If a user of this tenant has this id, the row is about that user,
    /// even if the address differs.
    package var id: String?
    /// Attributes; they are merged into those of an existing user.
    package var publicAttributes: [JSONValue.Member] = []
    package var privateAttributes: [JSONValue.Member] = []
    package var identities: [ImportedIdentity] = []
    /// The hash in the format of `users.password_hash`; `nil` if the row brings no password.
    package var passwordHash: String?
    /// Whether the user had a password that the file does not contain.
    package var awaitsPassword = false
    package var createdAt: Timestamp?
    /// What was not taken over from the row, as a text for the row's result; `nil` if everything
    /// was taken over.
    package var note: String?

    package init(email: EmailAddress) { self.email = email }
}

/// The reason why a row cannot be imported.
package struct ImportFault: Error, Sendable, Equatable {
    /// An error code like those in the responses of `/v1`.
    package var code: String
    /// The reason as a text for people; it names no person.
    package var detail: String

    package init(_ code: String, _ detail: String) {
        self.code = code
        self.detail = detail
    }
}

/// A row of an upload, before its import; rows are numbered from 1.
package struct StagedRow: Sendable {
    package var row: Int
    package var content: Result<ImportedUser, ImportFault>

    package init(row: Int, _ content: Result<ImportedUser, ImportFault>) {
        self.row = row
        self.content = content
    }
}

/// The JSON form in which a row is stored until it is imported.
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

/// What a row may bring to a user. An address that the other system never verified proves nothing:
/// anyone could have signed up there with it, and with a password and sign-ins of their own.
extension ImportedUser {
    /// If the row's id cannot be the user's id, it becomes the external id, unless the row has one
    /// already. The note does not say whether another user has the id.
    mutating func takeForeignID() {
        if externalID == nil {
            externalID = id
            add("The user has an id of this tenant; the row's is kept as the external id.")
        } else {
            add("The user has an id of this tenant; the row's is not taken over.")
        }
    }

    /// Returns what the row may bring to a new user. If the address is not verified, the password
    /// is left out. If the row also has no sign-in, the user must reset the password by mail, so
    /// that only a person who reads that mail can set it.
    var asNew: ImportedUser {
        guard !emailVerified else { return self }
        var user = self
        if passwordHash != nil {
            user.passwordHash = nil
            user.awaitsPassword = true
            user.add("The address is not verified, so the password is not taken over.")
        }
        // A user with sign-ins gets no reset. It would prove the address, and so would confirm
        // sign-ins that may be another person's.
        if !identities.isEmpty { user.awaitsPassword = false }
        return user
    }

    /// Returns what the row may bring to an existing user. The row may bring sign-ins only if its
    /// address is verified, and only if the sign-ins that the user already has cannot be another
    /// person's.
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

    /// Whether the user's address is proved, or the user has no password and no sign-in besides the
    /// row's.
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
    /// The keys that no earlier row of the import may have. If the row's address is not verified,
    /// the bits of its keys are inverted, so that such rows compete only with each other.
    var keys: [Int64] { emailVerified ? ownKeys : ownKeys.map { ~$0 } }

    /// For a row with an unverified address, the keys that no row with a verified address may have;
    /// otherwise empty.
    var verifiedKeys: [Int64] { emailVerified ? [] : ownKeys }

    private var ownKeys: [Int64] {
        var keys = [StagedPerson.key(email: email.key)]
        // A row of a deleted person has no keys.
        if isDeleted { return [] }
        // The row's id becomes the user's id or, if that is not possible, the external id. This is
        // decided later, so the row has a key for both.
        if let externalID = externalID ?? id { keys.append(Self.key(externalID: externalID)) }
        if let id { keys.append(StagedPerson.key(id: id)) }
        return keys + identities.map(\.key)
    }

    static func key(externalID: String) -> Int64 { StagedPerson.key(externalID: externalID) }
}

extension ImportedIdentity {
    /// A key for the sign-in, computed from the bytes of its three parts.
    var key: Int64 {
        StagedPerson.key(provider: provider, issuer: issuer, subject: subject)
    }
}
