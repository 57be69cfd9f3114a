import Cryptography
import Domain
import JSON
import Storage
import Text

/// The content of one row in any format, before it is checked against this server's rules.
struct ImportedRow: Sendable {
    /// The user's id in the former system. In an export of this server, it is the user's id here.
    var id: String?
    var email: String?
    var emailVerified = false
    var name: String?
    var role: String?
    var isSuspended = false
    /// Whether the user was deleted. This server's export contains deleted users if the caller
    /// asked for users by their ids.
    var isDeleted = false
    /// Whether the inactivity rule spares the user; `nil` if the row does not state it.
    var isKept: Bool?
    var externalID: String?
    var publicAttributes: [JSONValue.Member] = []
    var privateAttributes: [JSONValue.Member] = []
    var identities: [ImportedIdentity] = []
    var password = ImportedPassword.none
    /// Whether the user has a password in the former system that the export does not contain.
    var awaitsPassword = false
    var createdAt: Timestamp?
    /// Notes about content that the row has and this server does not import.
    var notes: [String] = []

    /// Adds an identity at an upstream provider of the former system, with the kind and the issuer
    /// that this server uses for the provider. If this server does not know the provider, adds a
    /// note.
    mutating func add(_ provider: String, _ subject: String?, email: String? = nil) {
        guard let subject else { return }
        switch provider.lowercased() {
        case "google", "google.com", "google-oauth2", "oauth_google", "loginwithgoogle":
            add(.google, "https://accounts.google.com", subject, email)
        case "github", "github.com", "oauth_github":
            add(.github, "https://github.com", subject, email)
        case "apple", "apple.com", "oauth_apple", "signinwithapple":
            add(.oidc, "https://appleid.apple.com", subject, email)
        default: notes.append("The sign-in with \(provider) is not imported.")
        }
    }

    mutating func add(
        _ kind: ProviderKind, _ issuer: String, _ subject: String, _ email: String? = nil
    ) {
        identities.append(
            ImportedIdentity(
                provider: kind.rawValue, issuer: issuer, subject: subject, email: email))
    }

    /// Sets the time when the user was created in the former system.
    mutating func takeCreation(_ fields: ImportFields, _ names: String...) {
        guard let found = fields.zonedTime(names) else { return }
        createdAt = found.time
        if !found.hasZone {
            notes.append(
                "The time of creation has no time zone, and is read as UTC.")
        }
    }

    /// Removes a password hash that exceeds the tighter limits.
    mutating func holdPasswordTightly() {
        guard case .kept(let text) = password,
            ForeignPasswordHash(stored: text)?.isWithinTightBounds != true
        else { return }
        password = .refused("a hash beyond the limits of GATEHOUSE_IMPORTED_HASHES")
    }

    /// The full name or, if there is none, the joined parts of the name.
    static func name(_ whole: String?, _ parts: String?...) -> String? {
        if let whole { return whole }
        let joined = parts.compactMap { $0 }.joined(separator: " ")
        return joined.isEmpty ? nil : joined
    }

