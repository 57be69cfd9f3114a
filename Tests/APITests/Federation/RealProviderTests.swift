import HTTP
import JSON
import TestSupport
import Testing

/// Sign-in with the tokens of Canaille, an OpenID provider of others.
@Suite(.cleansUp) struct RealProviderTests {
    @Test func `a person who signed in at a real provider is provisioned by their id token`()
        async throws
    {
        let provider = try RealProvider()
        let service = try await TestService.make()
        try await service.makeTenant("acme")
        let registered = try await service.send(
            .post, "/v1/providers",
            json: #"{"kind":"oidc","name":"Canaille","issuer":"\#(provider.issuer)","#
                + #""client_id":"gatehouse-test","email_trust":"authoritative","#
                + #""domains":["example.com"]}"#,
            as: .platformOwner)
        #expect(registered.status == 201, "\(registered.text)")
        _ = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"email":"alice@example.com","role":"manager"}"#, as: .platformOwner)
        let token = try provider.tokens()["id_token"]?.string ?? ""
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
    }
}
