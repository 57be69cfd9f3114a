import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing

/// What comes back from the provider, and by which way.
@Suite(.cleansUp) struct ImmichReturnTests {
    private typealias Fixture = ImmichOAuthFixture
    private static let verifier = Fixture.verifier
    private static let redirect = Fixture.redirect

    @Test func `I7 I9 the app's own verifier may come back in the cookie`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        fixture.grant(try await fixture.begin("state-cookie").first("nonce") ?? "")
        let done = try await fixture.base.send(
            .post, "/api/oauth/callback",
            #"{"url":"\#(Self.redirect)?code=c0de&state=state-cookie"}"#,
            fields: [
                Field(
                    "cookie",
                    "immich_oauth_state=state-cookie; immich_oauth_code_verifier=\(Self.verifier)")
            ])
        #expect(done.status == 201, "\(done.text)")
    }

    @Test func `I8 a provider that takes https alone gets the override, and its answer leads on`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.invite("new@acme.example")
        let override = "https://id.acme.example/t/acme/immich/api/oauth/mobile-redirect"
        try await ImmichFixture.set(
            fixture.base.service, fixture.base.tenant,
            #"{"mobile_redirect_override":"\#(override)"}"#)
        for redirect in ["app.immich%3A%2F%2F%2Foauth-callback", "immich%3A%2F%2Foauth-callback"] {
            let asked = try await fixture.begin("state-sent", redirect: "&redirect_uri=\(redirect)")
            #expect(asked.first("redirect_uri") == override)
            fixture.grant(asked.first("nonce") ?? "")
            let done = try await fixture.end("state-sent")
            #expect(done.status == 201, "\(done.text)")
            // What the code is redeemed with is what the provider was given.
            let form = FormText(fixture.provider.lastBody(of: "/token"))
            #expect(form.first("redirect_uri") == override)
        }
        let led = try await fixture.base.send(.get, "/api/oauth/mobile-redirect?code=c&state=s")
        #expect(led.status == 307)
        #expect(led.first("location") == "\(Self.redirect)?code=c&state=s")
        // An address that is not the client's own stays refused, override or not.
        let evil = try await fixture.base.send(
            .post, "/api/oauth/authorize", #"{"redirectUri":"evil.app:///x"}"#)
        expectError(evil, 400, "The redirect address is not registered for this client.")
        for bad in ["http://id.acme.example/x", "app.immich:///x", "https://a.example/#f"] {
            let answer = try await fixture.base.service.send(
                .put, "/v1/tenants/acme/clients/immich",
                json: #"{"enabled":true,"settings":{"mobile_redirect_override":"\#(bad)"}}"#,
                as: .platformOwner)
            #expect(answer.status == 422, "\(answer.text)")
        }
    }
}
