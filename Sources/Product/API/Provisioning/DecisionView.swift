import Domain
import HTTP
import JSON
import Storage
import Text

extension DecisionRow: JSONView {
    func write(to json: inout JSONWriter) { json.object { members(to: &$0) } }

    func members(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("created_at", createdAt)
        json.member("outcome", outcome)
        json.member("reason", reason)
        json.member("reference", reference.isEmpty ? nil : reference)
        json.member("email", email)
        json.member("provider", provider.isEmpty ? nil : provider)
        if let providerName { json.member("provider_name", providerName) }
        json.member("issuer", isPart ? nil : issuer)
        json.member("subject", isPart ? nil : subject)
        json.member("tenant_id", tenantID)
        if let tenantName { json.member("tenant_name", tenantName) }
        json.member("user_id", userID)
        json.member("invite_id", inviteID)
        json.member("policy_version", policyVersion)
        json.member("trace", trace)
        json.member("duration_ms", isPart ? .null : JSONValue.number("\(durationMilliseconds)"))
        json.member("request_id", requestID)
        if let wouldAdmit { json.member("would_admit", wouldAdmit.document) }
        json.member("replay_of", JSONValue.null)
    }

    static let shape = ObjectShape(
        "Decision",
        [
            .readOnly("id", .uuid), .readOnly("created_at", .timestamp),
            .readOnly("outcome", .enumeration(of: Outcome.self)),
            .readOnly("reason", .enumeration(of: Reason.self), nullable: true),
            .readOnly(
                "reference", .string(), nullable: true,
                "What the person was told to name. Of a decision that belongs to no tenant, a "
                    + "tenant reads its own part alone: null is what is not told."),
            .readOnly("email", .string(), nullable: true),
            .readOnly("provider", .string(), nullable: true),
            .readOnly(
                "provider_name", .string(), always: false,
                "Of the registered provider that the call meant, if there is one."),
            .readOnly("issuer", .string(), nullable: true),
            .readOnly("subject", .string(), nullable: true),
            .readOnly("tenant_id", .uuid, nullable: true),
            .readOnly("tenant_name", .string(), always: false, "Absent without a tenant."),
            .readOnly("user_id", .uuid, nullable: true),
            .readOnly("invite_id", .uuid, nullable: true),
            .readOnly("policy_version", .integer(1...1_000_000_000), nullable: true),
            .readOnly("trace", .array(of: .any), "Each rule, its result and what it looked at."),
            .readOnly("duration_ms", .any), .readOnly("request_id", .string(), nullable: true),
            NearestYes.field,
            .readOnly("replay_of", .uuid, nullable: true),
        ])
}
