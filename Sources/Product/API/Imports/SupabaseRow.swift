import Domain
import JSON
import Storage
import Text

extension ImportedRow {
    /// Reads a Supabase user from a row of `auth.users`, or from a response of Supabase's admin
    /// API.
    init(supabase fields: ImportFields, now: Timestamp) {
        email = fields.text("email")
        emailVerified = fields.text("email_confirmed_at") != nil
        takeCreation(fields, "created_at")
        externalID = fields.text("id")
        let shown = fields.fields("raw_user_meta_data", "user_metadata")
        name = shown?.text("full_name", "name")
        take(fields.object("raw_app_meta_data", "app_metadata"), to: \.privateAttributes)
        takeUserWritten(fields.object("raw_user_meta_data", "user_metadata"))
        let banned = fields.text("banned_until").map { $0 != "none" } ?? false
        let isOver = fields.time("banned_until").map { $0 <= now } ?? false
        isSuspended = banned && !isOver || fields.text("deleted_at") != nil
        for item in fields.list("identities") {
            let identity = ImportFields(item)
            let provider = identity.text("provider") ?? ""
            if ["email", "phone"].contains(provider) { continue }
            let data = identity.fields("identity_data")
            add(
                provider,
                identity.text("provider_id") ?? data?.text("sub") ?? identity.text("id"),
                email: data?.text("email"))
        }
        if let hash = fields.text("encrypted_password") { password = .reading(hash) }
    }
}
