import Gatehouse
import HTTP
import JSON
import Outbound
import TestSupport
import Testing

/// The button that tries a provider out.
@Suite(.cleansUp) struct ProviderTestTests {
    private static func register(
        _ service: TestService, _ issuer: String, kind: String = "oidc", more: String = ""
    ) async throws -> String {
        let made = try await service.send(
            .post, "/v1/providers",
            json:
                #"{"kind":"\#(kind)","name":"P","issuer":"\#(issuer)","client_id":"web"\#(more)}"#,
            as: .platformOwner)
        #expect(made.status == 201, "\(made.text)")
        return made.json["id"]?.string ?? ""
    }

    /// The findings by their check, and what was found wrong.
    private func test(
        _ service: TestService, _ id: String
    ) async throws -> (isGood: Bool?, faults: [String: String]) {
        let answer = try await service.send(
            .post, "/v1/providers/\(id)/test", as: .platformOwner)
        #expect(answer.status == 200, "\(answer.text)")
        var faults: [String: String] = [:]
        for finding in answer.json["findings"]?.array ?? [] where finding["ok"]?.bool == false {
            faults[finding["check"]?.string ?? ""] = finding["detail"]?.string
        }
        return (answer.json["ok"]?.bool, faults)
    }

    @Test func `a good provider is said to be good, and each fault by its name`() async throws {
        let service = try await TestService.make()
        let provider = try await TestProvider.start()
        let id = try await Self.register(service, provider.issuer)
        let good = try await test(service, id)
        #expect(good.isGood == true && good.faults.isEmpty)

        let (issuer, path) = (provider.issuer, TestProvider.discoveryPath)
        let endpoints =
            #""jwks_uri":"\#(issuer)/keys","token_endpoint":"\#(issuer)/t","#
            + #""authorization_endpoint":"\#(issuer)/a""#
        for (document, check, part) in [
            ("<html>", "discovery", "not a JSON object"),
            (#"{"a":1}"#, "discovery", "names no issuer"),
            (#"{"issuer":"\#(issuer)/"}"#, "discovery", "register that issuer, byte by byte"),
            (#"{"issuer":"\#(issuer)"}"#, "endpoints", "authorization_endpoint, token_endpoint"),
            (
                #"{"issuer":"\#(issuer)",\#(endpoints),"response_types_supported":["id_token"]}"#,
                "flow", "code flow"
            ),
            (
                #"{"issuer":"\#(issuer)",\#(endpoints),"#
                    + #""code_challenge_methods_supported":["plain"]}"#, "flow", "S256"
            ),
            (
                #"{"issuer":"\#(issuer)",\#(endpoints),"#
                    + #""id_token_signing_alg_values_supported":["HS256"]}"#, "algorithms", "HS256"
            ),
            (
                #"{"issuer":"\#(issuer)",\#(endpoints),"response_modes_supported":["form_post"]}"#,
                "flow", "form_post"
            ),
            (
                #"{"issuer":"https://login.example/{tenantid}/v2.0",\#(endpoints)}"#, "discovery",
                "one directory"
            ),
        ] {
            provider.set(path, .init(document))
            let found = try await test(service, id)
            #expect(found.isGood == false, "\(document)")
            #expect(found.faults[check]?.contains(part) == true, "\(document) \(found.faults)")
        }
        provider.set(path, .init(#"{"issuer":"\#(issuer)",\#(endpoints)}"#))
        for (keys, part) in [("[]", "not a key set"), (#"{"keys":[]}"#, "no key that can verify")] {
            provider.set(TestProvider.keysPath, .init(keys))
            #expect(try await test(service, id).faults["keys"]?.contains(part) == true)
        }
        provider.set(path, .init(status: 500, "no"))
        #expect(try await test(service, id).faults["discovery"]?.contains(issuer) == true)
        await provider.stop()
        #expect(try await test(service, id).isGood == false)
    }

    @Test func `the examination names the algorithms it can verify, and what it cannot know`()
        async throws
    {
        let service = try await TestService.make()
        let provider = try await TestProvider.start()
        let id = try await Self.register(service, provider.issuer)
        func algorithms() async throws -> (Bool?, String) {
            let answer = try await service.send(
                .post, "/v1/providers/\(id)/test", as: .platformOwner)
            let found = answer.json["findings"]?.array?.first {
                $0["check"]?.string == "algorithms"
            }
            return (found?["ok"]?.bool, found?["detail"]?.string ?? "")
        }
        let document =
            #"{"issuer":"\#(provider.issuer)","jwks_uri":"\#(provider.issuer)/keys","#
            + #""token_endpoint":"\#(provider.issuer)/t","#
            + #""authorization_endpoint":"\#(provider.issuer)/a","#
            + #""id_token_signing_alg_values_supported":"#
        for name in OpenSSLKey.algorithms {
            provider.publish(keys: [try OpenSSLKey(name).jwk])
            provider.set(TestProvider.discoveryPath, .init(document + #"["\#(name)"]}"#))
            let (isGood, detail) = try await algorithms()
            #expect(isGood == true && detail.contains(name), "\(detail)")
        }
        // RS256 is published too, but this client's tokens are signed by EdDSA.
        provider.publish(keys: [try OpenSSLKey("RS256").jwk, try OpenSSLKey("EdDSA").jwk])
        provider.set(
            TestProvider.discoveryPath, .init(document + #"["RS256","EdDSA","ES256K"]}"#))
        let (isGood, detail) = try await algorithms()
        #expect(isGood == true && detail.contains("can verify RS256, EdDSA."), "\(detail)")
        #expect(detail.contains("with ES256K is refused"), "\(detail)")
        #expect(detail.contains("Only a sign-in shows"), "\(detail)")
    }

    @Test func `a template of an issuer, a name that is no endpoint, half a GitHub are refused`()
        async throws
    {
        let service = try await TestService.make()
        func register(_ more: String) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/providers", json: #"{"name":"P","client_id":"web",\#(more)}"#,
                as: .platformOwner)
        }
        let ghe = "https://ghe.example"
        for (more, field, part) in [
            (
                #""kind":"oidc","issuer":"https://login.microsoftonline.com/{tenantid}/v2.0""#,
                "/issuer", "one directory"
            ),
            (
                #""kind":"oidc","issuer":"\#(ghe)","endpoints":{"nonsense":"\#(ghe)"}"#,
                "/endpoints/nonsense", "jwks_uri"
            ),
            (
                #""kind":"github","endpoints":{"token_endpoint":"\#(ghe)/t"}"#,
                "/endpoints/userinfo_endpoint", "required"
            ),
            (
                #""kind":"github","endpoints":{"token_endpoint":"\#(ghe)/t","#
                    + #""userinfo_endpoint":"\#(ghe)/me"}"#, "/endpoints/token_check_endpoint",
                "/user"
            ),
            (
                #""kind":"github","issuer":"https://acme.ghe.com""#,
                "/endpoints/userinfo_endpoint", "required"
            ),
        ] {
            let answer = try await register(more)
            #expect(answer.status == 422, "\(more) \(answer.text)")
            let named = answer.json["errors"]?.array?.first { $0["pointer"]?.string == field }
            #expect(named?["detail"]?.string?.contains(part) == true, "\(answer.text)")
        }
        let made = try await register(
            #""kind":"github","secret":"s","issuer":"\#(ghe)","#
                + #""endpoints":{"userinfo_endpoint":"\#(ghe)/api/v3/user"}"#)
        #expect(made.status == 201, "\(made.text)")
        let tested = try await service.send(
            .post, "/v1/providers/\(made.json["id"]?.string ?? "")/test", as: .platformOwner)
        #expect(tested.json["ok"]?.bool == true)
        #expect(tested.text.contains("\(ghe)/api/v3/applications/web/token"), "\(tested.text)")
        #expect(!tested.text.contains("github.com"), "\(tested.text)")
    }

    @Test func `each examination of a provider fetches its documents again`() async throws {
        let service = try await TestService.make()
        let provider = try await TestProvider.start()
        let id = try await Self.register(service, provider.issuer)
        for count in 1...3 {
            #expect(try await test(service, id).isGood == true)
            #expect(provider.fetches(of: TestProvider.discoveryPath) == count)
        }
    }

    @Test func `an inner address is not asked, and another tenant's provider is not there`()
        async throws
    {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme")
        let inner = try await service.send(
            .post, "/v1/providers",
            json:
                #"{"kind":"oidc","name":"P","issuer":"https://10.0.0.1","client_id":"c","endpoints":{"token_endpoint":"https://[fd00::1]/t"}}"#,
            as: .platformOwner)
        #expect(inner.status == 422)
        for part in ["/issuer", "/endpoints/token_endpoint", "GATEHOUSE_OUTBOUND_ALLOW"] {
            #expect(inner.text.contains(part))
        }
        let id = try await Self.register(service, "https://provider.example")
        let foreign = try await service.send(
            .post, "/v1/providers/\(id)/test", as: .tenantAdmin(tenant))
        #expect(foreign.status == 404)
        var outside = ExternalServices()
        outside.providers.allowances = ["10.0.0.1", "acme=10.0.0.2:443"].compactMap {
            OutboundAllowance($0)
        }
        let open = try await TestService.make(externalServices: outside)
        let acme = try await open.makeTenant("acme")
        let globex = try await open.makeTenant("globex")
        for (caller, address, status) in [
            (TestService.Credential.platformOwner, "10.0.0.1", 201),
            (.platformOwner, "10.0.0.2", 422),
            (.tenantAdmin(acme), "10.0.0.1", 422), (.tenantAdmin(acme), "10.0.0.2", 201),
            (.tenantAdmin(acme), "10.0.0.2:444", 422), (.tenantAdmin(globex), "10.0.0.2", 422),
        ] {
            let answer = try await open.send(
                .post, "/v1/providers",
                json: #"{"kind":"oidc","name":"P","issuer":"https://\#(address)","client_id":"c"}"#,
                as: caller)
            #expect(answer.status == status, "\(caller) \(address) \(answer.text)")
        }
        let apple = try await Self.register(service, "https://appleid.apple.com")
        #expect(try await test(service, apple).faults["flow"]?.contains("form_post") == true)
        let github = try await Self.register(service, "https://github.com", kind: "github")
        #expect(
            try await test(service, github).faults["endpoints"]?.contains("secret") == true)
    }
}
