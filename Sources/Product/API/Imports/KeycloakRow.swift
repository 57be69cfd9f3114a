import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a Keycloak user from the export of a realm.
    init(keycloak fields: ImportFields, issuer: String?) {
        email = fields.text("email")
        emailVerified = fields.flag("emailVerified")
        name = Self.name(nil, fields.text("firstName"), fields.text("lastName"))
        externalID = fields.text("id") ?? fields.text("username")
        takeCreation(fields, "createdTimestamp")
        isSuspended = fields.document["enabled"]?.bool == false
        take(
            fields.object("attributes").map { member in
                guard let values = member.value.array, values.count == 1 else { return member }
                return .init(member.name, values[0])
            }, to: \.privateAttributes)
        if let issuer, let id = fields.text("id") { add(.oidc, issuer, id, email) }
        for item in fields.list("federatedIdentities") {
            let identity = ImportFields(item)
            add(identity.text("identityProvider") ?? "", identity.text("userId"))
        }
        for item in fields.list("credentials") {
            let credential = ImportFields(item)
            switch credential.text("type") {
            case "password": password = .keycloak(credential)
            case let other?: notes.append("The credential \(other) is not imported.")
            case nil: break
            }
        }
    }
}
