import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ProviderTests {
    private let path = "/v1/providers"

    @Test func `a provider is made, read, changed under its tag and removed`() async throws {
        let service = try await TestService.make()
        let made = try await service.send(
            .post, path,
            json: #"{"kind":"oidc","name":"Acme","issuer":"https://id.ex.com","client_id":"web","#
                + #""secret":"s3cret","domains":["Bücher.example"]}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["email_trust"]?.string == "none")
        #expect(made.json["domains"]?.array?.first?.string == "xn--bcher-kva.example")
        #expect(!made.text.contains("s3cret"))
        let id = made.json["id"]?.string ?? ""
        #expect(made.first("location") == "\(path)/\(id)")
        let read = try await service.send(.get, "\(path)/\(id)", as: .platformOwner)
        #expect(read.bytes == made.bytes)
        let tag = read.first("etag") ?? ""
        let changed = try await service.send(
            .patch, "\(path)/\(id)", json: #"{"name":"New","email_trust":"verified_claim"}"#,
            as: .platformOwner, fields: [Field("if-match", tag)])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json["name"]?.string == "New")
        #expect(changed.json["client_id"]?.string == "web")
        let stale = try await service.send(
            .patch, "\(path)/\(id)", json: #"{"name":"Old"}"#, as: .platformOwner,
            fields: [Field("if-match", tag)])
        #expect(stale.status == 412)
        let list = try await service.send(.get, path + "?kind=oidc", as: .platformOwner)
        #expect(list.json["items"]?.array?.count == 1)
        #expect(try await service.send(.delete, "\(path)/\(id)", as: .platformOwner).status == 204)
        #expect(try await service.send(.get, "\(path)/\(id)", as: .platformOwner).status == 404)
    }

    @Test func `a kind and issuer stand once for an owner, a pool once among the confirmed`()
        async throws
    {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let google = #"{"kind":"google","name":"Google","client_id":"web"}"#
        let pool = #"{"kind":"cognito","name":"Pool","issuer":"eu_1"}"#
        for (json, again) in [(google, 201), (pool, 201)] {
            #expect(
                try await service.send(.post, path, json: json, as: .platformOwner).status == 201)
            #expect(
                try await service.send(.post, path, json: json, as: .platformOwner).status == 409)
            let own = try await service.send(.post, path, json: json, as: .tenantAdmin(tenant))
            #expect(own.status == again, "\(own.text)")
            if again == 201 {
                #expect(own.json["tenant_id"]?.string == tenant.id.description)
                #expect(own.json["tenant_name"]?.string == tenant.name)
            }
        }
    }

    @Test func `bad input, strangers and other tenants are refused`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let lacking = try await service.send(
            .post, path, json: #"{"kind":"oidc","name":"x"}"#, as: .platformOwner)
        #expect(lacking.status == 422)
        #expect(lacking.json["errors"]?.array?.count == 2)
        #expect(try await service.send(.get, path).status == 401)
        let own = try await service.send(
            .post, path, json: #"{"kind":"google","name":"Google","client_id":"web"}"#,
            as: .tenantAdmin(tenant))
        let id = own.json["id"]?.string ?? ""
        #expect(
            try await service.send(.get, "\(path)/\(id)", as: .tenantAdmin(tenant)).status == 200)
        for method in [Method.get, .delete] {
            let foreign = try await service.send(method, "\(path)/\(id)", as: .tenantAdmin(other))
            #expect(foreign.status == 404)
        }
    }

    @Test func `a pool is registered by Cognito's pool id`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        for (issuer, status) in [
            ("<userPoolId>", 422),
            ("https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc", 422),
            ("eu-central-1_a/b", 422), ("eu-central-1_aB3", 201),
        ] {
            let answer = try await service.send(
                .post, "/v1/providers",
                json: #"{"kind":"cognito","name":"P","issuer":"\#(issuer)"}"#,
                as: .platformOwner)
            #expect(answer.status == status, "\(issuer): \(answer.text)")
        }
    }
}
