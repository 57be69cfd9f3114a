import Domain
import JSON
import Storage
import Text

/// The body of an attempt for the generic hook and the dry run.
enum AttemptShape {
    static let shape = ObjectShape(
        "Attempt",
        [
            FieldShape(
                "provider", .string(min: 1, max: 255), required: true,
                "A kind, or the id of a registered provider.", example: .string("google")),
            .nullable("issuer", .string(min: 1, max: 1024)),
            .required("subject", .string(min: 1, max: 1024), "The person's id at the issuer."),
            .nullable("email", .string(max: 1024)),
            .nullable("email_verified", .bool),
            .nullable("name", .string(max: ProvisioningCall.nameLimit)),
            .nullable("tenant", .string(min: 1, max: 63), "Id or slug."),
            .nullable("invite_token", .string(min: 1, max: 512)),
            .nullable("join_token", .string(min: 1, max: 512)),
            .nullable("link_grant", .string(min: 1, max: 512)),
            .nullable("client_id", .string(min: 1, max: 255)),
            .nullable("event_id", .string(min: 1, max: 255), "The same id is the same attempt."),
            .nullable("ip", .string(max: 64)),
            .nullable("user_agent", .string(max: 1024)),
            .nullable("claims", .map(of: .any)),
        ])

    static func call(_ call: Call) throws -> ProvisioningCall {
        let input = call.input
        var attempt = ProvisioningCall(
            provider: .attempt(
                try input.string("provider"), issuer: input.optionalString("issuer"),
                subject: try input.string("subject")))
        attempt.email = input.optionalString("email")
        attempt.emailVerified = input.optionalBool("email_verified")
        attempt.hostedDomain = input.optionalObject("claims")?.optionalString("hd")
        attempt.name = input.optionalString("name")
        attempt.tenant = input.optionalString("tenant")
        attempt.inviteToken = input.optionalString("invite_token")
        attempt.joinToken = input.optionalString("join_token")
        attempt.linkGrant = input.optionalString("link_grant")
        attempt.clientID = input.optionalString("client_id")
        attempt.eventID = input.optionalString("event_id")
        attempt.caller = call.callerTenant
        return attempt
    }
}

extension Call {
    /// The only tenant that a tenant's credential reaches; nil is the platform's.
    var callerTenant: UUID? { principal.platform ? nil : principal.tenant }
}
