import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Who resumes what who suspended; and rows whose invite a suspension has ended.
@Suite(.cleansUp) struct TenantSuspensionTests {
    private static let acme = "/v1/tenants/acme"

    @Test func `a tenant's owner resumes what its own side suspended, and sees no more meanwhile`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let owner = TestService.Credential.tenantAdmin(tenant)
        let admin = TestService.Credential.session(
            try await service.session(role: .admin, tenant: tenant.id))
        let suspended = try await service.send(.post, "\(Self.acme)/suspend", as: owner)
        #expect(suspended.status == 200, "\(suspended.text)")
        let refused: [(HTTP.Method, String, TestService.Credential)] = [
            (.get, "\(Self.acme)/users", owner), (.patch, Self.acme, owner),
            (.post, "\(Self.acme)/users", owner), (.get, Self.acme, admin),
            (.post, "\(Self.acme)/resume", admin),
        ]
        for (method, path, who) in refused {
            let answer = try await service.send(
                method, path, json: method == .get ? nil : "{}", as: who)
            #expect(answer.json["code"]?.string == "tenant_suspended", "\(path)")
        }
        let seen = try await service.send(.get, Self.acme, as: owner)
        #expect(seen.json["status"]?.string == "suspended", "\(seen.text)")
        #expect(try await service.send(.get, "/v1/session", as: owner).status == 200)
        let resumed = try await service.send(
            .post, "/v1/tenants/\(tenant.id)/resume", as: owner)
        #expect(resumed.json["status"]?.string == "active", "\(resumed.text)")
        #expect(try await service.send(.get, "\(Self.acme)/users", as: owner).status == 200)
    }

    @Test(arguments: [false, true])
    func `only the platform resumes a tenant that it suspended`(afterTenant: Bool) async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let owner = TestService.Credential.tenantAdmin(tenant)
        if afterTenant { _ = try await service.send(.post, "\(Self.acme)/suspend", as: owner) }
        let suspended = try await service.send(
            .post, "\(Self.acme)/suspend", as: .platformOwner)
        #expect(suspended.status == 200)
        for (method, path) in [
            (HTTP.Method.post, "\(Self.acme)/resume"), (.get, Self.acme),
        ] {
            let answer = try await service.send(method, path, as: owner)
            #expect(answer.json["code"]?.string == "tenant_suspended", "\(answer.text)")
        }
        let resumed = try await service.send(
            .post, "\(Self.acme)/resume", as: .platformOwner)
        #expect(resumed.json["status"]?.string == "active")
    }

    @Test(arguments: ["suspend", "delete"])
    func `the row of a dead invite does not return as one without an entry`(
        verb: String
    ) async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let owner = TestService.Credential.tenantAdmin(tenant)
        try await service.manage(
            .post, "\(Self.acme)/invites", #"{"email":"ann@ex.com"}"#)
        let users = try await service.send(.get, "\(Self.acme)/users", as: owner)
        let id = try #require(users.json["items"]?.array?.first?["id"]?.string)
        let path = "\(Self.acme)/users/\(id)"
        let ended =
            verb == "delete"
            ? try await service.send(.delete, path, as: owner)
            : try await service.send(.post, "\(path)/suspend", as: owner)
        #expect(ended.status < 300, "\(ended.text)")
        let back = try await service.send(
            .post, "\(path)/\(verb == "delete" ? "restore" : "resume")", as: owner)
        #expect(back.status == 409 && back.json["code"]?.string == "conflict")
        #expect(back.json["detail"]?.string?.contains("send a new invite") == true, "\(back.text)")
        if verb == "suspend" {
            #expect(try await service.send(.delete, path, as: owner).status == 204)
        }
        let anew = try await service.send(
            .post, "\(Self.acme)/invites", json: #"{"email":"ann@ex.com"}"#, as: owner)
        #expect(anew.status == 201, "\(anew.text)")
    }

    @Test func `a manager can change only their own name`() async throws {
        let fixture = try await UserFixture.make()
        let rights = try await RightsFixture.make(fixture)
        let manager = TestService.Credential.bearer(
            try await rights.accessToken(of: rights.people[.manager]))
        func rename(_ id: String, _ json: String) async throws -> Int {
            try await fixture.service.send(
                .patch, "\(Self.acme)/users/\(id)", json: json, as: manager
            ).status
        }
        let own = try #require(rights.people[.manager]).description
        let other = try #require(rights.people[.member]).description
        #expect(try await rename(own, #"{"name":"Mia"}"#) == 200)
        #expect(try await rename(own, #"{"role":"admin"}"#) == 403)
        #expect(try await rename(other, #"{"name":"Eve"}"#) == 403)
        let key = try await fixture.service.send(
            .post, "\(Self.acme)/api-keys",
            json: #"{"name":"mine","scopes":["smtp"],"owner":{"type":"user","id":"\#(own)"}}"#,
            as: manager)
        #expect(key.status == 201, "\(key.text)")
        let theirs = try await fixture.service.send(
            .post, "\(Self.acme)/api-keys",
            json:
                #"{"name":"x","scopes":["smtp"],"owner":{"type":"user","id":"\#(other)"}}"#,
            as: manager)
        #expect(theirs.status == 403, "\(theirs.text)")
    }
}
