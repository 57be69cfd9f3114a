import Domain
import Testing
import Text

/// One test for each row of the decision table on origins.
@Suite struct OriginsPolicyTests {
    private static let now = Timestamp(microseconds: 1_000_000)

    private func policy(
        _ rows: [(String, Bool)] = [("https://app.ex.com", false)], dev: Bool = false,
        privateNetwork: Bool = false, suspended: Bool = false
    ) throws -> CORSPolicy {
        CORSPolicy(
            own: ["https://gate.ex.com"],
            rows: try rows.map { CORSRow(try Origin(configuring: $0.0), credentials: $0.1) },
            devOrigins: dev, privateNetwork: privateNetwork, isSuspended: suspended)
    }

    private func ask(
        _ policy: CORSPolicy, _ origin: String..., method: String = "GET",
        cookie: Bool = false, profile: CORSProfile = .management
    ) -> CORSDecision {
        policy.decide(
            CORSRequest(
                origins: origin.map { Array($0.utf8) }, method: method,
                hasConsoleCookie: cookie, profile: profile),
            at: Self.now)
    }

    private func preflight(
        _ policy: CORSPolicy, _ origin: String, _ method: String = "GET",
        headers: String? = nil, routes: [String]? = nil, local: Bool = false,
        profile: CORSProfile = .management
    ) -> CORSDecision {
        policy.decide(
            CORSRequest(
                origins: [Array(origin.utf8)], method: "OPTIONS", requestMethod: method,
                requestHeaders: headers, asksPrivateNetwork: local, routeMethods: routes,
                profile: profile),
            at: Self.now)
    }

    private func expectRefused(
        _ decision: CORSDecision, _ reason: CORSDecision.Reason, status: Int = 403
    ) {
        #expect(!decision.allowed)
        #expect(decision.status == status)
        #expect(decision.reason == reason)
        #expect(decision.header("access-control-allow-origin") == nil)
        #expect(decision.header("access-control-allow-credentials") == nil)
        #expect(decision.header("vary")?.hasPrefix("Origin") == true)
    }

    @Test func `without Origin there is no CORS but Vary`() throws {
        let decision = ask(try policy(), method: "POST")
        #expect(decision.allowed)
        #expect(decision.status == nil)
        #expect(decision.headers.map(\.name) == ["vary"])
    }

    @Test func `an empty Origin is absent for GET and refused for POST`() throws {
        #expect(ask(try policy(), "", method: "HEAD").allowed)
        expectRefused(ask(try policy(), "", method: "POST"), .empty)
    }

    @Test func `two Origin fields or a list are 400`() throws {
        let twice = ask(try policy(), "https://app.ex.com", "https://app.ex.com")
        expectRefused(twice, .ambiguous, status: 400)
        for list in ["https://app.ex.com, https://b.ex", "https://app.ex.com https://b.ex"] {
            expectRefused(ask(try policy(), list), .ambiguous, status: 400)
        }
    }

    @Test func `the null origin is never allowed`() throws {
        expectRefused(ask(try policy(dev: true), "null"), .null)
    }

    @Test func `our own origin passes without allow-origin`() throws {
        let decision = ask(try policy([]), "https://gate.ex.com", method: "POST", cookie: true)
        #expect(decision.allowed)
        #expect(decision.rule == .own)
        #expect(decision.headers.map(\.name) == ["vary"])
    }

