import Cryptography
import Domain
import JSON
import Postgres
import Storage
import TestSupport
import Text

/// Writes the worlds of many states at once: one statement a table.
struct OracleRows {
    static let pool = "eu-central-1_oracle"
    static let issuer = "https://issuer.example"
    static let google = "https://accounts.google.com"

    private var tables: [String: [JSONValue]] = [:]
    private let storage: Database
    private let now: Timestamp

    init(_ storage: Database) {
        self.storage = storage
        now = storage.clock()
    }

    static func token(_ state: OracleState, _ index: Int) -> String {
        "inv_\(locator(state, index))\(state.tenants[index].inviteID)"
    }

    /// Six characters that no other tenant has.
    private static func locator(_ state: OracleState, _ index: Int) -> String {
        let text = "\(state.number * 4 + index)"
        return String(repeating: "a", count: 6 - text.utf8.count) + text
    }

    static func providerID(_ state: OracleState) -> UUID {
        UUID(high: 0x4000, low: 1 << 63 | UInt64(state.number))
    }

    static func key(_ state: OracleState) -> (provider: String, issuer: String) {
        if state.isNative { return ("cognito", pool) }
        let own = "\(issuer)/\(state.number)"
        return state.trust == .google ? ("google", own) : ("oidc", own)
    }

    mutating func add(_ state: OracleState) {
        if !state.isNative { addProvider(state) }
        for index in state.tenants.indices { add(state, index) }
    }

    private mutating func put(_ table: String, _ members: [(String, JSONValue)]) {
        tables[table, default: []].append(
            .object(members.map { JSONValue.Member($0.0, $0.1) }))
    }

    private func time(_ seconds: Int64) -> JSONValue {
        .string(now.adding(seconds: seconds).description)
    }

    private func id(_ id: UUID) -> JSONValue { .string(id.description) }
    private func bytes(_ bytes: [UInt8]) -> JSONValue { .string("\\x" + Hex.encode(bytes)) }

    private mutating func addProvider(_ state: OracleState) {
        var trust = "none"
        var domains: [JSONValue] = []
        switch state.trust {
        case .google, .none: break
        case .claim: trust = "verified_claim"
        case .owner: (trust, domains) = ("authoritative", [.string(state.domain)])
        case .ownerElsewhere: (trust, domains) = ("authoritative", [.string("elsewhere.example")])
        }
        var document: [JSONValue.Member] = [.init("client_id", .string("web"))]
        if state.trust != .google {
            document += [
                .init("email_trust", .string(trust)), .init("domains", .array(domains)),
            ]
        }
        let key = Self.key(state)
        put(
            "providers",
            [
                ("id", id(Self.providerID(state))),
                ("tenant_id", state.isOwnProvider ? id(state.tenants[0].id) : .null),
                ("kind", .string(key.provider)), ("name", .string("P")),
                ("issuer", .string(key.issuer)), ("document", .object(document)),
                ("version", .int(1)), ("created_at", time(0)), ("updated_at", time(0)),
                ("confirmed", .bool(true)),
            ])
    }

    private mutating func add(_ state: OracleState, _ index: Int) {
        let tenant = state.tenants[index]
        let slug = "t\(state.number)-\(index)"
        let locator = Self.locator(state, index)
        put(
            "tenants",
            [
                ("id", id(tenant.id)), ("slug", .string(slug)), ("name", .string(slug)),
                ("locator", .string(locator)), ("status", .string(tenant.status.rawValue)),
                ("policy_version", .int(1)), ("version", .int(1)), ("created_at", time(-90)),
                ("updated_at", time(-90)),
                ("deleted_at", tenant.status == .deleted ? time(-60) : .null),
            ])
        put("directory_slugs", [("slug", .string(slug)), ("tenant_id", id(tenant.id))])
        put("directory_locators", [("locator", .string(locator)), ("tenant_id", id(tenant.id))])
        put(
            "policies",
            [
                ("tenant_id", id(tenant.id)), ("version", .int(1)),
                ("document", policy(state, tenant)), ("created_by", .string("test")),
                ("created_at", time(-90)),
            ])
        addDomain(state, tenant)
        addUsers(state, tenant)
        addInvite(state, tenant, index)
        addSignIn(state, tenant)
    }

    private func policy(_ state: OracleState, _ tenant: OracleTenant) -> JSONValue {
        var policy = TenantPolicy()
        policy.signUp = tenant.signUp
        policy.defaultRole = tenant.defaultRole
        switch tenant.filter {
        case .none: break
        case .here: policy.allowedDomains = [state.domain]
        case .elsewhere: policy.allowedDomains = ["elsewhere.example"]
        }
        policy.externalInvites = tenant.externalInvites
        policy.inviteEmailMustMatch = tenant.mustMatch
        policy.autoLink = tenant.autoLink ? .authoritative : .off
        return policy.document
    }

    private mutating func addDomain(_ state: OracleState, _ tenant: OracleTenant) {
        guard tenant.claim != .none else { return }
        let isVerified = tenant.claim == .verified
        put(
            "domains",
            [
                ("tenant_id", id(tenant.id)), ("id", id(UUID.random())),
                ("domain", .string(state.domain)), ("display", .string(state.domain)),
                ("status", .string(isVerified ? "verified" : "pending")),
                ("include_subdomains", .bool(false)), ("token", .string("t")),
                ("method", isVerified ? .string("operator") : .null), ("created_at", time(-80)),
                ("verified_at", isVerified ? time(-70) : .null),
            ])
        guard isVerified else { return }
        put(
            "directory_domains",
            [("domain", .string(state.domain)), ("tenant_id", id(tenant.id))])
    }

