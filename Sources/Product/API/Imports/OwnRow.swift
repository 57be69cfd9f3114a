import Domain
import JSON
import Storage
import Text

/// This server's own formats: the members of a user as `/v1` returns them, and `password_hash`.
extension ImportedRow {
    static let ownNames: Set<String> = [
        "id", "email", "email_verified", "name", "role", "status", "external_id", "keep",
        "password_hash", "created_at", "public_attributes", "private_attributes", "identities",
    ]
    /// The names of the columns of a CSV file. Columns such as `public_attributes.plan` are also
    /// allowed.
    static let ownColumns = ownNames.union(["provider", "issuer", "subject"])
    /// The members that this server's export contains and its import skips, in the order of the
    /// export.
    static let readOnlyNames = [
        "tenant_id", "email_verified_at", "source", "joined_by", "joined_by.type", "joined_by.id",
        "merged_ids", "updated_at", "last_sign_in_at",
    ]

    static func isColumn(_ name: String) -> Bool {
        ownColumns.contains(name) || name.hasPrefix("public_attributes.")
            || name.hasPrefix("private_attributes.")
    }

    static func isReadOnly(_ name: String) -> Bool { readOnlyNames.contains(name) }

    /// Whether the name of a column is known: the import reads the column, or skips it on purpose.
    static func isKnown(_ name: String) -> Bool { isColumn(name) || isReadOnly(name) }

    /// The name of a file's column, without invisible characters around it.
    static func columnName(_ text: String) -> String { DisplayText.stripped(text) }

    init(own fields: ImportFields, isCSV: Bool) throws(ImportFault) {
        let members = fields.document.members ?? []
        // An unknown member is an error. If it were skipped silently, data would be lost.
        for member in members
        where !isCSV && !Self.ownNames.contains(member.name) && !Self.isReadOnly(member.name) {
            throw .invalid("The member \(member.name.prefix(64)) is unknown.")
        }
        id = fields.text("id")
        email = fields.text("email")
        emailVerified = try Self.flag(fields, "email_verified") ?? false
        isKept = try Self.flag(fields, "keep")
        name = fields.text("name")
        role = fields.text("role")
        externalID = fields.text("external_id")
        takeCreation(fields, "created_at")
        if createdAt == nil, fields.text("created_at") != nil {
            throw .invalid("created_at is not a time (RFC 3339).")
        }
        publicAttributes = try Self.attributes(fields, "public_attributes")
        privateAttributes = try Self.attributes(fields, "private_attributes")
        switch fields.text("status").map({ DisplayText.stripped($0).lowercased() }) {
        case nil, "active", "pending": break
        case "suspended": isSuspended = true
        case "deleted": isDeleted = true
        default: throw .invalid("The status must be active, pending, suspended or deleted.")
        }
        for item in fields.list("identities") {
            let identity = ImportFields(item)
            // In this server's own export, this identity states that a user signs in with a
            // password. The password itself is in no export.
            if identity.text("provider") == ProviderKind.password.rawValue { continue }
            add(
                identity.text("provider"), identity.text("issuer"), identity.text("subject"),
                identity.text("email"))
        }
        if let subject = fields.text("subject") {
            add(fields.text("provider"), fields.text("issuer"), subject, nil)
        } else if fields.text("provider", "issuer") != nil {
            throw .invalid("The row has a provider or an issuer, but no subject.")
        }
        if let hash = fields.text("password_hash") {
            password = .reading(DisplayText.stripped(hash))
        }
    }

    /// The boolean value of a member; `nil` if it is absent. In a spreadsheet, booleans may be in
    /// the language of the person who saved the file.
    private static func flag(
        _ fields: ImportFields, _ name: String
    ) throws(ImportFault) -> Bool? {
        guard let value = fields.value([name]) else { return nil }
        if let flag = value.bool { return flag }
        guard let text = fields.text(name) else {
            if value.string == "" { return nil }
            throw .invalid("\(name) must be true or false.")
        }
        switch DisplayText.stripped(text).lowercased() {
        case "true", "t", "yes", "y", "1", "wahr", "ja", "vrai", "oui", "verdadero", "vero":
            return true
        case "false", "f", "no", "n", "0", "falsch", "nein", "faux", "non", "falso": return false
        case "": return nil
        default: throw .invalid("\(name) must be true or false.")
        }
    }

    private mutating func add(
        _ provider: String?, _ issuer: String?, _ subject: String?, _ email: String?
    ) {
        identities.append(
            ImportedIdentity(
                provider: provider ?? "", issuer: issuer ?? "", subject: subject ?? "",
                email: email))
    }

    /// The attributes in the object `name`, and in the columns that begin with `name` and a dot.
    private static func attributes(
        _ fields: ImportFields, _ name: String
    ) throws(ImportFault) -> [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        switch fields.value([name]) {
        case nil, .string(""): break
        case .object(let given): members = given
        case .string(let text):
            guard let given = (try? JSONValue(parsing: Array(text.utf8)))?.members else {
                throw .invalid("\(name) is not a JSON object.")
            }
            members = given
        default: throw .invalid("\(name) is not a JSON object.")
        }
        let prefix = name + "."
        for member in fields.document.members ?? [] where member.name.hasPrefix(prefix) {
            guard member.value.string != "" else { continue }
            members.append(.init(String(member.name.dropFirst(prefix.count)), member.value))
        }
        return members
    }
}
