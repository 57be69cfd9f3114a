import Domain
import JSON
import Text

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
