import HTTP
import JSON
import TestSupport
import Testing

/// Sign-in with the tokens of Canaille, an OpenID provider of others.
struct RealProviderTests {
    @Test func `a person who signed in at a real provider is provisioned by their id token`()
        async throws
    {
        let directory = try String(Shell.run(["mktemp", "-d", "/tmp/gh-idp.XXXXXX"]).dropLast())
        let script = "\(TestCluster.root)/deploy/provider"
        let issuer = try String(
            Shell.run([script, "start", directory]).split(separator: "\n").last ?? "")
        defer {
            _ = try? Shell.run([script, "stop", directory])
            _ = try? Shell.run(["rm", "-rf", directory])
        }
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let registered = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Canaille","issuer":"\#(issuer)","#
                + #""client_id":"gatehouse-test","email_trust":"authoritative","#
                + #""domains":["example.com"]}"#,
            as: .platformOwner)
        #expect(registered.status == 201, "\(registered.text)")
        _ = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"email":"alice@example.com","role":"manager"}"#, as: .platformOwner)
        let token = try String(Shell.run([script, "token", directory]).dropLast())
        let answer = try await service.send(
            .post, "/v1/provisioning/sign-in", json: "{}", as: .bearer(token))
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["outcome"]?.string == "linked", "\(answer.text)")
        #expect(answer.json["user"]?["role"]?.string == "manager")
        let parts = token.split(separator: ".").map(String.init)
        let bent = "\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))"
        let refused = try await service.send(
            .post, "/v1/provisioning/sign-in", json: "{}", as: .bearer(bent))
        #expect(refused.status == 401)
        await service.stop()
    }
}