    /// The user to import. Throws if the row breaks a rule of `/v1`.
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
        user.externalID = try Self.externalID(externalID, "The external id")
        user.id = try Self.externalID(id, "The row's `id`")
        user.publicAttributes = try Self.attributes(publicAttributes, "public_attributes")
        user.privateAttributes = try Self.attributes(privateAttributes, "private_attributes")
        user.identities = try Self.distinct(identities)
        var notes = notes
        switch password {
        case .none: user.awaitsPassword = awaitsPassword
        case .kept(let text): user.passwordHash = text
        case .refused(let why):
            user.awaitsPassword = true
            notes.insert("The password is not imported (\(why)): it needs a reset.", at: 0)
        }
        if !notes.isEmpty {
            user.note = DisplayText.shortened(
                notes.prefix(5).joined(separator: " "), to: ImportLimits.note)
        }
        return user
    }

    /// The id in its normal form. `name` is the subject of the error's sentence.
    private static func externalID(
        _ given: String?, _ name: String
    ) throws(ImportFault) -> String? {
        guard let id = given.map(TextRule.externalID.normal), !id.isEmpty else { return nil }
        guard TextRule.externalID.check(id) else {
            throw .invalid("\(name) \(TextRule.externalID.detail).")
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
            // The limit is checked before each identity is added, since comparing very many
            // identities of a row with each other would take long.
            guard distinct.count < ImportLimits.identities else {
                throw .invalid("The row has more than \(ImportLimits.identities) identities.")
            }
            distinct.append(identity)
        }
        return distinct
    }

    /// The identity in this server's canonical form. Throws if it is invalid.
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
            throw .invalid(
                "An identity must have a provider other than `password`, an issuer and a subject, "
                    + "all of a valid kind and length and without control characters.")
        }
        return identity
    }

    private static func isText(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

/// The members of a row. Reading them is lenient, since exports write booleans, numbers and objects
/// as text in a cell.
struct ImportFields: Sendable {
    let document: JSONValue

    init(_ document: JSONValue) { self.document = document }

    /// The value of the first of these members that is present.
    func value(_ names: [String]) -> JSONValue? {
        for name in names {
            if let value = document[name], !value.isNull { return value }
        }
        return nil
    }

    /// The text of the first of these members that is present; `nil` if it is empty.
    func text(_ names: String...) -> String? {
        switch value(names) {
        case .string(let text): text.isEmpty ? nil : text
        case .number(let text): text
        default: nil
        }
    }

    func flag(_ names: String...) -> Bool {
        switch value(names) {
        case .bool(let flag): flag
        case .string(let text): ["true", "t", "1", "yes"].contains(text.lowercased())
        case .number(let text): sameBytes(text, "1")
        default: false
        }
    }

    func list(_ names: String...) -> [JSONValue] {
        switch value(names) {
        case .array(let items): items
        case .string(let text): parsed(text)?.array ?? []
        default: []
        }
    }

    /// Finds the first of these members that is present, and returns the members of its object. A
    /// text is parsed as JSON.
    func object(_ names: String...) -> [JSONValue.Member] {
        switch value(names) {
        case .object(let members): members
        case .string(let text): parsed(text)?.members ?? []
        default: []
        }
    }

    func fields(_ names: String...) -> ImportFields? {
        switch value(names) {
        case .object(let members): ImportFields(.object(members))
        case .string(let text): parsed(text).map(ImportFields.init)
        default: nil
        }
    }

    private func parsed(_ text: String) -> JSONValue? { try? JSONValue(parsing: Array(text.utf8)) }
}

extension ImportFields {
    /// The time in the first of these members that is present. Reads RFC 3339, PostgreSQL's form, a
    /// date alone, and seconds or milliseconds since 1970. A time without a zone is in UTC.
    func time(_ names: String...) -> Timestamp? { zonedTime(names)?.time }

    /// The time in the first of these members that is present, and whether it states a time zone.
    func zonedTime(_ names: [String]) -> (time: Timestamp, hasZone: Bool)? {
        switch value(names) {
        case .number(let text): return Self.time(number: text).map { ($0, true) }
        case .string(let text):
            let text = Self.standard(DisplayText.stripped(text))
            if let time = Timestamp(text) ?? Self.time(number: text) { return (time, true) }
            let whole = text.utf8.count == 10 ? text + "T00:00:00" : text
            return Timestamp(whole + "Z").map { ($0, false) }
        case .object(let members): return ImportFields(.object(members)).zonedTime(["$date"])
        default: return nil
        }
    }

    private static func time(number text: String) -> Timestamp? {
        guard let number = Int64(text), number > 0 else { return nil }
        // A number below 10¹¹ counts as seconds: it means a time before the year 5138. As
        // milliseconds, it would mean a time before 1973.
        let (milliseconds, isOver) = number.multipliedReportingOverflow(by: 1000)
        if number < 100_000_000_000 {
            return Timestamp(microseconds: milliseconds * 1000)
        }
        return isOver || number > 100_000_000_000_000 ? nil : Timestamp(microseconds: milliseconds)
    }

    /// Converts a text such as `2024-05-01 10:00:00.5+00` or `2024-05-01 10:00 UTC` to the form of
    /// RFC 3339.
    private static func standard(_ text: String) -> String {
        var bytes = Array(text.utf8)
        guard bytes.count > 13, bytes[10] == 0x20 || bytes[10] == 0x54 else { return text }
        bytes[10] = 0x54
        for zone in [" UTC", " Z"] where bytes.reversed().starts(with: zone.utf8.reversed()) {
            bytes = bytes.dropLast(zone.utf8.count) + [0x5A]
        }
        let sign = bytes[bytes.count - 3]
        if bytes.count > 19, sign == 0x2B || sign == 0x2D { bytes += Array(":00".utf8) }
        // A text of 16 bytes is a time without seconds.
        if bytes.count == 16 { bytes += Array(":00".utf8) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension ImportedRow {
    /// Adds the members whose names are valid for attributes. If there are others, adds a note with
    /// their number.
    mutating func take(
        _ members: [JSONValue.Member],
        to place: WritableKeyPath<ImportedRow, [JSONValue.Member]>
    ) {
        let (kept, left) = members.asAttributes()
        // A row may have very many members, so a set finds repeated names.
        var names = Set(self[keyPath: place].map { Array($0.name.utf8) })
        for member in kept where names.insert(Array(member.name.utf8)).inserted {
            self[keyPath: place].append(member)
        }
        if !left.isEmpty {
            notes.append("\(left.count) attributes have names that are not valid here.")
        }
    }

    /// Stores the data that people wrote about themselves in the former system. It goes into one
    /// private attribute, so that no app mistakes it for data from operators.
    mutating func takeUserWritten(_ members: [JSONValue.Member]) {
        guard !members.isEmpty else { return }
        let whole = JSONValue.Member(Self.userWritten, .object(members))
        if Attributes.faults(inChange: [whole]).isEmpty {
            take([whole], to: \.privateAttributes)
        } else {
            notes.append(
                "The user's own metadata (\(Self.userWritten)) cannot be an attribute here.")
        }
    }

    private static let userWritten = "user_metadata"
}

extension [JSONValue.Member] {
    /// `kept` contains the members whose names are valid for attributes, without null members.
    /// `left` contains the names that are not valid.
    func asAttributes() -> (kept: [JSONValue.Member], left: [String]) {
        var (kept, left): ([JSONValue.Member], [String]) = ([], [])
        for member in self {
            if Attributes.isName(member.name) {
                if !member.value.isNull { kept.append(member) }
            } else {
                left.append(member.name)
            }
        }
        return (kept, left)
    }
}

/// The password of a row, as far as the export contains it.
enum ImportedPassword: Sendable, Equatable {
    case none
    /// The hash in the form of `users.password_hash`.
    case kept(String)
    /// The hash cannot be imported. The value is the reason, in words.
    case refused(String)

    private static func read(
        _ parse: () throws(ForeignPasswordHash.Refusal) -> ForeignPasswordHash
    ) -> ImportedPassword {
        do throws(ForeignPasswordHash.Refusal) {
            return .kept(try parse().text)
        } catch {
            switch error {
            case .unknown: return .refused("an unknown kind of hash")
            case .malformed: return .refused("a malformed hash")
            case .tooCostly: return .refused("a hash beyond the limits")
            case .tooWeak: return .refused("a hash that is too weak")
            }
        }
    }

    /// Reads a crypt or PHC string.
    static func reading(_ text: String) -> ImportedPassword {
        read { () throws(ForeignPasswordHash.Refusal) in try ForeignPasswordHash.parse(text) }
    }

    static func clerk(_ digest: String, hasher: String) -> ImportedPassword {
        read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.clerk(digest: digest, hasher: hasher)
        }
    }

    /// Reads Auth0's `custom_password_hash`.
    static func auth0(_ fields: ImportFields) -> ImportedPassword {
        func text(_ name: String) -> Auth0PasswordHash.Text? {
            guard let part = fields.fields(name), let value = part.text("value") else { return nil }
            return Auth0PasswordHash.Text(value, encoding: part.text("encoding"))
        }
        guard let algorithm = fields.text("algorithm"), let hash = text("hash") else {
            return .refused("a malformed hash")
        }
        var custom = Auth0PasswordHash(algorithm: algorithm, hash: hash, salt: text("salt"))
        custom.passwordEncoding = fields.fields("password")?.text("encoding")
        func number(_ name: String) -> Int? { fields.text(name).flatMap { Int($0) } }
        custom.keyLength = number("keylen")
        custom.cost = number("cost")
        custom.blockSize = number("blockSize")
        custom.parallelization = number("parallelization")
        return read { [custom] () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.auth0(custom)
        }
    }

    /// Reads a credential of Keycloak. Its members `secretData` and `credentialData` are texts that
    /// contain JSON.
    static func keycloak(_ credential: ImportFields) -> ImportedPassword {
        guard let secret = credential.fields("secretData"),
            let data = credential.fields("credentialData"), let value = secret.text("value"),
            let iterations = data.text("hashIterations").flatMap({ Int($0) }),
            let algorithm = data.text("algorithm")
        else { return .refused("a malformed hash") }
        let more = data.object("additionalParameters").map { member in
            (member.name, member.value.array?.compactMap(\.string) ?? [])
        }
        let parameters = Dictionary(more) { first, _ in first }
        return read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.keycloak(
                KeycloakPasswordHash(
                    value: value, salt: secret.text("salt") ?? "", hashIterations: iterations,
                    algorithm: algorithm, additionalParameters: parameters))
        }
    }

    /// Reads Firebase's hash and salt. `project` has the hash parameters of the Firebase project;
    /// `nil` if the import came without them.
    static func firebase(
        _ hash: String, salt: String, _ project: FirebaseProject?
    ) -> ImportedPassword {
        guard let project else { return .refused("no parameters of the project in `options.hash`") }
        return read { () throws(ForeignPasswordHash.Refusal) in
            try ForeignPasswordHash.firebase(hash: hash, salt: salt, of: project)
        }
    }
}
