import API
import Cryptography
import Domain
import Gatehouse
import Glibc
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// Whole lists as files, over a real socket.
@Suite(.serialized, .cleansUp) struct ExportsOnTheWireTests {
    /// More than the buffers of two sockets hold.
    private static let many = 40_000

    /// With so many users in `acme` and a key of the platform.
    private func makeUsers(_ count: Int) async throws -> (RunningService, key: String) {
        let running = try await RunningService()
        let storage = running.service.composition.application.database
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(try await storage.installSetupKey(secret.text))
        let tenant = try await storage.createTenant(
            slug: "acme", name: "Acme", policy: .object([]), by: .system)
        try await storage.addUsers(1...count, to: tenant.id)
        return (running, secret.text)
    }

    private func fields(_ key: String, _ type: String = "text/csv") -> [String] {
        ["Authorization: Bearer \(key)", "Accept: \(type)"]
    }

    private func request(_ key: String) -> String {
        Wire.request("GET", "/v1/tenants/acme/users", fields: fields(key))
    }

    @Test func `a file of many pages comes whole`() async throws {
        let (running, key) = try await makeUsers(1050)
        let answer = try running.send(
            "GET", "/v1/tenants/acme/users?sort=email", fields: fields(key))
        #expect(answer.status == 200 && answer.first("transfer-encoding") == "chunked")
        let file = try CSVFile(try Chunks(Array(answer.body.utf8)).whole())
        #expect(file["email"] == (1...1050).map { "\($0)@acme.example" }.sorted())
        let head = try running.send("HEAD", "/v1/tenants/acme/users", fields: fields(key))
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(head.first("content-type") == answer.first("content-type"))
        let old = try running.exchange(
            "GET /v1/tenants/acme/users HTTP/1.0\r\nAuthorization: Bearer \(key)\r\n"
                + "Accept: application/x-ndjson\r\n\r\n")
        #expect(old.first("transfer-encoding") == nil)
        #expect(old.body.utf8.split(separator: 0x0A).count == 1050)
    }

    @Test func `a client that hangs up gives its place back`() async throws {
        let (running, key) = try await makeUsers(Self.many)
        do {
            var first = try Wire(port: running.service.port)
            var second = try Wire(port: running.service.port)
            #expect(try first.exchange(request(key)).status == 200)
            #expect(try second.exchange(request(key)).status == 200)
            let third = try running.send("GET", "/v1/tenants/acme/users", fields: fields(key))
            #expect(third.status == 429, "\(third.head)")
        }
        var status = 0
        for _ in 0..<10_000 where status != 200 {
            let head = try running.send("HEAD", "/v1/tenants/acme/users", fields: fields(key))
            status = head.status
        }
        #expect(status == 200)
    }

    @Test func `a database that is lost on the way cuts the file`() async throws {
        let (running, key) = try await makeUsers(Self.many)
        var wire = try Wire(port: running.service.port)
        #expect(try wire.exchange(request(key)).status == 200)
        let administrator = running.database.client(as: running.database.administrator)
        _ = try await administrator.query(
            SQL(raw: "ALTER DATABASE \(running.database.name) CONNECTION LIMIT 0"))
        _ = try await administrator.query(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()
                AND usename <> current_user
            """)
        let rest = wire.rest()
        #expect(!rest.isEmpty)
        #expect(throws: Chunks.Cut.self) { try Chunks(rest).whole() }
        let refused = try running.send("GET", "/v1/tenants/acme/users", fields: fields(key))
        #expect(refused.status == 503 && refused.first("retry-after") != nil)
    }
}
