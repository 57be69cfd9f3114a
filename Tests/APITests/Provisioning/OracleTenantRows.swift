import Cryptography
import Domain
import JSON
import Storage
import Text

// The rows of one tenant.
extension OracleRows {
    mutating func addDomain(_ state: OracleState, _ tenant: OracleTenant) {
        guard tenant.claim != .none else { return }
        let isVerified = tenant.claim != .pending
        let isAbove = tenant.claim == .above || tenant.claim == .aboveAlone
        let name = isAbove ? state.above : state.domain
        put(
            "domains",
            [
                ("tenant_id", id(tenant.id)), ("id", id(UUID.random())),
                ("domain", .string(name)), ("display", .string(name)),
                ("status", .string(isVerified ? "verified" : "pending")),
                ("include_subdomains", .bool(tenant.claim == .above)), ("token", .string("t")),
                ("mode", tenant.mode.map { .string($0.rawValue) } ?? .null),
                ("role", tenant.domainRole.map { .string($0.rawValue) } ?? .null),
                ("method", isVerified ? .string("operator") : .null), ("created_at", time(-80)),
                ("verified_at", isVerified ? time(-70) : .null),
            ])
        guard isVerified else { return }
        put("directory_domains", [("domain", .string(name)), ("tenant_id", id(tenant.id))])
    }

    mutating func addUsers(_ state: OracleState, _ tenant: OracleTenant) {
        if tenant.row != .none {
            let (status, source) = Self.words(tenant.row)
            let isProved = tenant.row != .activeUnproved && status != "pending"
            let isLongAgo = tenant.row == .deletedLongAgo
            addUser(
                tenant, tenant.rowID, state.email, status, source, tenant.rowRole, isProved,
                deleted: status == "deleted" ? (isLongAgo ? -31 * 86_400 : -3600) : nil,
                isDeclined: tenant.row == .declined)
            if status == "active" || status == "suspended", tenant.signIn == .none {
                // A sign-in that is not the attempt's.
                addIdentity(
                    tenant, tenant.rowID, ("oidc", "https://first.example"), "f\(state.number)")
            }
        }
        var other: String?
        switch tenant.signIn {
        case .ofOther: other = "active"
        case .ofOtherSuspended: other = "suspended"
        case .ofOtherDeleted: other = "deleted"
        default: break
        }
        if let other {
            addUser(
                tenant, tenant.otherID, "other@\(state.domain)", other, "operator", .member, true,
                deleted: other == "deleted" ? -3600 : nil)
        }
        if tenant.invited == .elsewhere {
            addUser(
                tenant, tenant.elsewhereID, "elsewhere@\(state.domain)", "pending", "invite",
                tenant.invitedRole, false)
        }
    }

    /// Who gave the invite its role: a user or an operator of the tenant.
    mutating func addGiver(_ state: OracleState, _ tenant: OracleTenant) {
        let email = "giver@\(state.domain)"
        switch tenant.giver {
        case .machine: return
        case .userAdmin, .userManager, .userMember, .userSuspended:
            var role = UserRole.admin
            if tenant.giver == .userManager { role = .manager }
            if tenant.giver == .userMember { role = .member }
            let status = tenant.giver == .userSuspended ? "suspended" : "active"
            addUser(tenant, tenant.giverID, email, status, "operator", role, true)
        case .operatorAdmin, .operatorSupport, .operatorDeveloper, .operatorSuspended:
            var role = "admin"
            if tenant.giver == .operatorSupport { role = "support" }
            if tenant.giver == .operatorDeveloper { role = "developer" }
            let status = tenant.giver == .operatorSuspended ? "suspended" : "active"
            put(
                "operators",
                [
                    ("id", id(tenant.giverID)), ("email", .string(email)),
                    ("email_key", .string(email)), ("role", .string(role)),
                    ("tenant_id", id(tenant.id)), ("status", .string(status)),
                    ("version", .int(1)), ("created_at", time(-80)), ("updated_at", time(-80)),
                    ("confirmed", .bool(false)),
                ])
        }
    }

    mutating func addGrant(_ state: OracleState, _ tenant: OracleTenant) {
        put(
            "link_grants",
            [
                ("tenant_id", id(tenant.id)), ("id", id(UUID.random())),
                ("token_hash", bytes(SHA256.hash(Array(Self.grant(state).utf8)))),
                ("user_id", id(tenant.rowID)), ("created_at", time(-30)),
                ("expires_at", time(tenant.grant == .expired ? -1 : 1800)),
                ("used_at", tenant.grant == .used ? time(-10) : .null),
            ])
    }

    private static func words(_ row: OracleTenant.Row) -> (status: String, source: String) {
        switch row {
        case .none, .byOperator: ("pending", "operator")
        case .byImport: ("pending", "import")
        case .byInvite: ("pending", "invite")
        case .awaits: ("pending", "approval")
        case .active, .activeUnproved: ("active", "sign_up")
        case .suspended: ("suspended", "operator")
        case .deletedLately, .deletedLongAgo: ("deleted", "operator")
        case .declined: ("deleted", "approval")
        }
    }

