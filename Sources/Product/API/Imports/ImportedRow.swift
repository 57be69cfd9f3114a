import Cryptography
import Domain
import JSON
import Storage
import Text

/// What a format finds in one row, before it is held to our rules.
struct ImportedRow: Sendable {
    /// The user's id in the system of the file: ours, if that is this one.
    var id: String?
    var email: String?
    var emailVerified = false
    var name: String?
    var role: String?
    var isSuspended = false
    /// An export of ours that was asked for ids has deleted people too.
    var isDeleted = false
    /// Nil: not said.
    var isKept: Bool?
    var externalID: String?
    var publicAttributes: [JSONValue.Member] = []
    var privateAttributes: [JSONValue.Member] = []
    var identities: [ImportedIdentity] = []
    var password = ImportedPassword.none
    /// Whether there is a password, if `password` is none: the export does not carry it.
    var awaitsPassword = false
    var createdAt: Timestamp?
    /// What the format knows and we do not take.
    var notes: [String] = []

    /// A sign-in at a former system's own upstream, by our names of the provider.
    mutating func add(_ provider: String, _ subject: String?, email: String? = nil) {
        guard let subject else { return }
        switch provider.lowercased() {
        case "google", "google.com", "google-oauth2", "oauth_google", "loginwithgoogle":
            add(.google, "https://accounts.google.com", subject, email)
        case "github", "github.com", "oauth_github":
            add(.github, "https://github.com", subject, email)
        case "apple", "apple.com", "oauth_apple", "signinwithapple":
            add(.oidc, "https://appleid.apple.com", subject, email)
        default: notes.append("The sign-in by \(provider) is not taken over.")
        }
    }

    mutating func add(
        _ kind: ProviderKind, _ issuer: String, _ subject: String, _ email: String? = nil
    ) {
        identities.append(
            ImportedIdentity(
                provider: kind.rawValue, issuer: issuer, subject: subject, email: email))
    }

    /// When the user was made there.
    mutating func takeCreation(_ fields: ImportFields, _ names: String...) {
        guard let found = fields.zonedTime(names) else { return }
        createdAt = found.time
        if !found.hasZone { notes.append("The time of creation has no zone, and is read as UTC.") }
    }

    /// Leaves a hash out that is beyond the tighter bounds.
    mutating func holdPasswordTightly() {
        guard case .kept(let text) = password,
            ForeignPasswordHash(stored: text)?.isWithinTightBounds != true
        else { return }
        password = .refused("a hash beyond the bounds of GATEHOUSE_IMPORTED_HASHES")
    }

    /// Parts of a name, unless there is a whole one.
    static func name(_ whole: String?, _ parts: String?...) -> String? {
        if let whole { return whole }
        let joined = parts.compactMap { $0 }.joined(separator: " ")
        return joined.isEmpty ? nil : joined
    }

    /// Held to the rules of `/v1`.
    func user() throws(ImportFault) -> ImportedUser {
        guard let email, !DisplayText.stripped(email).isEmpty else {
            throw ImportFault("email_missing", "The row has no address.")
        }
        var user = ImportedUser(email: try Self.address(email))
        user.emailVerified = emailVerified
        user.isSuspended = isSuspended
        user.isDeleted = isDeleted
        user.isKept = isKept
        user.createdAt = createdAt
        if let name = name.map(TextRule.displayName.normal), !name.isEmpty {
            guard name.unicodeScalars.count <= ProvisioningCall.nameLimit else {
                throw .invalid(
                    "The name must have at most \(ProvisioningCall.nameLimit) characters.")
            }
            guard TextRule.displayName.check(name) else {
                throw .invalid("The name \(TextRule.displayName.detail).")
            }
            user.name = name
        }
        if let role {
            guard let known = UserRole(rawValue: DisplayText.stripped(role).lowercased()) else {
                throw .invalid("The role must be member, manager or admin.")
            }
            user.role = known
        }
        user.externalID = try Self.externalID(externalID)
        user.id = try Self.externalID(id)
        user.publicAttributes = try Self.attributes(publicAttributes, "public_attributes")
        user.privateAttributes = try Self.attributes(privateAttributes, "private_attributes")
        user.identities = try Self.distinct(identities)
        var notes = notes
        switch password {
        case .none: user.awaitsPassword = awaitsPassword
        case .kept(let text): user.passwordHash = text
        case .refused(let why):
            user.awaitsPassword = true
            notes.insert("The password is not taken over (\(why)): it needs a reset.", at: 0)
        }
        if !notes.isEmpty {
            user.note = DisplayText.shortened(
                notes.prefix(5).joined(separator: " "), to: ImportLimits.note)
        }
        return user
    }

    private static func externalID(_ given: String?) throws(ImportFault) -> String? {
        guard let id = given.map(TextRule.externalID.normal), !id.isEmpty else { return nil }
        guard TextRule.externalID.check(id) else {
            throw .invalid("The external id \(TextRule.externalID.detail).")
        }
        return id
    }

    private static func address(_ text: String) throws(ImportFault) -> EmailAddress {
        do {
            return try EmailAddress(text)
        } catch {
            throw ImportFault("email_invalid", "The address is not valid; \(error.mend).")
        }
    }

    private static func attributes(
        _ members: [JSONValue.Member], _ object: String
    ) throws(ImportFault) -> [JSONValue.Member] {
        if let fault = Attributes.faults(inChange: members).first {
            let name = fault.name.map { "\(object).\($0)" } ?? object
            throw .invalid("\(name) \(fault.detail).")
        }
        return members
    }

    private static func distinct(
        _ all: [ImportedIdentity]
    ) throws(ImportFault) -> [ImportedIdentity] {
        var distinct: [ImportedIdentity] = []
        for given in all {
            let identity = try sound(given)
            if distinct.contains(where: { $0.isSameSignIn(as: identity) }) { continue }
            // At each, before the many of one row are compared with each other.
            guard distinct.count < ImportLimits.identities else {
                throw .invalid("The row has more than \(ImportLimits.identities) identities.")
            }
            distinct.append(identity)
        }
        return distinct
    }

    /// In our form, if it is one.
    private static func sound(_ given: ImportedIdentity) throws(ImportFault) -> ImportedIdentity {
        var identity = given
        if sameBytes(identity.provider, ProviderKind.cognito.rawValue) {
            identity.issuer = CognitoMapping.canonical(issuer: identity.issuer)
        }
        if let email = identity.email, email.utf8.count > ImportLimits.email || !isText(email) {
            identity.email = nil
        }
        guard (1...ImportLimits.issuer).contains(identity.issuer.utf8.count),
            (1...ImportLimits.subject).contains(identity.subject.utf8.count),
            isText(identity.issuer), isText(identity.subject),
            let kind = ProviderKind(rawValue: identity.provider), kind != .password
        else {
            throw .invalid("An identity must have a provider, an issuer and a subject.")
        }
        return identity
    }

    private static func isText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}
