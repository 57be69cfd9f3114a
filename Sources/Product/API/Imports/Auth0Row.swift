import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a user from Auth0's user export, its export of password hashes, or a file for Auth0's
    /// own imports.
    init(auth0 fields: ImportFields, issuer: String?) {
        email = fields.text("email", "Email")
        emailVerified = fields.flag("email_verified", "Email Verified")
        name = Self.name(
            fields.text("name", "Name"), fields.text("given_name", "Given Name"),
            fields.text("family_name", "Family Name"))
        isSuspended = fields.flag("blocked")
        takeCreation(fields, "created_at", "Created At")
        take(fields.object("app_metadata"), to: \.privateAttributes)
        takeUserWritten(fields.object("user_metadata"))
        let id =
            fields.text("user_id", "Id") ?? fields.fields("_id")?.text("$oid").map { "auth0|\($0)" }
        externalID = id
        // Users of Auth0's own database have a password, but its hash is in another file.
        awaitsPassword = id?.hasPrefix("auth0|") ?? false
        if let issuer, let id { add(.oidc, issuer, id, email) }
        for item in fields.list("identities") {
            let identity = ImportFields(item)
            let provider = identity.text("provider", "connection") ?? ""
            // An identity at Auth0's own database is the password, not an external sign-in.
            if provider == "auth0" { continue }
            add(
                provider, identity.text("user_id"),
                email: identity.fields("profileData")?.text("email"))
        }
        if let hash = fields.text("passwordHash", "password_hash") {
            password = .reading(hash)
        } else if let custom = fields.fields("custom_password_hash") {
            password = .auth0(custom)
        }
    }
}
