import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a Cognito user from the result of ListUsers, or from a CSV in the form of Cognito's
    /// own imports. Cognito exports no passwords.
    init(cognito fields: ImportFields, pool: Provider) {
        var attributes = fields
        let list = fields.list("Attributes", "UserAttributes")
        if !list.isEmpty {
            attributes = ImportFields(
                .object(
                    list.compactMap { item in
                        guard let name = item["Name"]?.string, let value = item["Value"] else {
                            return nil
                        }
                        return .init(name, value)
                    }))
        }
        email = attributes.text("email")
        emailVerified = attributes.flag("email_verified")
        name = Self.name(
            attributes.text("name"), attributes.text("given_name"), attributes.text("family_name"))
        externalID = attributes.text("sub")
        takeCreation(fields, "UserCreateDate")
        let status = fields.text("UserStatus")
        isSuspended = fields.document["Enabled"]?.bool == false
        take(
            (attributes.document.members ?? []).compactMap { member in
                guard member.name.hasPrefix("custom:"), member.value.string != "" else {
                    return nil
                }
                return .init(String(member.name.dropFirst(7)), member.value)
            }, to: \.privateAttributes)
        var isFederated = status == "EXTERNAL_PROVIDER"
        let userName = fields.text("Username", "cognito:username") ?? ""
        for item in attributes.list("identities") {
            let identity = ImportFields(item)
            guard let upstream = identity.text("providerName"),
                let subject = identity.text("userId"),
                let person = CognitoMapping.federated(
                    pool: pool, upstream: upstream, subject: subject)
            else { continue }
            // Cognito gives the name `<provider>_<subject>` to a user who signed in only through an
            // upstream provider.
            if sameBytesIgnoringASCIICase(userName, "\(upstream)_\(subject)") { isFederated = true }
            add(person.identity, email)
        }
        awaitsPassword = !isFederated
        if !userName.isEmpty, !isFederated {
            add(CognitoMapping.native(pool: pool, userName: userName).identity, email)
        }
    }

    private mutating func add(_ key: IdentityKey, _ email: String?) {
        add(key.provider, key.issuer, key.subject, email)
    }
}
