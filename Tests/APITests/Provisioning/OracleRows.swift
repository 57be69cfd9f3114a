import Cryptography
import Domain
import JSON
import Postgres
import Storage
import TestSupport
import Text

/// Writes the worlds of many states at once: one statement a table.
struct OracleRows {
    /// Refuses users without a tenant, allows them where an administrator makes them.
    static let pools = ["eu-central-1_refuses", "eu-central-1_allows"]
    static let issuer = "https://issuer.example"

    private var tables: [String: [JSONValue]] = [:]
    let storage: Database
    private let now: Timestamp

    init(_ storage: Database) {
        self.storage = storage
        now = storage.clock()
    }

    static func token(_ state: OracleState, _ index: Int) -> String {
        "inv_\(locator(state, index))\(state.tenants[index].inviteID)"
    }

    /// Six characters that no other tenant has.
    static func locator(_ state: OracleState, _ index: Int) -> String {
        let text = "\(state.number * 4 + index)"
        return String(repeating: "a", count: 6 - text.utf8.count) + text
    }

    static func pool(_ state: OracleState) -> String {
        pools[state.native == .madeAllowed ? 1 : 0]
    }

    static func grant(_ state: OracleState) -> String { "grant \(state.number)" }

    static func providerID(_ state: OracleState) -> UUID {
        UUID(high: 0x4000, low: 1 << 63 | UInt64(state.number))
    }

    static func key(_ state: OracleState) -> (provider: String, issuer: String) {
        if state.isNative { return ("cognito", pool(state)) }
        let own = "\(issuer)/\(state.number)"
        return state.trust == .google ? ("google", own) : ("oidc", own)
    }

    mutating func add(_ state: OracleState) {
        if !state.isNative { addProvider(state) }
        for index in state.tenants.indices { add(state, index) }
    }

    mutating func put(_ table: String, _ members: [(String, JSONValue)]) {
        tables[table, default: []].append(
            .object(members.map { JSONValue.Member($0.0, $0.1) }))
    }

    func time(_ seconds: Int64) -> JSONValue {
        .string(now.adding(seconds: seconds).description)
    }

    func id(_ id: UUID) -> JSONValue { .string(id.description) }
    func bytes(_ bytes: [UInt8]) -> JSONValue { .string("\\x" + Hex.encode(bytes)) }

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
        addGiver(state, tenant)
        addInvite(state, tenant, index)
        addJoinLink(state, tenant, index)
        addSignIn(state, tenant)
        if state.granted == index { addGrant(state, tenant) }
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
        switch tenant.block {
        case .none: break
        case .others:
            policy.blockedEmails = ["ben@\(state.domain)"]
            policy.blockedDomains = ["n\(state.domain)", "other.example"]
            policy.blockDisposable = true
        case .address: policy.blockedEmails = ["ben@\(state.domain)", state.email]
        case .domain: policy.blockedDomains = [state.domain]
        case .above: policy.blockedDomains = ["other.example", state.above]
        }
        policy.externalInvites = tenant.externalInvites
        policy.inviteEmailMustMatch = tenant.mustMatch
        policy.autoLink = tenant.autoLink ? .authoritative : .off
        return policy.document
    }

    /// In an order in which each row finds what it refers to. The columns are those that are given.
    func write(as administrator: Postgres) async throws {
        let order = [
            "tenants", "directory_slugs", "directory_locators", "policies", "providers", "domains",
            "directory_domains", "operators", "users", "identities", "invites", "link_grants",
            "barred_identities", "join_links", "directory_people",
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
                \(raw: table == "directory_people" ? "ON CONFLICT DO NOTHING" : "")
                """)
        }
    }
}
