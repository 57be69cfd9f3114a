import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a Clerk user from the dashboard's CSV, or from a response of Clerk's API.
    init(clerk fields: ImportFields, issuer: String?) {
        let addresses = fields.list("email_addresses").map(ImportFields.init)
        let primary = fields.text("primary_email_address_id")
        let main = addresses.first { $0.text("id") == primary } ?? addresses.first
        let verified = Self.listed(fields.text("verified_email_addresses"))
        email =
            fields.text("primary_email_address") ?? main?.text("email_address") ?? verified.first
            ?? Self.listed(fields.text("unverified_email_addresses")).first
        emailVerified =
            verified.contains { isEmail($0) }
            || addresses.contains { address in
                address.fields("verification")?.text("status") == "verified"
                    && address.text("email_address").map { isEmail($0) } ?? false
            }
        name = Self.name(nil, fields.text("first_name"), fields.text("last_name"))
        externalID = fields.text("external_id") ?? fields.text("id")
        takeCreation(fields, "created_at")
        isSuspended = fields.flag("banned")
        take(fields.object("public_metadata"), to: \.publicAttributes)
        take(fields.object("private_metadata"), to: \.privateAttributes)
        takeUserWritten(fields.object("unsafe_metadata"))
        if let issuer, let id = fields.text("id") { add(.oidc, issuer, id, email) }
        for item in fields.list("external_accounts") {
            let account = ImportFields(item)
            add(
                account.text("provider") ?? "", account.text("provider_user_id"),
                email: account.text("email_address"))
        }
        awaitsPassword = fields.flag("password_enabled")
        if let digest = fields.text("password_digest") {
            password = .clerk(digest, hasher: fields.text("password_hasher") ?? "bcrypt")
        }
    }
    /// The addresses that one cell lists.
    private static func listed(_ text: String?) -> [String] {
        (text ?? "").split { ",|; ".contains($0) }.map(String.init)
    }

    private func isEmail(_ other: String) -> Bool {
        guard let email = email.flatMap({ try? EmailAddress($0) }) else { return false }
        return (try? EmailAddress(other))?.key == email.key
    }
}
