import API
import Domain
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// `/v1/tenants/{tenant}/policy` and `…/domains`, over the real PostgreSQL.
@Suite(.cleansUp) struct PolicyTests {
    private static let policy = "/v1/tenants/acme/policy"
    private static let domains = "/v1/tenants/acme/domains"

    private static func put(
        _ service: TestService, _ json: String, match: String?, query: String = "",
        as credential: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await service.send(
            .put, policy + query, json: json, as: credential,
            fields: match.map { [Field("if-match", $0)] } ?? [])
    }

    @Test func `a policy has its defaults and is published under If-Match`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let first = try await service.send(.get, Self.policy, as: .platformOwner)
        #expect(first.json["sign_up"]?.string == "invite_only")
        #expect(first.json["password_min"]?.int == 15)
        #expect(first.json["version"]?.int == 1)
        let etag = try #require(first.first("etag"))
        let wanted = #"{"sign_up":"domain","allowed_domains":["BÜCHER.example"]}"#
        #expect(try await Self.put(service, wanted, match: nil).status == 428)
        #expect(try await Self.put(service, wanted, match: "\"v9\"").status == 412)
        let before = try await service.database.content()
        let dry = try await Self.put(service, wanted, match: etag, query: "?dry_run=true")
        #expect(try await service.database.content() == before)
        #expect(dry.json["version"]?.int == 2)
        let tenant = try await service.send(.get, "/v1/tenants/acme", as: .platformOwner)
        let done = try await Self.put(service, wanted, match: etag)
        #expect(done.status == 200)
        // The tenant's time of change has changed, so its version has, too.
        let changed = try await service.send(.get, "/v1/tenants/acme", as: .platformOwner)
        #expect(changed.json["updated_at"] != tenant.json["updated_at"])
        #expect(changed.first("etag") != tenant.first("etag"))
        #expect(done.json["version"]?.int == 2)
        #expect(
            done.json["allowed_domains"] == .array([.string("xn--bcher-kva.example")]))
        #expect(try await Self.put(service, wanted, match: etag).status == 412)
        let next = try #require(done.first("etag"))
        let same = try await Self.put(service, done.text, match: next)
        #expect(same.json["version"]?.int == 2)
        let versions = try await service.send(
            .get, Self.policy + "/versions?limit=1", as: .platformOwner)
        #expect(versions.json["items"]?.array?.first?["version"]?.int == 2)
        let cursor = try #require(versions.json["next_cursor"]?.string)
        let older = try await service.send(
            .get, Self.policy + "/versions?limit=1&cursor=\(cursor)", as: .platformOwner)
        #expect(older.json["items"]?.array?.first?["version"]?.int == 1)
    }

    @Test func `a policy on an older version is a 412 that names the one in force`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let read = try await service.send(.get, Self.policy, as: .platformOwner)
        let etag = try #require(read.first("etag"))
        let other = try await Self.put(service, #"{"sign_up":"open"}"#, match: etag)
        #expect(other.status == 200)
        // The body repeats the read-only version that was read, as the console sends it.
        for query in ["", "?dry_run=true"] {
            let stale = try await Self.put(service, read.text, match: etag, query: query)
            #expect(stale.status == 412)
            #expect(stale.first("etag") == other.first("etag"))
            let current = try #require(stale.json["current"])
            #expect(current["version"]?.int == 2)
            #expect(current["created_by"]?.string?.isEmpty == false)
            #expect(current["created_at"]?.string?.isEmpty == false)
        }
        // On the version in force, a read-only member that differs is still a 422.
        let newest = try #require(other.first("etag"))
        let wrong = try await Self.put(service, read.text, match: newest)
        #expect(wrong.status == 422)
        #expect(wrong.json["errors"]?.array?.first?["pointer"]?.string == "/version")
    }

    @Test func `a policy with invalid values is refused`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let bad = #"{"password_min":7,"default_role":"admin","allowed_domains":["x"]}"#
        let answer = try await Self.put(service, bad, match: "*")
        #expect(answer.status == 422)
        #expect(answer.json["errors"]?.array?.count == 3)
        #expect(try await Self.put(service, "{}", match: "*", as: .anonymous).status == 401)
        let support = try await service.session(role: .support, tenant: tenant.id)
        let refused = try await Self.put(service, "{}", match: "*", as: .session(support))
        #expect(refused.status == 403)
        let other = try await service.makeTenant("other")
        let foreign = try await service.send(.get, Self.policy, as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }

    @Test func `a closed policy makes no invites and one with domains filters them`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let invite = #"{"email":"ann@example.com"}"#
        _ = try await Self.put(service, #"{"sign_up":"closed"}"#, match: "*")
        let closed = try await service.send(
            .post, "/v1/tenants/acme/invites", json: invite, as: .platformOwner)
        #expect(closed.status == 409)
        #expect(closed.json["code"]?.string == "sign_up_closed")
        _ = try await Self.put(
            service, #"{"allowed_domains":["acme.example"],"external_invites":false}"#,
            match: "*")
        let externalServices = try await service.send(
            .post, "/v1/tenants/acme/invites", json: invite, as: .platformOwner)
        #expect(externalServices.status == 422)
    }

    @Test func `a domain is claimed by many and verified by one`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        let claim = #"{"domain":"Example.ORG"}"#
        let mine = try await service.send(
            .post, Self.domains, json: claim, as: .tenantAdmin(tenant))
        #expect(mine.status == 201)
        #expect(mine.json["domain"]?.string == "example.org")
        #expect(
            mine.json["verification"]?["record_name"]?.string == "_gatehouse.example.org")
        let value = mine.json["verification"]?["record_value"]?.string ?? ""
        #expect(value.hasPrefix("gatehouse-verify=") && value.utf8.count == 17 + 32)
        let twice = try await service.send(
            .post, Self.domains, json: claim, as: .tenantAdmin(tenant))
        #expect(twice.status == 409)
        #expect(twice.json["conflicting_id"] == mine.json["id"])
        let theirs = try await service.send(
            .post, "/v1/tenants/other/domains", json: claim, as: .tenantAdmin(other))
        let mineID = try #require(mine.json["id"]?.string)
        let theirsID = try #require(theirs.json["id"]?.string)
        let word = #"{"method":"operator"}"#
        let verify = "\(Self.domains)/\(mineID)/verify"
        let unproved = try await service.send(
            .post, verify, json: #"{"method":"dns"}"#, as: .tenantAdmin(tenant))
        #expect(unproved.status == 422)
        #expect(unproved.json["code"]?.string == "domain_unproved")
        let own = try await service.send(.post, verify, json: word, as: .tenantAdmin(tenant))
        #expect(own.status == 403)
        let proved = try await service.send(.post, verify, json: word, as: .platformOwner)
        #expect(proved.status == 200)
        #expect(proved.json["status"]?.string == "verified")
        let late = try await service.send(
            .post, "/v1/tenants/other/domains/\(theirsID)/verify", json: word,
            as: .platformOwner)
        #expect(late.status == 409)
        let gone = try await service.send(
            .delete, "\(Self.domains)/\(mineID)", as: .tenantAdmin(tenant))
        #expect(gone.status == 204)
        let then = try await service.send(
            .post, "/v1/tenants/other/domains/\(theirsID)/verify", json: word,
            as: .platformOwner)
        #expect(then.status == 200)
    }

    @Test(arguments: ["gmail.com", "co.uk", "github.io", "192.0.2.1", "localhost", "a b.example"])
    func `a public suffix cannot be claimed as a domain`(_ name: String) async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let answer = try await service.send(
            .post, Self.domains, json: #"{"domain":"\#(name)"}"#, as: .platformOwner)
        #expect(answer.status == 422)
        #expect(answer.json["errors"]?.array?.first?["pointer"]?.string == "/domain")
    }

    @Test func `domains of another tenant are not there`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        let mine = try await service.send(
            .post, Self.domains, json: #"{"domain":"example.org"}"#, as: .tenantAdmin(tenant))
        let id = try #require(mine.json["id"]?.string)
        #expect(
            try await service.send(.get, "\(Self.domains)/\(id)", as: .tenantAdmin(tenant))
                .status == 200)
        let listed = try await service.send(.get, Self.domains, as: .tenantAdmin(tenant))
        #expect(listed.json["items"]?.array?.count == 1)
        let foreign = "/v1/tenants/other/domains/\(id)"
        #expect(try await service.send(.get, foreign, as: .tenantAdmin(other)).status == 404)
        #expect(
            try await service.send(.delete, foreign, as: .tenantAdmin(other)).status == 404)
        #expect(try await service.send(.get, Self.domains).status == 401)
    }
}
