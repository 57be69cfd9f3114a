import Domain
import JSON
import Storage
import Text

extension OperatorRow: JSONView {
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("email", email)
            $0.member("name", name)
            $0.member("role", role)
            $0.object("scope") {
                $0.member("tenant_id", tenant)
                if let tenantName { $0.member("tenant_name", tenantName) }
            }
            $0.member("status", status)
            $0.member("confirmed", isConfirmed)
            $0.object("factors") {
                $0.member("passkeys", factors.passkeys)
                $0.member("passkeys_unusable", factors.unusablePasskeys)
                $0.member("totp", factors.totp)
                $0.member("recovery_codes_left", factors.recoveryCodesLeft)
                $0.member("provider", factors.providerKind != nil)
            }
            $0.member("second_factor_due", secondFactorDue)
            $0.member("created_at", createdAt)
            $0.member("updated_at", updatedAt)
            $0.member("last_sign_in_at", lastSignInAt)
        }
    }

    var etag: String { ETag.version(version) }

    static let shape = ObjectShape(
        "Operator",
        [
            .readOnly("id", .uuid), FieldShape("email", .email),
            FieldShape("name", .string(min: 1, max: 200, rule: .displayName), nullable: true),
            FieldShape("role", .enumeration(of: Operator.Role.self)),
            FieldShape(
                "scope",
                .object(
                    ObjectShape(
                        "OperatorScope",
                        [
                            .nullable("tenant_id", .uuid),
                            .readOnly("tenant_name", .string(), always: false),
                        ])),
                "One tenant, or null for the platform."),
            .readOnly("status", .enumeration(of: Operator.Status.self)),
            .readOnly(
                "confirmed", .bool,
                "The mailbox is proved, or the platform made the operator; an address has one such."
            ),
            .readOnly(
                "factors",
                .object(
                    ObjectShape(
                        "OperatorFactors",
                        [
                            .readOnly(
                                "passkeys", .integer(0...Int(Int32.max)),
                                "How many browsers offer at this server's name."),
                            .readOnly(
                                "passkeys_unusable", .integer(0...Int(Int32.max)),
                                "Those of another name of the server, and those that were disowned: no "
                                    + "password alone signs in beside them."),
                            .readOnly("totp", .bool, "An authenticator app is set up."),
                            .readOnly(
                                "recovery_codes_left", .integer(0...Int(Int32.max)),
                                "Those that are not used."),
                            .readOnly(
                                "provider", .bool,
                                "Signs in at the provider of `/v1/operator-sign-in`."),
                        ])), "What the operator signs in with besides a password."),
            .readOnly(
                "second_factor_due", .timestamp, nullable: true,
                "From then on nothing but the own account opens without a second factor."),
            .readOnly("created_at", .timestamp), .readOnly("updated_at", .timestamp),
            .readOnly("last_sign_in_at", .timestamp, nullable: true),
        ])
}
