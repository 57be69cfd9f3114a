import API
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Which hosts a tenant gets, which only the platform gives, and which only this server has.
@Suite(.cleansUp) struct HostBindingTests {
    private static let publicURL = "https://id.example.org"

    private static func bind(
        _ service: TestService, _ slug: String, _ hosts: [String],
        as credential: TestService.Credential
    ) async throws -> TestAnswer {
        try await service.send(
            .put, "/v1/tenants/\(slug)/clients/immich",
            json: String(
                decoding: JSONValue.object([
                    .init("enabled", .bool(true)), .init("hosts", Self.list(hosts)),
                ]).encoded(), as: UTF8.self), as: credential)
    }

    private static func list(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    private static func ping(_ service: TestService, _ host: String) async throws -> Int {
        try await service.send(.get, "/api/server/ping", fields: [Field("host", host)]).status
    }

    @Test func `a tenant takes no name of this machine or of this server, with any port`()
        async throws
    {
        let service = try await TestService.make(publicURL: Self.publicURL)
        let acme = try await service.makeTenant("acme")
        try await service.proveDomain("example.org", of: "acme")
        for host in [
            "127.0.0.1:8080", "127.0.0.1", "localhost:8080", "localhost", "[::1]:8080", "[::1]",
            "10.0.0.7", "id.example.org", "id.example.org:443", "id.example.org:80",
            "ID.example.org.", "id.example.org:8443", "app.localhost", "app.test:9000", "com",
            "co.uk", "github.io", "intranet",
        ] {
            for credential: TestService.Credential in [.tenantAdmin(acme), .platformOwner] {
                let answer = try await Self.bind(service, "acme", [host], as: credential)
                #expect(answer.status == 422, "\(host): \(answer.text)")
                #expect(answer.json["errors"]?.array?.first?["pointer"]?.string == "/hosts/0")
            }
        }
        #expect(
            try await Self.bind(
                service, "acme", ["photos.example.org"], as: .tenantAdmin(acme)
            ).status == 200)
    }

