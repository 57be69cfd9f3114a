import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Storage
import TestSupport
import Testing

/// Whose word about the caller counts.
@Suite(.cleansUp) struct TrustedProxiesTests {
    /// Who the audit says made a tenant, when the request had these fields.
    private func address(
        seenBy running: RunningService, _ slug: String, _ auth: String, _ fields: [String]
    ) throws -> String? {
        let made = try running.send(
            "POST", "/v1/tenants", body: #"{"slug":"\#(slug)","name":"x"}"#,
            fields: fields + [auth])
        #expect(made.status == 201, "\(made.body)")
        let events = try running.send(
            "GET", "/v1/tenants/\(slug)/audit-events", fields: [auth])
        return try JSONValue(parsing: Array(events.body.utf8))["items"]?.array?.first?["ip"]?.string
    }

    private func key(_ running: RunningService) async throws -> String {
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await running.service.composition.application.database.installSetupKey(secret.text))
        return "Authorization: Bearer \(secret.text)"
    }

    @Test func `only a trusted proxy names the caller`() async throws {
        let running = try await RunningService {
            $0.trustedProxies = ["127.0.0.1", "10.0.0.0/8"]
        }
        let auth = try await key(running)
        for (slug, fields, expected) in [
            ("t1", [], "127.0.0.1"),
            ("t2", ["X-Forwarded-For: 192.0.2.7"], "192.0.2.7"),
            // What the caller wrote itself stands before what our proxies wrote.
            ("t3", ["X-Forwarded-For: 198.51.100.1, 192.0.2.7, 10.1.2.3"], "192.0.2.7"),
            (
                "t4", ["X-Forwarded-For: 198.51.100.1", "X-Forwarded-For: 2001:db8::7"],
                "2001:db8::7"
            ),
            ("t5", ["X-Forwarded-For: 192.0.2.7, rubbish"], "unknown"),
            ("u1", ["X-Forwarded-For: 203.0.113.9:4711"], "203.0.113.9"),
            ("u2", ["X-Forwarded-For: [2001:db8::7]:5123"], "2001:db8::7"),
            ("u3", ["X-Forwarded-For: 1.2.3.4, [2001:db8::7], 10.1.2.3:80"], "2001:db8::7"),
            ("u4", ["X-Forwarded-For: 203.0.113.9:99999"], "unknown"),
            ("u5", ["X-Forwarded-For: [203.0.113.9]:80"], "unknown"),
            ("t6", ["X-Forwarded-For: 10.9.9.9"], "10.9.9.9"),
        ] as [(String, [String], String)] {
            #expect(
                try address(seenBy: running, slug, auth, fields) == expected, "\(fields)")
        }
        // The proxy ends TLS: the response has HSTS.
        let secure = try running.send(
            "GET", "/v1/me", fields: [auth, "X-Forwarded-Proto: https"])
        #expect(secure.first("strict-transport-security") != nil)
        // A client's own line stands before the proxy's.
        for told in [
            ["X-Forwarded-Proto: https", "X-Forwarded-Proto: http"],
            ["X-Forwarded-Proto: https, http"],
        ] {
            let twice = try running.send("GET", "/v1/me", fields: [auth] + told)
            #expect(twice.first("strict-transport-security") == nil)
        }
        let plain = try running.send("GET", "/v1/me", fields: [auth])
        #expect(plain.first("strict-transport-security") == nil)
    }

    @Test func `a request that was passed on does not read the metrics`() async throws {
        let running = try await RunningService { $0.trustedProxies = ["127.0.0.1"] }
        #expect(try running.send("GET", "/metrics").status == 200)
        for field in [
            "X-Forwarded-Proto: http", "X-Forwarded-Host: a", "X-Forwarded-Port: 80",
            "X-Forwarded-For: rubbish", "CF-Connecting-IP: 192.0.2.1", "Via: 1.1 a",
        ] {
            #expect(try running.send("GET", "/metrics", fields: [field]).status == 401, "\(field)")
        }
    }

    @Test func `a host that is not served is named with the setting, in answer and log`()
        async throws
    {
        let running = try await RunningService { $0.publicURL = "https://gate.example:8443" }
        let answer = try running.exchange(
            "GET /console/ HTTP/1.1\r\nHost: MyVM:18610\r\nConnection: close\r\n\r\n")
        #expect(answer.status == 421)
        #expect(answer.body.contains("The host myvm:18610 is not served here"))
        #expect(answer.body.contains("GATEHOUSE_PUBLIC_URL"))
        #expect(answer.body.contains("gate.example:8443"))
        let passedOn = try running.exchange(
            "GET /v1/me HTTP/1.1\r\nHost: gate.example\r\nX-Forwarded-For: 192.0.2.1\r\n"
                + "Connection: close\r\n\r\n")
        #expect(passedOn.status == 421)
        #expect(passedOn.body.contains("GATEHOUSE_PUBLIC_URL"))
        #expect(!passedOn.body.contains("8443"))
        let metrics = try running.exchange(
            "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(metrics.body.contains(#"status="4xx""#))
    }

    @Test func `without trusted proxies the peer is the caller, whatever it says`() async throws {
        let running = try await RunningService()
        let auth = try await key(running)
        #expect(
            try address(seenBy: running, "t1", auth, ["X-Forwarded-For: 192.0.2.7"])
                == "127.0.0.1")
        let answer = try running.send(
            "GET", "/v1/me", fields: [auth, "X-Forwarded-Proto: https"])
        #expect(answer.first("strict-transport-security") == nil)
    }

    @Test func `a public address of https makes cookies secure, whatever the way to the server`()
        async throws
    {
        let running = try await RunningService { $0.publicURL = "https://gate.example" }
        let database = running.service.composition.application.database
        let person = try await database.createOperator(
            email: "o@gate.example", emailKey: "o@gate.example", name: nil, role: .owner,
            tenant: nil, passwordHash: nil, by: .system)
        // A proxy that is not named as trusted; what it says of the scheme is not heard.
        for told in [[], ["X-Forwarded-Proto: http"]] {
            let token = TokenSecret.make()
            try await database.storeOperatorLink(
                TokenSecret.hash(token) ?? [], for: person.id, seconds: 60)
            let answer = try running.send(
                "POST", "/v1/session", body: #"{"token":"\#(token)"}"#, fields: told)
            #expect(answer.status == 201, "\(answer.body)")
            let cookie = try #require(answer.first("set-cookie"))
            #expect(cookie.hasPrefix("__Host-gatehouse="), "\(cookie)")
            let attributes = cookie.split(separator: ";").dropFirst().map {
                String($0.drop { $0 == " " })
            }
            #expect(attributes == ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"])
            #expect(answer.first("strict-transport-security") == "max-age=31536000")
            // The browser comes back with it by the same way.
            let pair = cookie.prefix { $0 != ";" }
            let fields = ["Cookie: \(pair)", "X-Gatehouse-Console: 1"] + told
            let current = try running.send("GET", "/v1/session", fields: fields)
            #expect(current.status == 200, "\(current.body)")
            let over = try running.send(
                "DELETE", "/v1/session", fields: fields + ["Sec-Fetch-Site: same-origin"])
            #expect(over.status == 204, "\(over.body)")
            #expect(over.first("set-cookie")?.hasPrefix("__Host-gatehouse=; Max-Age=0") == true)
        }
        // The second time an answer may come from memory; no page is left out.
        for path in ["/console/", "/console/", "/console/sign-in", "/docs", "/openapi.json"] {
            let page = try running.send("GET", path)
            #expect(page.first("strict-transport-security") == "max-age=31536000", "\(path)")
        }
        let plain = try await RunningService(replacing: running) {
            $0.publicURL = "http://127.0.0.1"
        }
        let page = try plain.send("GET", "/console/")
        #expect(page.status == 200 && page.first("strict-transport-security") == nil)
    }
}
