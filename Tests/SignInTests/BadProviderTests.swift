import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// Providers that are slow, or that answer far too much: every app fails closed, within its time.
@Suite(.cleansUp) struct BadProviderTests {
    enum Fault: String, CaseIterable, Sendable {
        /// It accepts the connection and says nothing.
        case stalls
        /// It begins an answer, and no more comes.
        case stops
        /// Ten megabytes.
        case floods
        /// It hangs up in the middle.
        case breaksOff
    }

    private struct Fixture {
        let service: TestService
        let listener: ScriptedListener
        let provider: TestProvider

        init(_ fault: Fault, knowsMetadata: Bool) async throws {
            var policy = OutboundPolicy(allowsLoopback: true)
            policy.total = .milliseconds(400)
            service = try await TestService.make(
                externalServices: ExternalServices(providers: policy))
            try await service.makeTenant("acme")
            listener = ScriptedListener { Self.play(fault, $0) }
            provider = try await TestProvider.start()
            let bad = "http://127.0.0.1:\(listener.port)"
            // The address of the discovery document, where that itself is bad.
            let issuer = knowsMetadata ? provider.issuer : bad
            if knowsMetadata {
                provider.set(
                    TestProvider.discoveryPath,
                    .init(
                        """
                        {"issuer":"\(issuer)","jwks_uri":"\(issuer)\(TestProvider.keysPath)",
                        "authorization_endpoint":"\(issuer)/authorize","token_endpoint":"\(bad)/t",
                        "introspection_endpoint":"\(bad)/i","userinfo_endpoint":"\(bad)/u"}
                        """))
            }
            for (client, kind) in [
                ("immich", "oidc"), ("timetracker", "oidc"), ("relate", "oidc"),
                ("deeprecall", "google"),
            ] {
                try await service.manage(
                    .put, "/v1/tenants/acme/clients/\(client)",
                    #"{"enabled":true,"redirect_uris":["\#(BadProviderTests.redirect)"],"#
                        + #""settings":{"provider":"\#(kind)"}}"#)
            }
            for kind in ["oidc", "google"] {
                try await service.manage(
                    .post, "/v1/providers",
                    #"{"kind":"\#(kind)","name":"P","issuer":"\#(issuer)","client_id":"web"}"#)
            }
        }

        private static func play(_ fault: Fault, _ connection: ScriptedConnection) {
            guard connection.read(until: "\r\n\r\n") != nil else { return }
            switch fault {
            case .stalls: connection.waitForEnd()
            case .stops:
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                connection.waitForEnd()
            case .floods:
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                guard connection.send(head + "Content-Length: 10485760\r\n\r\n{\"a\":\"") else {
                    return
                }
                let chunk = String(repeating: "a", count: 65_536)
                while connection.send(chunk) {}
            case .breaksOff:
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"id_token\":\"ey")
            }
        }

        func send(
            _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil
        ) async throws -> TestAnswer {
            try await service.send(
                method, "/t/acme\(path)", json: json,
                fields: token.map { [Field("authorization", "Bearer \($0)")] } ?? [])
        }
    }

    private static let redirect = "com.example.app://callback"

    @Test(arguments: Fault.allCases)
    func `a provider whose documents do not come begins no sign-in`(fault: Fault) async throws {
        let fixture = try await Fixture(fault, knowsMetadata: false)
        let login = try await fixture.send(
            .get, "/timetracker/auth/login?redirect_uri=\(Self.redirect)")
        expectOnlyError(login, 503, "Failed to initiate login")
        #expect(login.first("retry-after") == "5")
        let immich = try await fixture.send(
            .post, "/immich/api/oauth/authorize", #"{"redirectUri":"\#(Self.redirect)"}"#)
        expectError(immich, 503, "OAuth authentication failed")
        // A token is checked by keys that cannot be fetched: it may be valid or not.
        let token = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock()).token()
        let exchange = try await fixture.send(
            .post, "/deeprecall/api/auth/exchange/google",
            #"{"id_token":"\#(token)","device_id":"mobile-1"}"#)
        expectOnlyError(exchange, 503, "Token exchange failed")
        let profile = try await fixture.send(.get, "/relate/api/profile", token: token)
        #expect(profile.status == 503 && profile.first("retry-after") == "5")
    }

    @Test(arguments: Fault.allCases)
    func `a provider whose endpoints do not answer ends no sign-in`(fault: Fault) async throws {
        let fixture = try await Fixture(fault, knowsMetadata: true)
        let login = try await fixture.send(
            .get, "/timetracker/auth/login?redirect_uri=\(Self.redirect)")
        let asked = FormText(String((login.first("location") ?? "").drop { $0 != "?" }.dropFirst()))
        let state = asked.first("state") ?? ""
        let ended = try await fixture.send(
            .post, "/timetracker/auth/token",
            #"{"code":"c","state":"\#(state)","redirect_uri":"\#(Self.redirect)"}"#)
        expectOnlyError(
            ended, 503, "Failed to exchange token: the provider cannot be asked; try again.")
        let profile = try await fixture.send(.get, "/relate/api/profile", token: "opaque")
        #expect(profile.status == 503, "\(profile.text)")
    }
}
