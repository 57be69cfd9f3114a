import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The first import into a fresh database is not planned as if the database were empty.
@Suite(.cleansUp) struct GrownTablesTests {
    // Of several servers each knows the rows that it has.
    @Test(.onOneServer)
    func `a second large list of invites is planned with what the first has written`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant()
        let administrator = service.database.client(as: service.database.administrator)
        for table in ["invites", "users"] {
            _ = try await administrator.query(
                SQL(raw: "ALTER TABLE \(table) SET (autovacuum_enabled = false)"))
        }
        try await Self.invite(service, 0..<900)
        #expect(try await Self.known("invites", administrator) <= 0)
        try await Self.invite(service, 900..<1000)
        #expect(try await Self.known("invites", administrator) >= 900)
        #expect(try await Self.known("users", administrator) >= 900)
        let plan = try await administrator.query(
            """
            EXPLAIN SELECT id FROM invites WHERE tenant_id = \(tenant.id)
                AND email_key = 'p7@acme.example' AND status = 'pending' FOR UPDATE
            """)
        let lines = try plan.map { try $0.get(0, as: String.self) }
        #expect(lines.contains { $0.contains("Index Cond") && $0.contains("email_key") })
    }

    private static func invite(_ service: TestService, _ numbers: Range<Int>) async throws {
        let lines = numbers.map { #"{"email":"p\#($0)@acme.example"}"# }.joined(separator: ",")
        try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"invites":[\#(lines)]}"#)
    }

    private static func known(_ table: String, _ client: Postgres) async throws -> Double {
        let rows = try await client.query(
            "SELECT reltuples::float8 FROM pg_class WHERE relname = \(table)")
        return try rows.first?.get(0) ?? 0
    }
}
