/// The extent of a column's permission in one row of the table.
package enum Reach: Sendable, Equatable {
    case none, own, all
    /// Only if the role that is given, or the role of the affected person, is at most this.
    case upTo(UserRole)
}

/// A column of the table of permissions.
package enum Column: Sendable, Hashable {
    case `operator`(Operator.Role)
    case user(UserRole)

    static let order: [Column] =
        [
            .operator(.owner), .operator(.admin), .operator(.developer), .operator(.support),
            .operator(.auditor), .user(.admin), .user(.manager), .user(.member),
        ]
}

/// The table of permissions, by right and role.
package enum PermissionTable {
    package static func reach(_ column: Column, _ right: Right) -> Reach {
        guard let at = Column.order.firstIndex(of: column) else { return .none }
        return row(right)[at]
    }

    private static func row(_ right: Right) -> [Reach] {
        let y = Reach.all
        let n = Reach.none
        let o = Reach.own
        let m = Reach.upTo(.member)
        let g = Reach.upTo(.manager)
        // own adm dev sup aud | admin manager member
        return switch right {
        case .readTenant, .readUsers, .readInvites, .readDecisions: [y, y, y, y, y, y, y, o]
        case .manageInvites: [y, y, n, m, n, y, g, n]
        case .createUsers, .editUsers, .approveUsers, .resumeUsers: [y, y, n, n, n, y, n, n]
        case .suspendUsers, .endSessions: [y, y, n, y, n, y, n, n]
        case .renameUser: [y, y, n, n, n, y, o, o]
        case .deleteUsers, .restoreUsers, .linkIdentities: [y, y, n, n, n, y, n, n]
        case .unlinkIdentities: [y, y, n, n, n, y, n, o]
        case .purgeUsers: [y, n, n, n, n, n, n, n]
        // A person who may revoke a key must be able to find it.
        case .listKeys: [y, y, y, y, y, y, o, o]
        case .writeKeys: [y, y, y, n, n, y, o, o]
        case .revokeKeys: [y, y, y, y, n, y, o, o]
        case .verifyKeys, .signUpHook: [y, y, y, n, n, y, n, n]
        case .readOrigins, .readClients: [y, y, y, n, y, y, n, n]
        case .writeOrigins, .writeClients: [y, y, y, n, n, n, n, n]
        case .evaluate, .evaluateOrigins: [y, y, y, y, y, y, n, n]
        case .readPolicy, .readProviders: [y, y, y, n, y, n, n, n]
        case .draftPolicy: [y, y, y, n, n, n, n, n]
        case .writePolicy, .writeProviders, .editTenant: [y, y, n, n, n, n, n, n]
        case .readAudit: [y, y, o, n, y, y, n, o]
        case .readOperators, .writeOperators, .suspendTenant, .deleteTenant, .exportPeople,
            .erasePeople:
            [y, n, n, n, n, n, n, n]
        case .createTenant, .verifyDomainByAssertion, .purgeTenant, .writePlatformProviders,
            .writePlatformOrigins, .writePlatformKeys, .reportBounces:
            [y, y, n, n, n, n, n, n]
        }
    }
}
