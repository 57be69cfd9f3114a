import Domain
import Testing
import Text

@Suite struct PermissionTests {
    static let me = UUID(high: 1, low: 1)
    static let home = RuleFixture.acme

    /// owner, admin, developer, support, auditor, user admin, manager, member; `o` own, `m` up to
    /// member, `g` up to manager.
    static let table: [(Right, String)] = [
        (.readUsers, "yyyyyyyo"), (.readTenant, "yyyyyyyo"), (.readInvites, "yyyyyyyo"),
        (.readDecisions, "yyyyyyyo"), (.manageInvites, "yy-m-yg-"), (.createUsers, "yy---y--"),
        (.editUsers, "yy---y--"), (.approveUsers, "yy---y--"), (.resumeUsers, "yy---y--"),
        (.suspendUsers, "yy-y-y--"), (.endSessions, "yy-y-y--"), (.renameUser, "yy---yoo"),
        (.deleteUsers, "yy---y--"), (.restoreUsers, "yy---y--"), (.linkIdentities, "yy---y--"),
        (.unlinkIdentities, "yy---y-o"), (.purgeUsers, "y-------"), (.writeKeys, "yyy--yoo"),
        (.revokeKeys, "yyyy-yoo"), (.listKeys, "yyyyyyoo"), (.writeOrigins, "yyy-----"),
        (.readOrigins, "yyy-yy--"), (.writeClients, "yyy-----"), (.readClients, "yyy-yy--"),
        (.evaluate, "yyyyyy--"), (.writePolicy, "yy------"), (.draftPolicy, "yyy-----"),
        (.readPolicy, "yyy-y---"), (.writeProviders, "yy------"), (.readAudit, "yyo-yy-o"),
        (.writeOperators, "y-------"), (.suspendTenant, "y-------"), (.deleteTenant, "y-------"),
    ]

    static var columns: [Principal] {
        Operator.Role.allCases.map { .operator(id: me, role: $0, tenant: home) }
            + [UserRole.admin, .manager, .member].map { .user(id: me, role: $0, tenant: home) }
    }

    @Test(arguments: table) func `each cell of the table holds`(right: Right, cells: String) {
        for (principal, cell) in zip(Self.columns, cells.utf8) {
            func may(_ target: PermissionTarget) -> Bool {
                Permissions.permits(principal, right, in: Self.home, target: target) == .allowed
            }
            let foreign = may(PermissionTarget(ownerID: RuleFixture.bob, role: .admin))
            let own = may(PermissionTarget(ownerID: Self.me, role: .admin))
            let member = may(PermissionTarget(ownerID: RuleFixture.bob, role: .member))
            let manager = may(PermissionTarget(ownerID: RuleFixture.bob, role: .manager))
            let y = cell == UInt8(ascii: "y")
            let g = cell == UInt8(ascii: "g")
            #expect(foreign == y, "\(right) \(principal)")
            #expect(own == (y || cell == UInt8(ascii: "o")), "\(right) \(principal)")
            #expect(member == (y || g || cell == UInt8(ascii: "m")), "\(right) \(principal)")
            #expect(manager == (y || g), "\(right) \(principal)")
        }
    }

    @Test func `another tenant is not there, and the platform sees all`() {
        let mine = Principal.operator(id: Self.me, role: .owner, tenant: Self.home)
        #expect(Permissions.permits(mine, .readUsers, in: RuleFixture.other) == .notFound)
        let platform = Principal.operator(id: Self.me, role: .owner, tenant: nil)
        #expect(Permissions.permits(platform, .readUsers, in: RuleFixture.other) == .allowed)
        #expect(Permissions.permits(mine, .createTenant, in: nil) != .allowed)
        #expect(Permissions.permits(mine, .verifyDomainByAssertion, in: Self.home) != .allowed)
    }

