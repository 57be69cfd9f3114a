import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// PostgreSQL's choice of an index in a table that has grown since it was last counted.
@Suite(.cleansUp) struct UncountedTableTests {
    @Test func `one identity is found without reading all of its provider`() async throws {
        let service = try await TestService.make()
        let scope = service.storage.scope(try await service.makeTenant("acme").id)
        let plan = try await scope.change(by: .system) { change in
            try await change.addUsers(1...20000)
            try await change.query(
                """
                INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject,
                    created_at)
                SELECT tenant_id, id, id, 'oidc', 'https://idp.example',
                    email, now() FROM users WHERE tenant_id = \(scope.tenant)
                """)
            return try await change.query(
                """
                EXPLAIN SELECT user_id FROM identities WHERE tenant_id = \(scope.tenant)
                    AND provider = \("oidc") AND issuer = \("https://idp.example")
                    AND subject = \("7@acme.example")
                """
            ).all { (row) throws(PostgresError) in try row.get(0, as: String.self) }
        }
        let condition = try #require(plan.first { $0.contains("Index Cond") })
        #expect(condition.contains("subject"), "\(plan)")
    }

    // Counts what one session read on its server.
    @Test(.onOneServer) func `one person is removed without reading all of the tenant's`()
        async throws
    {
        let service = try await TestService.make()
        let (old, new) = (
            try await service.makeTenant("old").id, try await service.makeTenant("new").id
        )
        let read = try Shell.run([
            "psql", "-X", "-q", "-A", "-t", "-d", service.database.administrator, "-c",
            """
            BEGIN;
            INSERT INTO directory_people
                SELECT sha256(n::text::bytea) || '\\x00000000', '\(old)'
                FROM generate_series(1, 20000) AS n;
            ANALYZE directory_people;
            INSERT INTO directory_people
                SELECT sha256(n::text::bytea) || '\\x00000001', '\(new)'
                FROM generate_series(1, 5000) AS n;
            SET LOCAL app.tenant = '\(new)';
            SELECT directory_remove_person(sha256('7') || '\\x00000001');
            SELECT 'read: ' || pg_stat_get_xact_tuples_fetched(
                'directory_people_by_tenant'::regclass);
            SELECT 'kept: ' || count(*) FROM directory_people WHERE tenant_id = '\(new)';
            ROLLBACK;
            """,
        ])
        #expect(read.contains("read: 0\n") && read.contains("kept: 4999\n"), "\(read)")
    }
}
