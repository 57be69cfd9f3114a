import HTTP
import JSON
import TestSupport
import Testing

/// What the app's sign-in page gets before a sign-in.
@Suite(.cleansUp) struct ThinkWorkOptionsTests {
    @Test func `W5 the options are the pool's providers; an uncertain pool has none`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make(settings: #"{"password":true}"#)
        let path = "/api/auth/options?platform=mobile&host=acme.thinkwork.example"
        let nothing = #"{"password":{"enabled":false},"oauthOptions":[]}"#
        expectAnswer(try await fixture.send(.get, path), nothing)
        try await fixture.addPool()
        let answer = try await fixture.send(.get, path)
        // The app shows Google and Microsoft alone; what it would drop is not offered.
        expectAnswer(
            answer,
            #"{"password":{"enabled":true,"clientId":"web"},"oauthOptions":["#
                + #"{"key":"google","label":"Continue with Google","icon":"google","#
                + #""provider":"google","providerSpecific":true,"#
                + #""route":{"type":"cognitoHostedUi","clientId":"web","#
                + #""identityProvider":"Google"}}]}"#)
        #expect(answer.first("cache-control") == "no-store")
        #expect(answer.first("access-control-allow-origin") == "*")
        for platform in ["web", "desktop", "cli"] {
            #expect(
                try await fixture.send(.get, "/api/auth/options?platform=\(platform)").status == 200
            )
        }
        expectOnlyError(
            try await fixture.send(.get, "/api/auth/options?platform=tv"), 400,
            "platform must be web, mobile, desktop or cli")
        // Of two pools neither is surely meant.
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"cognito","name":"Other","issuer":"eu-central-1_xyz","client_id":"web","#
                + #""email_trust":"verified_claim"}"#)
        expectAnswer(try await fixture.send(.get, path), nothing)
    }

    @Test func `W5 each option is in the app's own words, by the kind behind the upstream`()
        async throws
    {
        let fixture = try await ThinkWorkFixture.make()
        let made = try await fixture.addPool()
        let microsoft = "https://login.microsoftonline.com"
        let upstreams = [
            #"{"name":"Google"}"#,
            #"{"name":"corp","kind":"oidc","issuer":"\#(microsoft)/7f1c0e2a/v2.0"}"#,
            #"{"name":"Corp","kind":"oidc","issuer":"\#(microsoft)/common/v2.0"}"#,
            #"{"name":"workspace","kind":"google","issuer":"https://accounts.google.com"}"#,
            #"{"name":"entra-acme"}"#, #"{"name":"Okta"}"#,
            #"{"name":"google-by-okta","kind":"oidc","issuer":"https://acme.okta.example"}"#,
            #"{"name":"hub","kind":"github","issuer":"https://github.com"}"#,
        ]
        let id = made.json["id"]?.string ?? ""
        let set = try await fixture.service.send(
            .patch, "/v1/providers/\(id)",
            json: #"{"upstreams":[\#(upstreams.joined(separator: ","))]}"#, as: .platformOwner)
        #expect(set.status == 200, "\(set.text)")
        let answer = try await fixture.send(.get, "/api/auth/options?platform=mobile")
        let options = answer.json["oauthOptions"]?.array ?? []
        func all(_ name: String) -> [String] { options.map { $0[name]?.string ?? "" } }
        #expect(all("key") == ["google", "corp", "corp-2", "workspace", "entra-acme"])
        #expect(all("provider") == ["google", "entra", "microsoft", "google", "entra"])
        #expect(all("icon") == ["google", "microsoft", "microsoft", "google", "microsoft"])
        #expect(
            all("label") == [
                "Continue with Google (Google)", "Continue with Microsoft (corp)",
                "Continue with Microsoft (Corp)", "Continue with Google (workspace)",
                "Continue with Microsoft (entra-acme)",
            ])
        #expect(
            options.map { $0["route"]?["identityProvider"]?.string ?? "" }
                == ["Google", "corp", "Corp", "workspace", "entra-acme"])
    }
}
