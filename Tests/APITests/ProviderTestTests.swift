import HTTP
import JSON
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
            ("<html>", "discovery", "no JSON object"),
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
                    + #""id_token_signing_alg_values_supported":["HS256"]}"#, "flow", "RS256"
            ),
        ] {
            provider.set(path, .init(document))
            let found = try await test(service, id)
            #expect(found.isGood == false, "\(document)")
            #expect(found.faults[check]?.contains(part) == true, "\(document) \(found.faults)")
        }
        provider.set(path, .init(#"{"issuer":"\#(issuer)",\#(endpoints)}"#))
        for (keys, part) in [("[]", "no key set"), (#"{"keys":[]}"#, "no RSA key")] {
            provider.set(TestProvider.keysPath, .init(keys))
            #expect(try await test(service, id).faults["keys"]?.contains(part) == true)
        }
        provider.set(path, .init(status: 500, "no"))
        #expect(try await test(service, id).faults["discovery"]?.contains(issuer) == true)
        await provider.stop()
        #expect(try await test(service, id).isGood == false)
    }

    @Test func `each examination of a provider fetches its documents anew`() async throws {
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
        let id = try await Self.register(service, "https://10.0.0.1")
        let found = try await test(service, id)
        #expect(found.isGood == false && found.faults["discovery"] != nil)
        let foreign = try await service.send(
            .post, "/v1/providers/\(id)/test", as: .tenantAdmin(tenant))
        #expect(foreign.status == 404)
        let github = try await Self.register(service, "https://github.com", kind: "github")
        #expect(
            try await test(service, github).faults["endpoints"]?.contains("secret") == true)
    }
}
