import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// An app's sign-in over sockets, with the server replaced between its steps.
@Suite(.cleansUp) struct SignInRestartTests {
    private static let redirect = "timetracker://oauth/callback"

    private static func start() async throws -> RunningService {
        try await RunningService {
            $0.publicURL = "http://127.0.0.1"
            $0.externalServices = ExternalServices(providers: OutboundPolicy(allowsLoopback: true))
        }
    }

    /// A tenant with the client, the provider and one invited person, made by an owner's session.
    private static func prepare(
        _ running: RunningService, _ provider: TestProvider
    ) async throws {
        let storage = running.service.composition.application.database
        let person = try await storage.createOperator(
            email: "ada@operators.example", emailKey: "ada@operators.example", name: "Ada",
            role: .owner, tenant: nil, passwordHash: nil, by: .system)
        let token = TokenSecret.make()
        try await storage.startOperatorSession(
            person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
            by: .system)
        let own = [
            "Cookie: gatehouse=\(token)", "X-Gatehouse-Console: 1", "Sec-Fetch-Site: same-origin",
        ]
        for (method, path, body, status) in [
            ("POST", "/v1/tenants", #"{"slug":"acme","name":"Acme"}"#, 201),
            (
                "PUT", "/v1/tenants/acme/clients/timetracker",
                #"{"enabled":true,"redirect_uris":["\#(redirect)"]}"#, 200
            ),
            (
                "POST", "/v1/providers",
                #"{"kind":"oidc","name":"Test","issuer":"\#(provider.issuer)","#
                    + #""client_id":"web","email_trust":"verified_claim"}"#, 201
            ),
            ("POST", "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#, 201),
        ] {
            let answer = try running.send(method, path, body: body, fields: own)
            #expect(answer.status == status, "\(path) \(answer.body)")
        }
    }

    @Test func `a sign-in begun at one server ends at another, and its session is valid at both`()
        async throws
    {
        let provider = try await TestProvider.start()
        let first = try await Self.start()
        try await Self.prepare(first, provider)
        // The browser sends the redirect address as it stands, below a base that ends in a slash.
        let begun = try first.send(
            "GET", "/t/acme/timetracker//auth/login?redirect_uri=\(Self.redirect)")
        #expect(begun.status == 302, "\(begun.body)")
        let location = try #require(begun.first("location"))
        let asked = FormText(String(location.drop { $0 != "?" }.dropFirst()))
        #expect(asked.first("redirect_uri") == Self.redirect)
        let state = try #require(asked.first("state"))
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token(
            ["nonce": "\"\(asked.first("nonce") ?? "")\""])
        provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        await first.service.stop()

        let second = try await RunningService(replacing: first) {
            $0.publicURL = "http://127.0.0.1"
            $0.externalServices = ExternalServices(providers: OutboundPolicy(allowsLoopback: true))
        }
        let ended = try second.send(
            "POST", "/t/acme/timetracker/auth/token",
            body:
                #"{"code":"c","state":"\#(state)","redirect_uri":"timetracker:\/\/oauth\/callback"}"#
        )
        #expect(ended.status == 200, "\(ended.body)")
        let answer = try JSONValue(parsing: Array(ended.body.utf8))
        let bearer = "Authorization: Bearer \(answer["access_token"]?.string ?? "")"
        let third = try await RunningService(replacing: first) { $0.publicURL = "http://127.0.0.1" }
        for server in [second, third] {
            let me = try server.send(
                "GET", "/t/acme/timetracker/auth/me",
                fields: [bearer, "Content-Type: application/json", "Accept: application/json"])
            #expect(me.status == 200 && me.body.contains(#""email":"ann@example.com""#))
        }
        // Signed out at one, signed out at the other.
        let out = try third.send("POST", "/t/acme/timetracker/auth/logout", fields: [bearer])
        #expect(out.body == #"{"message":"Logged out successfully"}"#)
        #expect(
            try second.send("GET", "/t/acme/timetracker/auth/me", fields: [bearer]).status == 401)
    }
}
