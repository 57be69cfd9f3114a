import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The lists of origins as they are kept.
@Suite(.cleansUp) struct OriginsTests {
    private static let path = "/v1/tenants/acme/cors-origins"

    @Test func `an origin is listed in the form that browsers send`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let made = try await service.send(
            .post, Self.path, json: #"{"origin":"HTTPS://App.Example.com:443/","label":"app"}"#,
            as: .tenantAdmin(tenant))
        #expect(made.status == 201)
        #expect(made.json["origin"]?.string == "https://app.example.com")
        #expect(made.json["normalised"]?.array?.count == 3)
        #expect(made.json["tenant_id"]?.string == tenant.id.description)
        let place = try #require(made.first("location"))
        let one = try await service.send(.get, place, as: .tenantAdmin(tenant))
        #expect(one.json["origin"] == made.json["origin"])
        #expect(one.first("etag") == made.first("etag") && one.first("etag") != nil)
        let list = try await service.send(.get, Self.path, as: .tenantAdmin(tenant))
        #expect(list.status == 200)
        #expect(list.json["items"]?.array?.count == 1)
        #expect(list.json["total"]?["value"]?.int == 1)
        let again = try await service.send(
            .post, Self.path, json: #"{"origin":"https://app.example.com"}"#, as: .platformOwner)
        #expect(again.status == 409)
        #expect(again.json["conflicting_id"]?.string == made.json["id"]?.string)
    }

    @Test func `an invalid origin is refused with the reason`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        for origin in [
            "null", "*", "https://app.example.com/path", "https://u@app.example.com", "file://",
            "https://app.example.com:0", "https://a b", "ftp://example.com", "https://*.com",
        ] {
            let answer = try await service.send(
                .post, Self.path, json: #"{"origin":"\#(origin)"}"#, as: .tenantAdmin(tenant))
            #expect(answer.status == 422)
            #expect(answer.json["errors"]?.array?.first?["pointer"]?.string == "/origin")
        }
    }

    @Test func `cookies go with no wildcard, app or plain http origin`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        for origin in ["capacitor://localhost", "http://app.example.com"] {
            let answer = try await service.send(
                .post, Self.path, json: #"{"origin":"\#(origin)","credentials":true}"#,
                as: .tenantAdmin(tenant))
            #expect(answer.status == 422)
        }
    }

    @Test func `a wildcard needs a verified domain`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let body = #"{"origin":"https://*.preview.example.com"}"#
        let refused = try await service.send(
            .post, Self.path, json: body, as: .tenantAdmin(tenant))
        #expect(refused.status == 422)
        try await verifyDomain(service, tenant)
        let made = try await service.send(.post, Self.path, json: body, as: .tenantAdmin(tenant))
        #expect(made.status == 201)
        let other = try await service.send(
            .post, Self.path, json: #"{"origin":"https://*.notexample.com"}"#,
            as: .tenantAdmin(tenant))
        #expect(other.status == 422)
    }

    @Test func `another tenant's list and a call without a credential are refused`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let made = try await service.send(
            .post, Self.path, json: #"{"origin":"https://a.example"}"#, as: .tenantAdmin(acme))
        let id = made.json["id"]?.string ?? ""
        #expect(try await service.send(.get, Self.path).status == 401)
        #expect(try await service.send(.get, Self.path, as: .tenantAdmin(other)).status == 404)
        #expect(
            try await service.send(
                .delete, "/v1/tenants/other/cors-origins/\(id)", as: .tenantAdmin(other)
            ).status == 404)
        #expect(
            try await service.send(.get, "/v1/cors-origins", as: .tenantAdmin(acme)).status == 403)
    }

    @Test func `a whole list is put in place of the list that was read`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        _ = try await service.send(
            .post, Self.path, json: #"{"origin":"https://a.example"}"#, as: .tenantAdmin(tenant))
        let list = try await service.send(.get, Self.path, as: .tenantAdmin(tenant))
        let etag = list.first("etag") ?? ""
        let body = #"{"items":[{"origin":"https://b.example","label":"b"}]}"#
        #expect(
            try await service.send(.put, Self.path, json: body, as: .tenantAdmin(tenant)).status
                == 428)
        let put = try await service.send(
            .put, Self.path, json: body, as: .tenantAdmin(tenant),
            fields: [Field("if-match", etag)])
        #expect(put.status == 200)
        #expect(put.json["items"]?.array?.first?["origin"]?.string == "https://b.example")
        #expect(
            try await service.send(
                .put, Self.path, json: body, as: .tenantAdmin(tenant),
                fields: [Field("if-match", etag)]
            ).status == 412)
        let same = try await service.send(
            .put, Self.path, json: put.text, as: .tenantAdmin(tenant),
            fields: [Field("if-match", put.first("etag") ?? "")])
        #expect(same.status == 200)
        #expect(same.first("etag") == put.first("etag"))
        let bad = try await service.send(
            .put, Self.path, json: #"{"items":[{"origin":"null"}]}"#, as: .tenantAdmin(tenant),
            fields: [Field("if-match", "*")])
        #expect(bad.status == 422)
    }

    @Test func `removing the origin that asks is asked twice`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        // A key's request, since the console's cookie never goes with another origin.
        let made = try await service.send(
            .post, Self.path, json: #"{"origin":"http://gatehouse.test"}"#,
            as: .tenantAdmin(tenant))
        let path = "\(Self.path)/\(made.json["id"]?.string ?? "")"
        let own = [Field("origin", "http://gatehouse.test")]
        let asked = try await service.send(.delete, path, as: .tenantAdmin(tenant), fields: own)
        #expect(asked.status == 409)
        #expect(asked.json["code"]?.string == "confirm_required")
        let token = asked.json["confirm"]?.string ?? ""
        let done = try await service.send(
            .delete, "\(path)?confirm=\(token)", as: .tenantAdmin(tenant), fields: own)
        #expect(done.status == 204)
        #expect(try await service.send(.delete, path, as: .tenantAdmin(tenant)).status == 404)
    }

    @Test func `only the platform may use its list`() async throws {
        let service = try await TestService.make()
        let made = try await service.send(
            .post, "/v1/cors-origins", json: #"{"origin":"https://all.example"}"#,
            as: .platformOwner)
        #expect(made.status == 201)
        #expect(made.json["tenant_id"]?.isNull == true)
        let list = try await service.send(.get, "/v1/cors-origins", as: .platformOwner)
        #expect(list.json["items"]?.array?.count == 1)
        let path = "/v1/cors-origins/\(made.json["id"]?.string ?? "")"
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 204)
        #expect(try await service.send(.get, "/v1/cors-origins").status == 401)
    }
}

/// `example.com` is the tenant's.
func verifyDomain(_ service: TestService, _ tenant: TenantRow) async throws {
    try await service.storage.scope(tenant.id).change(by: .system) { change in
        try await change.query(
            """
            INSERT INTO domains (tenant_id, id, domain, display, status, token, created_at)
            VALUES (\(tenant.id), \(UUID.random()), 'example.com', 'example.com', 'verified', 't',
                \(change.now))
            """)
    }
}
