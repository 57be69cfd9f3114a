import Text

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

    /// Whether it leads to the rights of an admin by design: it moves the trust by which people
    /// become users, or makes operators.
    package var isAdminEquivalent: Bool {
        switch self {
        case .providersWrite, .clientsWrite, .policyWrite, .operatorsWrite, .hooksSignup: true
        default: false
        }
    }

    /// Whether a key that is bound by addresses, origins or a rate may be made with it. A hook
    /// speaks for a provider from one place.
    package var mayBeBound: Bool { !isAdminEquivalent || self == .hooksSignup }

    /// By its text; compared by bytes.
    package init?(named text: String) {
        guard let scope = Self.allCases.first(where: { sameBytes($0.rawValue, text) }) else {
            return nil
        }
        self = scope
    }

    package var rights: [Right] { Right.allCases.filter { $0.scope == self } }
}
