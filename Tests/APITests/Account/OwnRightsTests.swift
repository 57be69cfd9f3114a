import API
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What a member may do with what is his own, and how far a column that is bounded by a role goes.
@Suite(.serialized, .cleansUp) struct OwnRightsTests {
    private static let users = "/v1/tenants/acme/users"

    /// A fixture with a member, and the secret of a key of his with every scope.
    private func makeMember() async throws -> (RightsFixture, UUID, TestService.Credential) {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let member = try #require(fixture.people[.member])
        let key = try await fixture.key(RightsFixture.every, owner: member)
        return (fixture, member, .bearer(key))
    }

    @Test func `a member reads only himself`() async throws {
        let (fixture, member, me) = try await makeMember()
        let service = fixture.base.service
        let list = try await service.send(.get, Self.users, as: me)
        #expect(list.json["items"]?.array?.count == 1)
        #expect(list.json["items"]?.array?.first?["id"]?.string == member.description)
        for tail in ["", "/identities", "/sessions"] {
            let own = try await service.send(.get, "\(Self.users)/\(member)\(tail)", as: me)
            #expect(own.status == 200, "\(tail) \(own.text)")
        }
        #expect(try await service.send(.get, "/v1/tenants/acme", as: me).status == 200)
        let decisions = try await service.send(
            .get, "/v1/tenants/acme/provisioning/decisions", as: me)
        #expect(decisions.json["items"]?.array == [], "\(decisions.text)")
    }

    @Test func `a member sees only the invites to their own address`() async throws {
        let (fixture, _, me) = try await makeMember()
        try await fixture.base.addInvite("member@a.example")
        let list = try await fixture.base.service.send(
            .get, "/v1/tenants/acme/invites", as: me)
        let items = list.json["items"]?.array ?? []
        #expect(items.compactMap { $0["email"]?.string } == ["member@a.example"])
        let id = try #require(items.first?["id"]?.string)
        let own = try await fixture.base.service.send(
            .get, "/v1/tenants/acme/invites/\(id)", as: me)
        #expect(own.status == 200, "\(own.text)")
    }