    @Test func `an exact match gets the stored text back`() throws {
        let decision = ask(try policy(), "https://app.ex.com")
        #expect(decision.rule == .exact)
        #expect(decision.status == nil)
        #expect(decision.header("access-control-allow-origin") == "https://app.ex.com")
        #expect(decision.header("vary") == "Origin")
        #expect(
            decision.header("access-control-expose-headers")
                == "x-request-id, x-immich-cid, retry-after, etag, location, link, "
                + "www-authenticate, ratelimit-limit, ratelimit-remaining, ratelimit-reset, "
                + "x-gatehouse-position, idempotent-replayed")
    }

    @Test func `upper case and a trailing slash in a request do not match`() throws {
        for origin in ["HTTPS://App.Ex.com", "https://app.ex.com/", "https://app.e\u{301}x.com"] {
            expectRefused(ask(try policy(), origin), .notListed)
        }
    }

    @Test func `any loopback port passes by the switch alone and without credentials`() throws {
        expectRefused(ask(try policy(), "http://localhost:5173"), .notListed)
        let decision = ask(try policy(dev: true), "http://localhost:5173", profile: .cookies)
        #expect(decision.rule == .devOrigins)
        #expect(decision.header("access-control-allow-origin") == "http://localhost:5173")
        #expect(decision.header("access-control-allow-credentials") == nil)
        expectRefused(ask(try policy(dev: true), "http://localhost:0"), .notListed)
    }

    @Test func `an app's scheme is an exact row without credentials`() throws {
        let decision = ask(
            try policy([("capacitor://localhost", true)]), "capacitor://localhost",
            profile: .cookies)
        #expect(decision.header("access-control-allow-origin") == "capacitor://localhost")
        #expect(decision.header("access-control-allow-credentials") == nil)
    }

    @Test func `a wildcard echoes the one label below it without credentials`() throws {
        let wild = try policy([("https://*.ex.com", true)])
        let decision = ask(wild, "https://a.ex.com", profile: .cookies)
        #expect(decision.rule == .wildcard)
        #expect(decision.header("access-control-allow-origin") == "https://a.ex.com")
        #expect(decision.header("access-control-allow-credentials") == nil)
        expectRefused(ask(wild, "https://ex.com"), .notListed)
        expectRefused(ask(wild, "https://a.b.ex.com"), .notListed)
    }

    @Test func `a wildcard whose domain is lost counts for nothing`() throws {
        let row = CORSRow(try Origin(configuring: "https://*.ex.com"), isEnabled: false)
        expectRefused(ask(CORSPolicy(own: [], rows: [row]), "https://a.ex.com"), .notListed)
    }

    @Test func `credentials need the row, https and a client contract`() throws {
        let name = "access-control-allow-credentials"
        let rows = try policy([("https://app.ex.com", true), ("http://app.ex.com", true)])
        #expect(ask(rows, "https://app.ex.com", profile: .cookies).header(name) == "true")
        #expect(ask(rows, "https://app.ex.com").header(name) == nil)
        #expect(ask(rows, "http://app.ex.com", profile: .cookies).header(name) == nil)
        #expect(ask(try policy(), "https://app.ex.com", profile: .cookies).header(name) == nil)
    }

    @Test func `a preflight is 204 with methods, headers and ten minutes`() throws {
        let decision = preflight(
            try policy(), "https://app.ex.com", "PATCH",
            headers: "Authorization, content-type ,X-Request-Id", routes: ["GET", "PATCH"])
        #expect(decision.status == 204)
        #expect(decision.header("access-control-allow-methods") == "GET, PATCH, HEAD, OPTIONS")
        #expect(
            decision.header("access-control-allow-headers")
                == "authorization, content-type, accept, x-requested-with, idempotency-key, "
                + "if-match, if-none-match, x-request-id, traceparent, tracestate, last-event-id, "
                + "x-gatehouse-position")
        #expect(decision.header("access-control-max-age") == "600")
        #expect(
            decision.header("vary")
                == "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
    }

    @Test func `a preflight for a method or header that is not allowed is 403`() throws {
        let app = "https://app.ex.com"
        expectRefused(
            preflight(try policy(), app, "DELETE", routes: ["GET"]), .methodNotAllowed)
        expectRefused(preflight(try policy(), app, "get", routes: ["GET"]), .methodNotAllowed)
        expectRefused(
            preflight(try policy(), app, headers: "authorization, x-evil"), .headerNotAllowed)
        expectRefused(preflight(try policy(), app, headers: "*"), .headerNotAllowed)
    }

    @Test func `OPTIONS without a requested method goes on to its route`() throws {
        let decision = ask(try policy(), "https://app.ex.com", method: "OPTIONS")
        #expect(decision.status == nil)
        #expect(decision.header("access-control-allow-origin") == "https://app.ex.com")
    }

    @Test func `a preflight of an unknown route passes with all methods`() throws {
        let decision = preflight(try policy(), "https://app.ex.com", "DELETE")
        #expect(
            decision.header("access-control-allow-methods")
                == "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    }

    @Test func `each contract lists its own headers`() throws {
        let app = "https://app.ex.com"
        for header in ["x-immich-user-token", "x-tenant-slug", "x-signalr-user-agent"] {
            let profile = CORSProfile(client: [header])
            let rows = try policy()
            #expect(preflight(rows, app, headers: header, profile: profile).status == 204)
            expectRefused(preflight(rows, app, headers: header), .headerNotAllowed)
        }
    }

    @Test func `a private network is allowed by the switch for exact https alone`() throws {
        let name = "access-control-allow-private-network"
        let app = "https://app.ex.com"
        let decision = preflight(try policy(privateNetwork: true), app, local: true)
        #expect(decision.header(name) == "true")
        #expect(
            decision.header("vary")?.hasSuffix("Access-Control-Request-Private-Network") == true)
        #expect(preflight(try policy(privateNetwork: true), app).header(name) == nil)
        #expect(preflight(try policy(), app, local: true).header(name) == nil)
        let plain = try policy([("http://app.ex.com", false)], privateNetwork: true)
        #expect(preflight(plain, "http://app.ex.com", local: true).header(name) == nil)
    }

    @Test func `the console's cookie from elsewhere is refused even where the origin is listed`()
        throws
    {
        expectRefused(ask(try policy(), "https://app.ex.com", cookie: true), .cookieFromElsewhere)
    }

    @Test func `a suspended tenant's list counts for nothing`() throws {
        expectRefused(ask(try policy(suspended: true), "https://app.ex.com"), .tenantSuspended)
    }

    @Test func `a row counts until it expires and an unexpired twin still does`() throws {
        let origin = try Origin(configuring: "https://app.ex.com")
        let dead = CORSRow(origin, expiresAt: Self.now)
        let live = CORSRow(origin, expiresAt: Self.now.adding(seconds: 1))
        expectRefused(ask(CORSPolicy(own: [], rows: [dead]), "https://app.ex.com"), .notListed)
        #expect(ask(CORSPolicy(own: [], rows: [dead, live]), "https://app.ex.com").allowed)
    }

    @Test func `a public document is for every origin without credentials`() {
        let request = CORSRequest(
            origins: [Array("https://any.where".utf8)], method: "GET", profile: .cookies)
        let decision = CORSPolicy.publicDocument(request)
        #expect(decision.header("access-control-allow-origin") == "*")
        #expect(decision.header("access-control-allow-credentials") == nil)
        #expect(decision.header("vary") == "Origin")
    }
}

extension CORSProfile {
    /// A client's whose pages send nothing of their own.
    fileprivate static let cookies = CORSProfile(client: [])
}