    private mutating func addUsers(_ state: OracleState, _ tenant: OracleTenant) {
        if tenant.row != .none {
            let (status, source) = Self.words(tenant.row)
            let isProved = tenant.row != .activeUnproved && status != "pending"
            let isLongAgo = tenant.row == .deletedLongAgo
            addUser(
                tenant, tenant.rowID, state.email, status, source, tenant.rowRole, isProved,
                deleted: status == "deleted" ? (isLongAgo ? -31 * 86_400 : -3600) : nil)
            if status == "active" || status == "suspended", tenant.signIn == .none {
                // Somebody else's sign-in, or none that is left.
                addIdentity(
                    tenant, tenant.rowID, ("oidc", "https://first.example"), "f\(state.number)")
            }
        }
        if tenant.signIn == .ofOther || tenant.signIn == .ofOtherSuspended {
            addUser(
                tenant, tenant.otherID, "other@\(state.domain)",
                tenant.signIn == .ofOther ? "active" : "suspended", "operator", .member, true)
        }
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
        }
    }

    private mutating func addUser(
        _ tenant: OracleTenant, _ user: UUID, _ email: String, _ status: String,
        _ source: String, _ role: UserRole, _ isProved: Bool, deleted: Int64? = nil
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
            ])
        addPerson(tenant, storage.personKey(emailKey: email))
    }

    private mutating func addPerson(_ tenant: OracleTenant, _ key: [UInt8]) {
        put("directory_people", [("key", bytes(key)), ("tenant_id", id(tenant.id))])
    }

    private mutating func addInvite(
        _ state: OracleState, _ tenant: OracleTenant, _ index: Int
    ) {
        guard tenant.invited != .none else { return }
        let isLink = tenant.invited == .byLink
        put(
            "invites",
            [
                ("tenant_id", id(tenant.id)), ("id", id(tenant.inviteID)),
                ("email", .string(state.email)), ("email_key", .string(state.email)),
                ("role", .string(tenant.invitedRole.rawValue)),
                ("delivery", .string(isLink ? "link" : "mail")),
                ("status", .string(tenant.invited == .revoked ? "revoked" : "pending")),
                ("token_hash", bytes(SHA256.hash(Array(Self.token(state, index).utf8)))),
                ("inviter_type", .string("system")), ("inviter_id", .string("test")),
                ("inviter_name", .string("Test")), ("external", .bool(false)),
                ("sent_count", .int(1)),
                ("expires_at", time(tenant.invited == .expired ? -1 : 3600)),
                ("version", .int(1)), ("created_at", time(-50)), ("updated_at", time(-50)),
            ])
        addPerson(tenant, storage.personKey(emailKey: state.email))
    }

    private mutating func addSignIn(_ state: OracleState, _ tenant: OracleTenant) {
        let key = Self.key(state)
        switch tenant.signIn {
        case .none: return
        case .barredBefore, .barredAfter:
            // Any user will do whose purge ends it; the sign-in is no one's any more.
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
                isTenantsWord: tenant.signIn == .byTenant)
        case .ofOther, .ofOtherSuspended:
            addIdentity(tenant, tenant.otherID, key, state.subject)
        }
        if tenant.knownID != nil { addPerson(tenant, person) }
    }

    private mutating func addIdentity(
        _ tenant: OracleTenant, _ user: UUID, _ key: (provider: String, issuer: String),
        _ subject: String, byHand: Bool = false, isTenantsWord: Bool = false
    ) {
        put(
            "identities",
            [
                ("tenant_id", id(tenant.id)), ("id", id(UUID.random())), ("user_id", id(user)),
                ("provider", .string(key.provider)), ("issuer", .string(key.issuer)),
                ("subject", .string(subject)), ("email_verified", .bool(!byHand)),
                ("created_at", time(-40)), ("tenants_word", .bool(isTenantsWord)),
                ("linked_by_type", byHand ? .string("operator") : .null),
                ("linked_by_id", byHand ? .string("test") : .null),
            ])
    }

    /// In an order in which each row finds what it refers to. The columns are those that are given.
    func write(as administrator: Postgres) async throws {
        let order = [
            "tenants", "directory_slugs", "directory_locators", "policies", "providers", "domains",
            "directory_domains", "users", "identities", "invites", "barred_identities",
            "directory_people",
        ]
        for table in order {
            guard let rows = tables[table], let columns = rows.first?.members?.map(\.name) else {
                continue
            }
            let list = columns.joined(separator: ", ")
            let document = JSONB(
                String(decoding: JSONValue.array(rows).encoded(), as: UTF8.self))
            _ = try await administrator.query(
                """
                INSERT INTO \(raw: table) (\(raw: list)) SELECT \(raw: list)
                FROM jsonb_populate_recordset(NULL::\(raw: table), \(document))
                ON CONFLICT DO NOTHING
                """)
        }
    }
}