    private mutating func addUser(
        _ tenant: OracleTenant, _ user: UUID, _ email: String, _ status: String,
        _ source: String, _ role: UserRole, _ isProved: Bool, deleted: Int64? = nil,
        isDeclined: Bool = false
    ) {
        put(
            "users",
            [
                ("tenant_id", id(tenant.id)), ("id", id(user)), ("email", .string(email)),
                ("email_key", .string(email)), ("role", .string(role.rawValue)),
                ("status", .string(status)), ("source", .string(source)),
                ("email_verified_at", isProved ? time(-60) : .null), ("version", .int(1)),
                ("must_change_password", .bool(false)), ("created_at", time(-60)),
                ("updated_at", time(-60)), ("deleted_at", deleted.map { time($0) } ?? .null),
                ("declined_at", isDeclined ? time(-3600) : .null),
            ])
        addPerson(tenant, storage.personKey(emailKey: email))
    }

    private mutating func addPerson(_ tenant: OracleTenant, _ key: [UInt8]) {
        put("directory_people", [("key", bytes(key)), ("tenant_id", id(tenant.id))])
    }

    mutating func addInvite(
        _ state: OracleState, _ tenant: OracleTenant, _ index: Int
    ) {
        guard tenant.invited != .none else { return }
        let isElsewhere = tenant.invited == .elsewhere
        let email = isElsewhere ? "elsewhere@\(state.domain)" : state.email
        var status = "pending"
        if tenant.invited == .revoked { status = "revoked" }
        if tenant.invited == .used { status = "accepted" }
        let isUsed = tenant.invited == .used
        let giver = tenant.giverParts
        let isChanged = tenant.isChanged && giver != nil
        let inviter = isChanged ? nil : giver
        put(
            "invites",
            [
                ("tenant_id", id(tenant.id)), ("id", id(tenant.inviteID)),
                ("email", .string(email)), ("email_key", .string(email)),
                ("role", .string(tenant.invitedRole.rawValue)),
                ("delivery", .string(tenant.invited == .byLink ? "link" : "mail")),
                ("status", .string(status)),
                ("token_hash", bytes(SHA256.hash(Array(Self.token(state, index).utf8)))),
                ("inviter_type", .string(inviter?.type ?? "system")),
                ("inviter_id", .string(inviter?.id ?? "test")),
                ("inviter_name", .string("Test")), ("external", .bool(false)),
                ("role_by_type", isChanged ? .string(giver?.type ?? "") : .null),
                ("role_by_id", isChanged ? .string(giver?.id ?? "") : .null),
                ("sent_count", .int(1)),
                ("expires_at", time(tenant.invited == .expired ? -1 : 3600)),
                ("accepted_at", isUsed ? time(-30) : .null),
                ("accepted_user_id", isUsed ? id(UUID.random()) : .null),
                ("version", .int(1)), ("created_at", time(-50)), ("updated_at", time(-50)),
            ])
        addPerson(tenant, storage.personKey(emailKey: email))
    }

    mutating func addSignIn(_ state: OracleState, _ tenant: OracleTenant) {
        let key = Self.key(state)
        let person = storage.personKey(
            provider: key.provider, issuer: key.issuer, subject: state.subject)
        switch tenant.signIn {
        case .none: return
        case .barredBefore, .barredAfter:
            // The bar names the user who had the sign-in, which is no user's any more.
            let user = UUID.random()
            addUser(tenant, user, "gone@\(state.domain)", "active", "operator", .member, true)
            put(
                "barred_identities",
                [
                    ("tenant_id", id(tenant.id)), ("provider", .string(key.provider)),
                    ("issuer", .string(key.issuer)), ("subject", .string(state.subject)),
                    ("user_id", id(user)),
                    ("barred_at", time(tenant.signIn == .barredBefore ? -55 : -45)),
                ])
        case .ofRow: addIdentity(tenant, tenant.rowID, key, state.subject)
        case .byPlatform, .byTenant:
            addIdentity(
                tenant, tenant.rowID, key, state.subject, byHand: true,
                isAssertedByTenant: tenant.signIn == .byTenant)
        case .ofOther, .ofOtherSuspended, .ofOtherDeleted:
            addIdentity(tenant, tenant.otherID, key, state.subject)
        }
        if tenant.knownID != nil { addPerson(tenant, person) }
    }

    private mutating func addIdentity(
        _ tenant: OracleTenant, _ user: UUID, _ key: (provider: String, issuer: String),
        _ subject: String, byHand: Bool = false, isAssertedByTenant: Bool = false
    ) {
        put(
            "identities",
            [
                ("tenant_id", id(tenant.id)), ("id", id(UUID.random())), ("user_id", id(user)),
                ("provider", .string(key.provider)), ("issuer", .string(key.issuer)),
                ("subject", .string(subject)), ("email_verified", .bool(!byHand)),
                ("created_at", time(-40)), ("tenants_word", .bool(isAssertedByTenant)),
                ("linked_by_type", byHand ? .string("operator") : .null),
                ("linked_by_id", byHand ? .string("test") : .null),
            ])
    }
}

extension OracleTenant {
    /// How an invite's columns name its giver; nil: a machine.
    var giverParts: (type: String, id: String)? {
        switch giver {
        case .machine: nil
        case .operatorAdmin, .operatorSupport, .operatorDeveloper, .operatorSuspended:
            ("operator", giverID.description)
        case .userAdmin, .userManager, .userMember, .userSuspended:
            ("user", giverID.description)
        }
    }
}
