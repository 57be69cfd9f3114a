import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What a change of a provider could break or give away: people's sign-ins, its secret, other tenants.
@Suite(.cleansUp) struct ProviderGuardTests {
    private static let path = "/v1/providers"

    private static func make(
        _ service: TestService, _ more: String = "", as who: TestService.Credential = .platformOwner
    ) async throws -> TestAnswer {
        try await service.send(
            .post, path,
            json: #"{"kind":"oidc","name":"Acme","client_id":"web"\#(more)}"#, as: who)
    }

    /// The provider's address; `more`: further members.
    private static func made(
        _ service: TestService, _ more: String, as who: TestService.Credential = .platformOwner
    ) async throws -> String {
        let answer = try await make(service, more, as: who)
        #expect(answer.status == 201, "\(answer.text)")
        return "\(path)/\(answer.json["id"]?.string ?? "")"
    }

    private static func faults(_ answer: TestAnswer) -> [String] {
        (answer.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
    }

    private static func addPeople(
        _ count: Int, to slug: String, _ service: TestService
    ) async throws {
        for number in 0..<count {
            let users = "/v1/tenants/\(slug)/users"
            let user = try await service.manage(
                .post, users, #"{"email":"u\#(number)@\#(slug).example"}"#)
            try await service.manage(
                .post, "\(users)/\(user["id"]?.string ?? "")/identities",
                #"{"provider":"oidc","issuer":"https://id.example","#
                    + #""subject":"\#(slug) \#(number)"}"#)
        }
    }

    @Test func `removing a provider with sign-ins needs a confirmation`()
        async throws
    {
        let (service, acme) = try await TestService.makeWithTenant()
        try await service.makeTenant("other")
        let issuer = #","issuer":"https://id.example""#
        let address = try await Self.made(service, issuer)
        let own = try await Self.made(service, issuer, as: .tenantAdmin(acme))
        try await Self.addPeople(2, to: "acme", service)
        try await Self.addPeople(1, to: "other", service)
        func remove(
            _ address: String, _ confirm: String = "",
            as who: TestService.Credential = .platformOwner
        ) async throws -> TestAnswer {
            try await service.send(.delete, address + confirm, as: who)
        }
        let asked = try await remove(address)
        #expect(asked.status == 409 && asked.json["code"]?.string == "confirm_required")
        #expect(asked.json["identities"]?.int == 3, "\(asked.text)")
        // A tenant learns about its own people alone, and another operator's token is not valid.
        let told = try await remove(own, as: .tenantAdmin(acme))
        #expect(told.json["identities"]?.int == 2, "\(told.text)")
        let token = try #require(asked.json["confirm"]?.string)
        let foreign = "?confirm=\(token)"
        #expect(try await remove(own, foreign, as: .tenantAdmin(acme)).status == 409)
        #expect(try await remove(address, "?confirm=\(token)x").status == 409)
        // What was confirmed is this provider as it stood then.
        let changed = try await service.send(
            .patch, address, json: #"{"name":"New"}"#, as: .platformOwner)
        #expect(changed.status == 200)
        let again = try await remove(address, foreign)
        #expect(again.status == 409, "\(again.text)")
        let renewed = try #require(again.json["confirm"]?.string)
        #expect(try await remove(address, "?confirm=\(renewed)").status == 204)
        #expect(try await service.send(.get, address, as: .platformOwner).status == 404)
    }

    @Test func `a kept secret goes nowhere else unless it is given again or removed`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let (before, thief) = ("https://id.example/t", "https://thief.example/t")
        let address = try await Self.made(
            service,
            #","issuer":"https://id.example","secret":"s3cret","#
                + #""endpoints":{"token_endpoint":"\#(before)"}"#)
        func patch(_ json: String) async throws -> TestAnswer {
            try await service.send(.patch, address, json: json, as: .platformOwner)
        }
        let moves = [
            #""issuer":"https://thief.example""#,
            #""endpoints":{"token_endpoint":"\#(thief)"}"#,
            #""endpoints":{"token_endpoint":"\#(before)","userinfo_endpoint":"\#(thief)"}"#,
            #""endpoints":{"openid_configuration":"\#(thief)"}"#, #""endpoints":{}"#,
        ]
        for move in moves {
            let answer = try await patch("{\(move)}")
            #expect(answer.status == 422, "\(answer.text)")
            #expect(Self.faults(answer) == ["/secret"], "\(answer.text)")
        }
        let kept = try await service.send(.get, address, as: .platformOwner)
        #expect(kept.json["issuer"]?.string == "https://id.example")
        #expect(kept.json["endpoints"]?["token_endpoint"]?.string == before)
        // What does not move it needs none.
        for same in [#""name":"N""#, #""endpoints":{"token_endpoint":"\#(before)"}"#] {
            #expect(try await patch("{\(same)}").json["secret_set"] == .bool(true))
        }
        let moved = try await patch("{\(moves[1]),\"secret\":\"s3cret\"}")
        #expect(moved.status == 200 && moved.json["secret_set"] == .bool(true), "\(moved.text)")
        let cleared = try await patch("{\(moves[0]),\"secret\":null}")
        #expect(cleared.status == 200, "\(cleared.text)")
        #expect(cleared.json["secret_set"] == .bool(false))
        // Without a secret there is none to lose.
        #expect(try await patch("{\(moves[4])}").status == 200)
    }

    @Test func `a tenant's provider leads to its own tenant, and tells of no other`() async throws {
        let (service, acme) = try await TestService.makeWithTenant()
        let other = try await service.makeTenant("other")
        func members(_ tenant: String, _ issuer: String = "https://id.example") -> String {
            #","issuer":"\#(issuer)","client_tenants":{"web":"\#(tenant)"}"#
        }
        let unknown = try await Self.make(service, members("nowhere"), as: .tenantAdmin(acme))
        #expect(unknown.status == 422 && Self.faults(unknown) == ["/client_tenants/web"])
        for named in ["other", other.id.description, "\(UUID.random())"] {
            let answer = try await Self.make(service, members(named), as: .tenantAdmin(acme))
            #expect(answer.status == 422)
            #expect(answer.json["errors"] == unknown.json["errors"], "\(answer.text)")
            #expect(!answer.text.contains(other.id.description))
        }
        let own = try await Self.made(service, members("acme"), as: .tenantAdmin(acme))
        let changed = try await service.send(
            .patch, own, json: #"{"client_tenants":{"web":"other"}}"#, as: .tenantAdmin(acme))
        #expect(changed.json["errors"] == unknown.json["errors"], "\(changed.text)")
        // The platform's own leads anywhere.
        _ = try await Self.made(service, members("other"))
    }

    @Test func `endpoints are https URLs without a user and a fragment`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri", "issuer"] {
            for url in [
                "http://plain.example/a", "https://id.example/a#frag", "https://id.example/#",
                "https://user@id.example/a", "https://user:word@id.example/a",
                "javascript:alert(1)", "file:///etc/passwd", "//id.example/a", "",
                "https://id.example/\\r\\nX: 1", "https://", "http://127.0.0.1.example/a",
            ] {
                let answer = try await Self.make(
                    service,
                    #","issuer":"https://id.example","endpoints":{"\#(name)":"\#(url)"}"#)
                #expect(answer.status == 422, "\(name) \(url): \(answer.text)")
                #expect(Self.faults(answer) == ["/endpoints/\(name)"], "\(answer.text)")
            }
        }
    }

    @Test func `an issuer is an https URL and nothing else`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        for issuer in [
            "javascript:alert(1)", "file:///etc/passwd", "https://id.example/\\r\\nX: 1",
            "https://id.example\\n", "http://plain.example", "https://id.example/?a=b",
            "https://id.example/#f", "https://user@id.example", "id.example",
            "ftp://id.example", "https:// id.example", "data:text/html,x",
        ] {
            for kind in ["oidc", "google", "github"] {
                let answer = try await service.send(
                    .post, Self.path,
                    json:
                        #"{"kind":"\#(kind)","name":"P","client_id":"w","issuer":"\#(issuer)"}"#,
                    as: .platformOwner)
                #expect(answer.status == 422, "\(kind) \(issuer): \(answer.text)")
                #expect(Self.faults(answer) == ["/issuer"], "\(answer.text)")
            }
        }
        // The same at a change.
        let address = try await Self.made(service, #","issuer":"https://id.example""#)
        let changed = try await service.send(
            .patch, address, json: #"{"issuer":"javascript:alert(1)"}"#, as: .platformOwner)
        #expect(changed.status == 422 && Self.faults(changed) == ["/issuer"])
    }
}
