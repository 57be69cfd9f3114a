import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Clerk: the dashboard's CSV, or users as its API shows them.
    init(clerk fields: ImportFields, issuer: String?) {
        let addresses = fields.list("email_addresses").map(ImportFields.init)
        let primary = fields.text("primary_email_address_id")
        let address = addresses.first { $0.text("id") == primary } ?? addresses.first
        email =
            fields.text("primary_email_address") ?? address?.text("email_address")
            ?? fields.text("verified_email_addresses", "unverified_email_addresses")?
            .split(whereSeparator: { ",|; ".contains($0) }).first.map(String.init)
        let verified = fields.text("verified_email_addresses") ?? ""
        emailVerified =
            address?.fields("verification")?.text("status") == "verified"
            || email.map { verified.utf8.count > 0 && verified.contains($0) } ?? false
        name = Self.name(nil, fields.text("first_name"), fields.text("last_name"))
        externalID = fields.text("external_id") ?? fields.text("id")
        createdAt = fields.time("created_at")
        isSuspended = fields.flag("banned")
        take(fields.object("public_metadata"), to: \.publicAttributes)
        take(fields.object("private_metadata"), to: \.privateAttributes)
        take(fields.object("unsafe_metadata"), to: \.privateAttributes)
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
}
