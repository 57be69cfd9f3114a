import Text

/// The right to one kind of action of the API or the console.
package enum Right: String, Sendable, CaseIterable {
    case readTenant, readUsers, readInvites, readDecisions
    case manageInvites
    case createUsers, editUsers, renameUser, approveUsers, suspendUsers, resumeUsers, endSessions
    case deleteUsers, restoreUsers, linkIdentities, unlinkIdentities, purgeUsers
    case listKeys, writeKeys, revokeKeys, verifyKeys
    case readOrigins, writeOrigins, readClients, writeClients
    case evaluate, evaluateOrigins, signUpHook
    case readPolicy, draftPolicy, writePolicy, readProviders, writeProviders
    case readAudit
    case readOperators, writeOperators, suspendTenant, deleteTenant
    case editTenant
    case createTenant, verifyDomainByAssertion, purgeTenant
    case writePlatformProviders, writePlatformOrigins, writePlatformKeys, reportBounces
    case exportPeople, erasePeople

    /// Whether the right permits a change. When a key is compared with a role, only such rights
    /// count. If rights to read counted too, each new right to read would keep existing keys from
    /// giving roles that they can give now.
    var writes: Bool {
        switch self {
        case .readTenant, .readUsers, .readInvites, .readDecisions, .listKeys, .verifyKeys,
            .readOrigins, .readClients, .evaluate, .evaluateOrigins, .readPolicy, .readProviders,
            .readAudit, .readOperators, .exportPeople:
            false
        default: true
        }
    }

    /// Whether only the platform has the right: no role at a tenant has it.
    package var isPlatformOnly: Bool {
        switch self {
        case .createTenant, .verifyDomainByAssertion, .purgeTenant, .writePlatformProviders,
            .writePlatformOrigins, .writePlatformKeys, .reportBounces, .exportPeople, .erasePeople:
            true
        default: false
        }
    }

    /// Whether a key that belongs to a tenant may have the right. Rights that only owners have are
    /// reserved for people, so that an admin can give a scope without exceeding their own rights.
    var isForTenantKeys: Bool {
        switch self {
        case .purgeUsers, .suspendTenant, .deleteTenant: false
        default: !isPlatformOnly
        }
    }

    /// The management scope that includes the right; `nil` if no key may have it.
    package var scope: ManagementScope? {
        switch self {
        case .readTenant: .tenantsRead
        case .editTenant, .suspendTenant, .deleteTenant, .createTenant, .purgeTenant:
            .tenantsWrite
        case .readUsers, .readDecisions, .evaluate: .usersRead
        case .createUsers, .editUsers, .renameUser, .approveUsers, .suspendUsers, .resumeUsers,
            .endSessions, .deleteUsers, .restoreUsers, .linkIdentities, .unlinkIdentities,
            .purgeUsers:
            .usersWrite
        case .readInvites: .invitesRead
        case .manageInvites: .invitesWrite
        case .listKeys: .apiKeysRead
        case .writeKeys, .revokeKeys, .writePlatformKeys: .apiKeysWrite
        case .verifyKeys: .keysVerify
        case .readOrigins, .evaluateOrigins: .corsRead
        case .writeOrigins, .writePlatformOrigins: .corsWrite
        case .readClients: .clientsRead
        case .writeClients: .clientsWrite
        case .signUpHook: .hooksSignup
        case .readPolicy: .policyRead
        case .draftPolicy, .writePolicy, .verifyDomainByAssertion: .policyWrite
        case .readProviders: .providersRead
        case .writeProviders, .writePlatformProviders: .providersWrite
        case .readAudit: .auditRead
        case .readOperators: .operatorsRead
        case .writeOperators: .operatorsWrite
        case .reportBounces: .mailBounces
        // No key may export or erase a person's data; an owner must do it, after a step-up.
        case .exportPeople, .erasePeople: nil
        }
    }
}

/// The scopes by which a key gets rights at `/v1`. Any other scope belongs to a tenant's own
/// catalogue.
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

    /// Whether the scope is as powerful as an admin's rights. With such a scope a key can create
    /// operators, or change the proof that people need to become users.
    package var isAdminEquivalent: Bool {
        switch self {
        case .providersWrite, .clientsWrite, .policyWrite, .operatorsWrite, .hooksSignup: true
        default: false
        }
    }

    /// Whether a key with this scope may be bound to addresses, origins or a rate. Admin-equivalent
    /// scopes exclude bounds. The exception is `hooksSignup`, because hooks call from fixed
    /// addresses.
    package var mayBeBound: Bool { !isAdminEquivalent || self == .hooksSignup }

    /// Finds the scope by its name, compared by bytes; nil if there is none.
    package init?(named text: String) {
        guard let scope = Self.allCases.first(where: { sameBytes($0.rawValue, text) }) else {
            return nil
        }
        self = scope
    }

    package var rights: [Right] { Right.allCases.filter { $0.scope == self } }
}
