import Cryptography
import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a Firebase user from a file of `firebase auth:export`.
    init(firebase fields: ImportFields, issuer: String?, project: FirebaseProject?) {
        email = fields.text("email")
        emailVerified = fields.flag("emailVerified")
        name = fields.text("displayName")
        externalID = fields.text("localId")
        takeCreation(fields, "createdAt")
        isSuspended = fields.flag("disabled")
        take(
            fields.object("customAttributes", "customClaims"), to: \.privateAttributes)
        if let issuer, let id = externalID { add(.oidc, issuer, id, email) }
        for item in fields.list("providerUserInfo") {
            let info = ImportFields(item)
            let provider = info.text("providerId") ?? ""
            if provider == "password" { awaitsPassword = true }
            if ["password", "phone"].contains(provider) { continue }
            add(provider, info.text("rawId"), email: info.text("email"))
        }
        if let text = fields.text("passwordHash") {
            password = .firebase(text, salt: fields.text("salt") ?? "", project)
        }
    }

    /// The columns of Firebase's CSV, which has no header line.
    static let firebaseColumns =
        ["localId", "email", "emailVerified", "passwordHash", "salt", "displayName", "photoUrl"]
        + ["google.com", "facebook.com", "twitter.com", "github.com"].flatMap { provider in
            ["rawId", "email", "displayName", "photoUrl"].map { "\(provider) \($0)" }
        } + ["createdAt", "lastLoginAt", "phoneNumber", "disabled", "customAttributes"]

    /// Converts a record of Firebase's CSV to the form of its JSON.
    static func firebase(_ members: [JSONValue.Member]) -> JSONValue {
        let fields = ImportFields(.object(members))
        let infos: [JSONValue] = ["google.com", "facebook.com", "twitter.com", "github.com"]
            .compactMap { provider in
                guard let id = fields.text("\(provider) rawId") else { return nil }
                return .object([
                    .init("providerId", .string(provider)), .init("rawId", .string(id)),
                    .init("email", fields.document["\(provider) email"] ?? .null),
                ])
            }
        return .object(members + [.init("providerUserInfo", .array(infos))])
    }
}
