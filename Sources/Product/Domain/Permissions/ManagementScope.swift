/// The scopes that give rights at `/v1`. Any other scope belongs to a tenant's own catalogue.
package enum ManagementScope: String, Sendable, CaseIterable {
    case tenantsRead = "tenants:read"
    case tenantsWrite = "tenants:write"
    case usersRead = "users:read"
    case usersWrite = "users:write"
    case invitesRead = "invites:read"
    case invitesWrite = "invites:write"
    case apiKeysRead = "api-keys:read"
    case apiKeysWrite = "api-keys:write"
    case corsRead = "cors:read"
    case corsWrite = "cors:write"
    case policyRead = "policy:read"
    case policyWrite = "policy:write"
    case providersRead = "providers:read"
    case providersWrite = "providers:write"
    case clientsRead = "clients:read"
    case clientsWrite = "clients:write"
    case auditRead = "audit:read"
    case operatorsRead = "operators:read"
    case operatorsWrite = "operators:write"
    case hooksSignup = "hooks:signup"
    case keysVerify = "keys:verify"
    case mailBounces = "mail:bounces"

    package var rights: [Right] { Right.allCases.filter { $0.scope == self } }
}