    @Test func `a member changes the own name and no role`() async throws {
        let (fixture, member, me) = try await makeMember()
        let service = fixture.base.service
        let path = "\(Self.users)/\(member)"
        let named = try await service.send(.patch, path, json: #"{"name":"Mo"}"#, as: me)
        #expect(named.status == 200 && named.json["name"]?.string == "Mo", "\(named.text)")
        let raised = try await service.send(.patch, path, json: #"{"role":"admin"}"#, as: me)
        #expect(raised.status == 403, "\(raised.text)")
        let other = try #require(fixture.people[.manager])
        let foreign = try await service.send(
            .patch, "\(Self.users)/\(other)", json: #"{"name":"Mo"}"#, as: me)
        #expect(foreign.status == 404, "\(foreign.text)")
    }

    @Test func `a member unlinks an own sign-in, but not the last`() async throws {
        let (fixture, member, me) = try await makeMember()
        let service = fixture.base.service
        let path = "\(Self.users)/\(member)/identities"
        var linked: [String] = []
        for subject in ["1", "2"] {
            let answer = try await service.send(
                .post, path,
                json:
                    #"{"provider":"github","issuer":"https://github.com","subject":"\#(subject)"}"#,
                as: .platformOwner)
            linked.append(try #require(answer.json["id"]?.string, "\(answer.text)"))
        }
        let first = try await service.send(.delete, "\(path)/\(linked[0])", as: me)
        #expect(first.status == 204, "\(first.text)")
        let last = try await service.send(.delete, "\(path)/\(linked[1])", as: me)
        #expect(last.status == 403, "\(last.text)")
        let byOperator = try await service.send(
            .delete, "\(path)/\(linked[1])", as: .tenantAdmin(fixture.base.tenant))
        #expect(byOperator.status == 204, "\(byOperator.text)")
    }

    @Test(arguments: [("manager", "manager"), ("support", "member")])
    func `an invite's role is limited by its sender's rights`(_ who: String, _ most: String)
        async throws
    {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let service = fixture.base.service
        let sender: TestService.Credential =
            if let role = Operator.Role(rawValue: who) {
                .session(try await service.session(role: role, tenant: fixture.base.tenant.id))
            } else {
                .bearer(try await fixture.key(RightsFixture.every, owner: fixture.people[.manager]))
            }
        let bound = try #require(UserRole(rawValue: most))
        for role in UserRole.allCases {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/invites",
                json:
                    #"{"email":"new-\#(role.rawValue)@a.example","role":"\#(role.rawValue)"}"#,
                as: sender)
            #expect(answer.status == (role <= bound ? 201 : 403), "\(role) \(answer.text)")
        }
    }

    @Test func `only a caller who could issue a key widens or prolongs it`() async throws {
        let fixture = try await RightsFixture.make(try await UserFixture.make())
        let service = fixture.base.service
        let keys = "/v1/tenants/acme/api-keys"
        let made = try await service.send(
            .post, keys,
            json: #"{"name":"k","scopes":["users:write"],"allowed_ips":["10.0.0.1"]}"#,
            as: .platformOwner)
        let path = "\(keys)/\(try #require(made.json["id"]?.string))"
        let weak = TestService.Credential.bearer(
            try await fixture.key(["api-keys:read", "api-keys:write", "users:read"]))
        for change in [
            #"{"allowed_ips":[]}"#, #"{"expires_at":"2099-01-01T00:00:00Z"}"#,
            #"{"scopes":["users:write","users:read"]}"#, #"{"rate_limit":{"per_minute":9}}"#,
        ] {
            let answer = try await service.send(.patch, path, json: change, as: weak)
            #expect(answer.status == 403, "\(change) \(answer.text)")
        }
        let named = try await service.send(.patch, path, json: #"{"name":"n"}"#, as: weak)
        #expect(named.status == 403, "a key changes what lies within it alone")
        let rotated = try await service.send(
            .post, path + "/rotate", json: #"{"grace_seconds":60}"#, as: .platformOwner)
        #expect(rotated.status == 200, "\(rotated.text)")
        for (verb, status) in [("rotate", 403), ("rollback", 403), ("cut", 403)] {
            let answer = try await service.send(.post, "\(path)/\(verb)", as: weak)
            #expect(answer.status == status, "\(verb) \(answer.text)")
        }
    }

    @Test func `every caller reads his rights, also those on his own things alone`() async throws {
        let (fixture, _, member) = try await makeMember()
        let service = fixture.base.service
        func rights(_ who: TestService.Credential) async throws -> Set<String> {
            let me = try await service.send(.get, "/v1/me", as: who)
            return Set((me.json["rights"]?.array ?? []).compactMap(\.string))
        }
        func rights(_ role: Operator.Role, in tenant: UUID? = nil) async throws -> Set<String> {
            try await rights(.session(try await service.session(role: role, tenant: tenant)))
        }
        let all = Set(Right.allCases.map(\.rawValue))
        #expect(try await rights(.owner) == all)
        let own = try await rights(.owner, in: fixture.base.tenant.id)
        #expect(own == Set(Right.allCases.filter { !$0.isPlatformOnly }.map(\.rawValue)))
        let auditor = try await rights(.auditor)
        #expect(
            auditor == [
                "readTenant", "readUsers", "readInvites", "readDecisions", "listKeys",
                "readOrigins", "readClients", "evaluate", "evaluateOrigins", "readPolicy",
                "readProviders", "readAudit",
            ])
        let developer = try await rights(.developer)
        #expect(developer.contains("readAudit") && !developer.contains("manageInvites"))
        #expect(try await rights(.support).contains("manageInvites"))
        let person = try await rights(member)
        #expect(person.contains("readUsers") && !person.contains("editUsers"))
        let narrow = try await fixture.key(["users:read"])
        #expect(
            try await rights(.bearer(narrow)) == ["readUsers", "readDecisions", "evaluate"])
    }
}
