import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct ServiceTests {
    @Test func `health, the document and the console answer over a socket`() async throws {
        let running = try await RunningService()
        #expect(try running.send("GET", "/livez").status == 200)
        #expect(try running.send("GET", "/readyz").status == 200)
        let document = try running.send("GET", "/openapi.json")
        #expect(document.status == 200)
        let parsed = try JSONValue(parsing: Array(document.body.utf8))
        #expect(parsed["openapi"]?.string?.hasPrefix("3.1") == true)
        #expect(parsed["paths"]?["/v1/tenants"] != nil)
        let shell = try running.send("GET", "/console/tenants")
        #expect(shell.status == 200)
        #expect(
            shell.first("content-security-policy")?.hasPrefix("default-src 'none'") == true)
        let root = try running.send("GET", "/")
        #expect(root.status == 302 && root.first("location") == "/console/")
    }

    @Test func `the demonstration is made once and its link signs the owner in`() async throws {
        let running = try await RunningService()
        for _ in 1...2 {
            let token = try await Demonstration(running.service).signInLink()
            let answer = try running.send(
                "POST", "/v1/session", body: "{\"token\":\"\(token)\"}")
            #expect(answer.status == 201, "\(answer.body)")
        }
        #expect(try await running.service.composition.application.database.tenant("demo") != nil)
    }

    @Test func `a one-time link signs in once, and signing out ends the session`() async throws {
        let running = try await RunningService()
        let storage = running.service.composition.application.database
        let person = try await storage.createOperator(
            email: "ada@operators.example", emailKey: "ada@operators.example", name: "Ada",
            role: .owner, tenant: nil, passwordHash: nil, by: .system)
        let token = TokenSecret.make()
        try await storage.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: person.id, seconds: 60)
        let signedIn = try running.send(
            "POST", "/v1/session", body: "{\"token\":\"\(token)\"}")
        #expect(signedIn.status == 201)
        let setCookie = try #require(signedIn.first("set-cookie"))
        #expect(setCookie.contains("HttpOnly") && setCookie.contains("SameSite=Strict"))
        let cookie = "Cookie: " + setCookie.prefix { $0 != ";" }
        #expect(
            try running.send("POST", "/v1/session", body: "{\"token\":\"\(token)\"}").status
                == 401)
        let console = "X-Gatehouse-Console: 1"
        #expect(try running.send("GET", "/v1/tenants", fields: [cookie]).status == 200)
        let made = #"{"slug":"acme","name":"Acme"}"#
        #expect(
            try running.send("POST", "/v1/tenants", body: made, fields: [cookie]).status == 403)
        let foreign = [cookie, console, "Sec-Fetch-Site: cross-site"]
        #expect(try running.send("POST", "/v1/tenants", body: made, fields: foreign).status == 403)
        let own = [cookie, console, "Sec-Fetch-Site: same-origin"]
        #expect(try running.send("POST", "/v1/tenants", body: made, fields: own).status == 201)
        #expect(try running.send("DELETE", "/v1/session", fields: own).status == 204)
        #expect(try running.send("GET", "/v1/tenants", fields: [cookie]).status == 401)
    }

    /// Counts an origin that is refused; then the service stops.
    private func stopAfterRefusing(_ origin: String, at running: RunningService) async throws {
        let refused = try running.send(
            "GET", "/v1/tenants/acme/users", fields: ["Origin: \(origin)"])
        #expect(refused.status == 403)
        await running.service.stop()
    }

    @Test func `a stop writes the origins that were refused, and says what it cannot write`()
        async throws
    {
        let log = CapturedLog()
        let first = try await RunningService { $0.logger = log.logger }
        let tenant = try await first.service.composition.application.database.createTenant(
            slug: "acme", name: "Acme", policy: .object([]), by: .system)
        let since = first.service.composition.application.database.clock().adding(seconds: -60)
        try await stopAfterRefusing("https://evil.example", at: first)
        #expect(!log.text.contains("counters.write_failed"))

        let second = try await RunningService(replacing: first) { $0.logger = log.logger }
        let rows = try await second.service.composition.application.database.scope(tenant.id)
            .refusedOrigins(since: since, limit: 9)
        #expect(rows.map(\.origin) == ["https://evil.example"])
        let owner = first.database.client(as: first.database.owner)
        _ = try await owner.query("DROP TABLE refused_origins")
        try await stopAfterRefusing("https://other.example", at: second)
        #expect(log.text.contains("counters.write_failed"))
    }
}
