import HTTP
import JSON
import SignIn
import Storage
import TestSupport
import Testing
import Text

/// One person with one Google account, who comes through every door that there is.
struct OneIdentityTests {
    /// Where the account shows up.
    enum Door: CaseIterable, Sendable {
        /// Cognito's pre-signup trigger, for a person that the pool got from Google.
        case cognitoHook
        case preSignUpHook
        /// A Google id token at `/v1/provisioning/sign-in`.
        case token
        /// The same of the Cognito pool.
        case poolToken
        /// Code and PKCE at Google, by the photo app.
        case immich
        /// The pool's id token, by the workspace app.
        case thinkwork
        /// A Google id token that the reader app got by itself.
        case deeprecall
    }

    private static let subject = "117293849172634098123"
    private static let email = "ann.somebody@gmail.com"
    private static let pool = "eu-central-1_abc"
    private static let google = "https://accounts.google.com"
    private static let redirect = "app.immich:///oauth-callback"

    private struct Scene {
        let service: TestService
        let tenant: TenantRow
        let provider: TestProvider

        init() async throws {
            service = try await TestService.make()
            tenant = try await service.makeTenant("acme")
            provider = try await TestProvider.start()
            let endpoints =
                #""authorization_endpoint":"\#(provider.issuer)/authorize","token_endpoint":"#
                + #""\#(provider.issuer)/token","jwks_uri":"\#(provider.issuer)/keys""#
            try await service.manage(
                .post, "/v1/providers",
                #"{"kind":"google","name":"Google","client_id":"web","endpoints":{\#(endpoints)}}"#)
            try await service.manage(
                .post, "/v1/providers",
                #"{"kind":"cognito","name":"Pool","issuer":"\#(pool)","client_id":"pool-web","#
                    + #""email_trust":"verified_claim","endpoints":{\#(endpoints),"#
                    + #""issuer":"\#(provider.issuer)/\#(pool)"}}"#)
            for client in ["immich", "thinkwork", "deeprecall"] {
                try await service.manage(
                    .put, "/v1/tenants/acme/clients/\(client)",
                    #"{"enabled":true,"redirect_uris":["\#(redirect)"]}"#)
            }
            try await service.manage(
                .post, "/v1/tenants/acme/invites", #"{"email":"\#(email)","role":"manager"}"#)
        }

        func stop() async {
            await provider.stop()
            await service.stop()
        }

        private func googleToken(nonce: String? = nil) -> String {
            provider.mint(clientID: "web", now: Timestamp.systemClock()).token([
                "iss": "\"\(google)\"", "sub": "\"\(subject)\"", "email": "\"\(email)\"",
                "email_verified": "true", "nonce": nonce.map { "\"\($0)\"" },
            ])
        }

        private func poolToken() -> String {
            provider.mint(clientID: "pool-web", now: Timestamp.systemClock()).token([
                "iss": "\"\(provider.issuer)/\(pool)\"", "token_use": "\"id\"",
                "sub": "\"6f9c1d0e-pool\"", "cognito:username": "\"google_\(subject)\"",
                "email": "\"\(email)\"", "email_verified": "true",
                "identities":
                    #"[{"providerName":"Google","providerType":"Google","userId":"\#(subject)"}]"#,
            ])
        }

        /// The answer of the door.
        func pass(_ door: Door) async throws -> TestAnswer {
            switch door {
            case .cognitoHook:
                try await service.send(
                    .post, "/v1/hooks/pre-signup/cognito",
                    json: #"""
                        {"version":"1","triggerSource":"PreSignUp_ExternalProvider",
                        "region":"eu-central-1","userPoolId":"\#(pool)",
                        "userName":"Google_\#(subject)","callerContext":{"clientId":"pool-web"},
                        "request":{"userAttributes":{"email":"\#(email)","email_verified":"true"}},
                        "response":{}}
                        """#, as: .platformOwner)
            case .preSignUpHook:
                try await service.send(
                    .post, "/v1/hooks/pre-signup",
                    json: #"{"provider":"google","subject":"\#(subject)","email":"\#(email)","#
                        + #""email_verified":true,"tenant":"acme"}"#, as: .platformOwner)
            case .token, .poolToken:
                try await service.send(
                    .post, "/v1/provisioning/sign-in", json: #"{"tenant":"acme"}"#,
                    as: .bearer(door == .token ? googleToken() : poolToken()))
            case .immich: try await passImmich()
            case .thinkwork:
                try await service.send(
                    .post, "/t/acme/thinkwork/api/auth/enrollment/auto-link",
                    fields: [Field("authorization", poolToken())])
            case .deeprecall:
                try await service.send(
                    .post, "/t/acme/deeprecall/api/auth/exchange/google",
                    json: #"{"id_token":"\#(googleToken())","device_id":"mobile-1"}"#)
            }
        }

        private func passImmich() async throws -> TestAnswer {
            let mount = "/t/acme/immich/api/oauth"
            let begun = try await service.send(
                .post, "\(mount)/authorize", json: #"{"redirectUri":"\#(redirect)"}"#)
            #expect(begun.status == 201, "\(begun.text)")
            let url = begun.json["url"]?.string ?? ""
            let asked = FormText(String(url.drop { $0 != "?" }.dropFirst()))
            let token = googleToken(nonce: asked.first("nonce"))
            provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
            let cookies = begun.response.fields.filter { $0.name == "set-cookie" }
                .map { String($0.value.prefix { $0 != ";" }) }
            return try await service.send(
                .post, "\(mount)/callback",
                json: #"{"url":"\#(redirect)?code=c&state=\#(asked.first("state") ?? "")"}"#,
                fields: [Field("cookie", cookies.joined(separator: "; "))])
        }
    }

    @Test(arguments: Door.allCases)
    func `one Google account is one identity of one user, whichever door is the first`(
        first: Door
    ) async throws {
        let scene = try await Scene()
        for door in [first] + Door.allCases.filter({ $0 != first }) + [first] {
            let answer = try await scene.pass(door)
            #expect((200...201).contains(answer.status), "\(door) \(answer.text)")
        }
        let users = try await scene.service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner)
        let all = try #require(users.json["items"]?.array)
        #expect(all.count == 1, "\(users.text)")
        #expect(all.first?["role"]?.string == "manager")
        #expect(all.first?["status"]?.string == "active")
        let identities = try #require(all.first?["identities"]?.array)
        #expect(identities.count == 1, "\(users.text)")
        #expect(identities.first?["provider"]?.string == "google")
        #expect(identities.first?["issuer"]?.string == Self.google)
        #expect(identities.first?["subject"]?.string == Self.subject)
        await scene.stop()
    }
}