    @Test func `a tenant binds only below its verified domain, the platform elsewhere too`()
        async throws
    {
        let service = try await TestService.make(publicURL: Self.publicURL)
        let acme = try await service.makeTenant("acme")
        try await service.makeTenant("other")
        let unproved = try await Self.bind(
            service, "acme", ["photos.acme.example"], as: .tenantAdmin(acme))
        #expect(unproved.status == 422 && unproved.text.contains("verified domain"))
        try await service.proveDomain("acme.example", of: "acme")
        for host in ["acme.example", "photos.acme.example", "a.b.acme.example:8443"] {
            let answer = try await Self.bind(service, "acme", [host], as: .tenantAdmin(acme))
            #expect(answer.status == 200, "\(host): \(answer.text)")
            #expect(try await Self.ping(service, host) == 200, "\(host)")
        }
        for host in ["notacme.example", "photos.victim.example"] {
            #expect(
                try await Self.bind(service, "acme", [host], as: .tenantAdmin(acme)).status == 422)
            #expect(
                try await Self.bind(service, "other", [host], as: .platformOwner).status == 200)
        }
        // What the platform bound stays when a tenant's operator saves the client again.
        let kept = ["notacme.example"]
        #expect(try await Self.bind(service, "other", [], as: .platformOwner).status == 200)
        #expect(try await Self.bind(service, "acme", kept, as: .platformOwner).status == 200)
        #expect(try await Self.bind(service, "acme", kept, as: .tenantAdmin(acme)).status == 200)
        #expect(try await Self.ping(service, "notacme.example") == 200)
    }

    @Test func `a host goes with the domain that it hangs on, and comes back with it`()
        async throws
    {
        let service = try await TestService.make(publicURL: Self.publicURL)
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let domain = try await service.proveDomain("acme.example", of: "acme")
        let hosts = ["photos.acme.example"]
        #expect(try await Self.bind(service, "acme", hosts, as: .tenantAdmin(acme)).status == 200)
        #expect(try await Self.bind(service, "other", hosts, as: .platformOwner).status == 409)
        #expect(try await Self.ping(service, hosts[0]) == 200)
        let path = "/v1/tenants/acme/domains/\(domain)"
        #expect(try await service.send(.delete, path, as: .platformOwner).status == 204)
        #expect(try await Self.ping(service, hosts[0]) == 421)
        let shown = try await Self.bind(service, "acme", hosts, as: .tenantAdmin(acme))
        #expect(shown.status == 200 && shown.json["unbound_hosts"] == Self.list(hosts))
        #expect(try await Self.ping(service, hosts[0]) == 421)
        // Nor does saving by the platform make its own word of what was the tenant's proof.
        #expect(try await Self.bind(service, "acme", hosts, as: .platformOwner).status == 200)
        #expect(try await Self.ping(service, hosts[0]) == 421)
        let again = try await service.proveDomain("acme.example", of: "acme")
        #expect(try await Self.ping(service, hosts[0]) == 200)
        try await service.send(
            .delete, "/v1/tenants/acme/domains/\(again)", as: .platformOwner)
        // The next owner of the domain is not held up by a binding that no longer stands.
        try await service.proveDomain("acme.example", of: "other")
        #expect(try await Self.bind(service, "other", hosts, as: .tenantAdmin(other)).status == 200)
        #expect(try await Self.ping(service, hosts[0]) == 200)
        let list = try await service.send(
            .get, "/v1/tenants/acme/clients", as: .tenantAdmin(acme))
        let immich = list.json["items"]?.array?.first { $0["name"]?.string == "immich" }
        #expect(immich?["unbound_hosts"] == Self.list(hosts), "\(list.text)")
    }

    @Test func `our own names and this machine's are asked before any binding`() async throws {
        let service = try await TestService.make(publicURL: Self.publicURL)
        let acme = try await service.makeTenant("acme")
        // As if they had been bound before there was a rule.
        try await service.storage.scope(acme.id).change(by: .system) { change in
            for host in ["127.0.0.1:8080", "localhost", "id.example.org:443", "id.example.org"] {
                try await change.query("SELECT directory_claim_host(\(host), 'immich', true)")
            }
        }
        for host in [
            "127.0.0.1:8080", "localhost", "localhost:9", "[::1]:8080", "id.example.org",
            "ID.EXAMPLE.ORG:443",
        ] {
            let answer = try await service.send(.get, "/v1/me", fields: [Field("host", host)])
            #expect(answer.status == 401, "\(host): \(answer.text)")
        }
        for host in ["id.example.org:80", "id.example.org:8443", "www.id.example.org"] {
            let answer = try await service.send(.get, "/v1/me", fields: [Field("host", host)])
            #expect(answer.status == 421 || answer.status == 404, "\(host): \(answer.text)")
        }
    }

    @Test func `with a loopback public URL only the platform may bind other local ports`()
        async throws
    {
        let service = try await TestService.make(publicURL: "http://127.0.0.1:8080")
        let acme = try await service.makeTenant("acme")
        try await service.proveDomain("acme.test", of: "acme")
        for host in ["localhost:9000", "mail.localhost:9000", "photos.acme.test:9000"] {
            #expect(
                try await Self.bind(service, "acme", [host], as: .tenantAdmin(acme)).status == 422,
                "\(host)")
            let bound = try await Self.bind(service, "acme", [host], as: .platformOwner)
            #expect(bound.status == 200, "\(host): \(bound.text)")
            #expect(try await Self.ping(service, host) == 200, "\(host)")
        }
        for host in [
            "localhost:8080", "localhost", "127.0.0.1:8080", "mail.localhost:8080", "a.test:8080",
        ] {
            #expect(
                try await Self.bind(service, "acme", [host], as: .platformOwner).status == 422,
                "\(host)")
        }
        for host in ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"] {
            let answer = try await service.send(.get, "/v1/me", fields: [Field("host", host)])
            #expect(answer.status == 401, "\(host)")
        }
    }

    @Test
    func `redirect addresses name no user, no pattern, and go in the clear only to this machine`()
        async throws
    {
        let service = try await TestService.make(publicURL: Self.publicURL)
        let acme = try await service.makeTenant("acme")
        func put(_ uri: String) async throws -> TestAnswer {
            try await service.send(
                .put, "/v1/tenants/acme/clients/immich",
                json: String(
                    decoding: JSONValue.object([.init("redirect_uris", Self.list([uri]))])
                        .encoded(),
                    as: UTF8.self), as: .tenantAdmin(acme))
        }
        for uri in [
            "http://photos.acme.example/cb", "http://10.0.0.7/cb", "https://user@a.example/cb",
            "https://user:pw@a.example/", "https://*.a.example/cb", "https://a.example/*",
            "https:///cb", "http:cb", "HTTP://a.example/cb", "app.immich://u@host/cb",
            "https://a.example\\@b.example/", "blob:https://a.example/x",
            "http://127.0.0.1.nip.io/",
            // What browsers and systems handle themselves, and what any app may claim.
            "view-source:https://a.example/", "filesystem:https://a.example/x", "ms-settings:",
            "MS-Settings:privacy", "mailto:a@a.example", "tel:1", "intent://scan/#Intent;end",
            "intent://scan/", "chrome-extension://abc/", "web+app:x", "x-apple-reminder://a",
            "sms:1", "itms-services://?x", "myapp://callback", "com:/cb",
            "http://id.example.org/cb",
        ] {
            let answer = try await put(uri)
            #expect(answer.status == 422, "\(uri)")
            #expect(
                answer.json["errors"]?.array?.first?["pointer"]?.string == "/redirect_uris/0",
                "\(uri)")
        }
        for uri in [
            "https://photos.acme.example/cb?x=1", "http://127.0.0.1:5173/cb", "http://[::1]/cb",
            "http://localhost:9/cb", "app.immich:///oauth-callback", "app.immich:/cb",
            "com.example.app://auth/cb", "HTTPS://a.example/cb",
        ] { #expect(try await put(uri).status == 200, "\(uri)") }
    }
}
