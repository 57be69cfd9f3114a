import Domain
import JSON
import Storage
import Text

/// Our own formats: the members of a user as `/v1` shows it, and `password_hash`.
extension ImportedRow {
    static let ownNames: Set<String> = [
        "email", "email_verified", "name", "role", "status", "external_id", "password_hash",
        "created_at", "public_attributes", "private_attributes", "identities",
    ]
    /// Columns of a CSV file besides; `public_attributes.plan` and the like are columns too.
    static let ownColumns = ownNames.union(["provider", "issuer", "subject"])

    static func isColumn(_ name: String) -> Bool {
        ownColumns.contains(name) || name.hasPrefix("public_attributes.")
            || name.hasPrefix("private_attributes.")
    }

    init(own fields: ImportFields, isCSV: Bool) throws(ImportFault) {
        let members = fields.document.members ?? []
        // What is silently left out is lost.
        for member in members where !isCSV && !Self.ownNames.contains(member.name) {
            throw .invalid("The member \(member.name.prefix(64)) is unknown.")
        }
        email = fields.text("email")
        emailVerified = fields.flag("email_verified")
        name = fields.text("name")
        role = fields.text("role")
        externalID = fields.text("external_id")
        createdAt = fields.time("created_at")
        if createdAt == nil, fields.text("created_at") != nil {
            throw .invalid("created_at is no time (RFC 3339).")
        }
        publicAttributes = try Self.attributes(fields, "public_attributes")
        privateAttributes = try Self.attributes(fields, "private_attributes")
        switch fields.text("status") {
        case nil, "active", "pending": break
        case "suspended": isSuspended = true
        default: throw .invalid("The status must be active, pending or suspended.")
        }
        for item in fields.list("identities") {
            let identity = ImportFields(item)
            add(
                identity.text("provider"), identity.text("issuer"), identity.text("subject"),
                identity.text("email"))
        }
        if let subject = fields.text("subject") {
            add(fields.text("provider"), fields.text("issuer"), subject, nil)
        }
        if let hash = fields.text("password_hash") { password = .reading(hash) }
    }

    private mutating func add(
        _ provider: String?, _ issuer: String?, _ subject: String?, _ email: String?
    ) {
        identities.append(
            ImportedIdentity(
                provider: provider ?? "", issuer: issuer ?? "", subject: subject ?? "",
                email: email))
    }

    /// The object, and the columns of its members.
    private static func attributes(
        _ fields: ImportFields, _ name: String
    ) throws(ImportFault) -> [JSONValue.Member] {
        var members = fields.object(name)
        if members.isEmpty, fields.text(name) != nil {
            throw .invalid("\(name) is no JSON object.")
        }
        let prefix = name + "."
        for member in fields.document.members ?? [] where member.name.hasPrefix(prefix) {
            guard member.value.string != "" else { continue }
            members.append(.init(String(member.name.dropFirst(prefix.count)), member.value))
        }
        return members
    }
}
