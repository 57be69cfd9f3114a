import HTTP
import JSON
import TestSupport
import Testing

/// What an Immich app asks before anybody signs in.
@Suite(.cleansUp) struct ImmichServerTests {
    @Test func `I1 the well-known document leads to the API, and without the client there is none`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        let known = try await fixture.send(.get, "/.well-known/immich")
        expectAnswer(known, #"{"api":{"endpoint":"/api"}}"#)
        #expect(known.first("access-control-allow-origin") == "*")
        try await fixture.service.manage(
            .put, "/v1/tenants/acme/clients/immich", #"{"enabled":false}"#)
        expectError(
            try await fixture.send(.get, "/.well-known/immich"), 404, "There is no such path.")
    }

    @Test func `I2 a ping is answered to anybody's page`() async throws {
        let fixture = try await ImmichFixture.make()
        let ping = try await fixture.send(.get, "/api/server/ping")
        expectAnswer(ping, #"{"res":"pong"}"#)
        #expect(ping.first("access-control-allow-origin") == "*")
        let anywhere = try await fixture.service.send(
            .get, "/t/acme/immich/api/server/ping",
            fields: [Field("origin", "https://any.example")])
        #expect(anywhere.status == 200)
        #expect(anywhere.first("access-control-allow-origin") == "*")
    }

    @Test func `I3 the version is a setting, else that of the apps' generation`() async throws {
        let fixture = try await ImmichFixture.make()
        for (settings, text) in [
            ("{}", #"{"major":3,"minor":0,"patch":0,"prerelease":null}"#),
            (#"{"compat":"v2"}"#, #"{"major":2,"minor":0,"patch":0}"#),
            (
                #"{"version":{"major":2,"minor":3,"patch":1},"compat":"v2"}"#,
                #"{"major":2,"minor":3,"patch":1}"#
            ),
            (
                #"{"version":{"major":3,"minor":1,"patch":4}}"#,
                #"{"major":3,"minor":1,"patch":4,"prerelease":null}"#
            ),
        ] {
            try await ImmichFixture.set(fixture.service, fixture.tenant, settings)
            expectAnswer(try await fixture.send(.get, "/api/server/version"), text)
        }
    }

    @Test func `I4 every feature is listed, and those not served are false`() async throws {
        let fixture = try await ImmichFixture.make()
        func expectFeatures(oauth: Bool, password: Bool) async throws {
            expectAnswer(
                try await fixture.send(.get, "/api/server/features"),
                #"{"configFile":false,"duplicateDetection":false,"email":false,"#
                    + #""facialRecognition":false,"importFaces":false,"map":false,"#
                    + #""oauth":\#(oauth),"oauthAutoLaunch":false,"ocr":false,"#
                    + #""passwordLogin":\#(password),"realtimeTranscoding":false,"#
                    + #""reverseGeocoding":false,"search":false,"sidecar":false,"#
                    + #""smartSearch":false,"trash":false}"#)
        }
        try await expectFeatures(oauth: false, password: true)
        try await fixture.service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"P","issuer":"https://idp.example","client_id":"web","#
                + #""email_trust":"verified_claim"}"#)
        try await ImmichFixture.set(fixture.service, fixture.tenant, #"{"password_login":false}"#)
        try await expectFeatures(oauth: true, password: false)
    }

    @Test func `I5 the configuration names the address that the person typed`() async throws {
        let fixture = try await ImmichFixture.make()
        func expectConfig(
            domain: String, isInitialized: Bool, button: String, _ answer: TestAnswer
        ) {
            expectAnswer(
                answer,
                #"{"externalDomain":"\#(domain)","isInitialized":\#(isInitialized),"#
                    + #""isOnboarded":true,"loginPageMessage":"","maintenanceMode":false,"#
                    + #""mapDarkStyleUrl":"","mapLightStyleUrl":"","minFaces":3,"#
                    + #""oauthButtonText":"\#(button)","publicUsers":false,"trashDays":30,"#
                    + #""userDeleteDelay":30}"#)
        }
        expectConfig(
            domain: "http://gatehouse.test/t/acme/immich", isInitialized: true,
            button: "Login with OAuth", try await fixture.send(.get, "/api/server/config"))
        expectConfig(
            domain: "http://photos.acme.example", isInitialized: true, button: "Login with OAuth",
            try await fixture.service.send(
                .get, "/api/server/config", fields: [Field("host", "photos.acme.example")]))
        try await fixture.service.makeTenant("fresh")
        try await fixture.service.manage(
            .put, "/v1/tenants/fresh/clients/immich",
            #"{"enabled":true,"settings":{"admin_sign_up":true,"button_text":"Enter"}}"#)
        expectConfig(
            domain: "http://gatehouse.test/t/fresh/immich", isInitialized: false, button: "Enter",
            try await fixture.service.send(.get, "/t/fresh/immich/api/server/config"))
    }

    @Test func `a page sends a preflight before each call, also on a path that is not served`()
        async throws
    {
        let fixture = try await ImmichFixture.make()
        try await fixture.expectPreflights([
            (.post, "/api/auth/login"), (.get, "/api/oauth/authorize"),
            (.post, "/api/oauth/authorize"), (.post, "/api/oauth/callback"),
            (.get, "/api/users/me"), (.put, "/api/users/me"), (.post, "/api/auth/logout"),
            (.post, "/api/auth/change-password"), (.put, "/api/auth/change-password"),
            (.post, "/api/auth/pin-code"), (.put, "/api/auth/pin-code"),
            (.delete, "/api/auth/pin-code"), (.post, "/api/auth/pin-code/verify"),
            (.post, "/api/auth/session/unlock"), (.post, "/api/auth/session/lock"),
            (.get, "/api/auth/status"), (.post, "/api/auth/validateToken"),
            (.post, "/api/auth/admin-sign-up"), (.post, "/api/api-keys"),
            (.get, "/api/api-keys"), (.get, "/api/api-keys/me"), (.put, "/api/api-keys/1"),
            (.delete, "/api/api-keys/1"), (.post, "/api/api-keys/1/rotate"),
            // Photos are not served here.
            (.get, "/api/assets/1"), (.put, "/api/albums"),
        ])
        // Documents for everyone are for everyone's pages.
        for path in [
            "/.well-known/immich", "/api/server/ping", "/api/server/version",
            "/api/server/features", "/api/server/config",
        ] {
            let asked = try await fixture.service.send(
                .options, ImmichFixture.mount + path,
                fields: [
                    Field("origin", "https://any.example"),
                    Field("access-control-request-method", "GET"),
                ])
            expectEmpty(asked, 204)
            #expect(asked.first("access-control-allow-origin") == "*")
            #expect(asked.first("access-control-allow-methods") == "GET, HEAD, OPTIONS")
            #expect(asked.first("access-control-max-age") == "600")
        }
        for path in ["/api/assets/1", "/api/timeline/buckets"] {
            expectError(try await fixture.send(.get, path), 404, "There is no such path.")
        }
    }
}