    @Test func `a user's key has its scopes only within the user's column`() {
        func key(_ role: UserRole, _ scopes: [String]) -> Principal {
            let owner = Principal.KeyOwner.user(id: Self.me, role: role, tenant: Self.home)
            return .key(id: RuleFixture.bob, owner: owner, scopes: scopes)
        }
        let may = { Permissions.permits($0, .createUsers, in: Self.home) }
        #expect(may(key(.admin, ["users:write"])) == .allowed)
        #expect(may(key(.admin, ["users:read"])) == .forbidden(missing: "users:write"))
        #expect(may(key(.member, ["users:write"])) == .forbidden(missing: "createUsers"))
    }

    @Test func `a tenant's key has its scopes only in its tenant`() {
        let key = Principal.key(id: Self.me, owner: .tenant(Self.home), scopes: ["invites:write"])
        #expect(Permissions.permits(key, .manageInvites, in: Self.home) == .allowed)
        #expect(Permissions.permits(key, .manageInvites, in: RuleFixture.other) == .notFound)
        #expect(Permissions.permits(.anyone, .readUsers, in: Self.home) != .allowed)
    }

    @Test func `no role grants more than its own rights`() {
        let widest = Self.columns.map { Permissions.widestInvite($0, in: Self.home) }
        #expect(widest == [.admin, .admin, nil, .member, nil, .admin, .manager, nil])
        func key(_ scopes: [String], isBound: Bool = false) -> Principal {
            .key(
                id: Self.me, owner: .tenant(Self.home), scopes: scopes,
                limits: Principal.KeyLimits(isBound: isBound))
        }
        let all = ["users:write", "invites:write", "api-keys:write", "hooks:signup"]
        #expect(Permissions.widestRole(key(["users:write"]), in: Self.home) == .member)
        #expect(Permissions.widestRole(key(["invites:write"]), in: Self.home) == .manager)
        #expect(Permissions.widestRole(key(all), in: Self.home) == .admin)
        #expect(Permissions.widestRole(key(all, isBound: true), in: Self.home) == .manager)
        #expect(
            Permissions.lacking(key(["users:write"]), for: .admin, in: Self.home)
                == ["invites:write", "api-keys:write", "hooks:signup"])
        let developer = Self.columns[2]
        let asked = ["api:read", "api-keys:write", "operators:write"]
        #expect(
            Permissions.scopesBeyond(developer, asked: asked, in: Self.home) == ["operators:write"])
        let key = Principal.key(id: Self.me, owner: .tenant(Self.home), scopes: ["users:read"])
        #expect(
            Permissions.scopesBeyond(key, asked: ["users:read", "users:write"], in: Self.home)
                == ["users:write"])
    }

    @Test func `a key gives no more than its issuer has`() {
        func beyond(_ at: Int, _ scope: String) -> Bool {
            !Permissions.scopesBeyond(Self.columns[at], asked: [scope], in: Self.home).isEmpty
        }
        #expect(beyond(2, "policy:write"))
        #expect(!beyond(1, "policy:write"))
        #expect(!beyond(1, "users:write"))
        #expect(beyond(1, "operators:write"))
        let key = Principal.key(id: Self.me, owner: .tenant(Self.home), scopes: ["users:write"])
        #expect(Permissions.permits(key, .deleteUsers, in: Self.home) == .allowed)
        #expect(Permissions.permits(key, .purgeUsers, in: Self.home) != .allowed)
    }

    @Test func `the last owner stays and the last identity is not unlinked`() {
        #expect(!Operator.mayLeave(.owner, becoming: nil, owners: 1))
        #expect(Operator.mayLeave(.owner, becoming: .admin, owners: 2))
        let member = Principal.user(id: Self.me, role: .member, tenant: Self.home)
        let last = PermissionTarget(ownerID: Self.me, isLastIdentity: true)
        #expect(
            Permissions.permits(member, .unlinkIdentities, in: Self.home, target: last) != .allowed)
    }
}
