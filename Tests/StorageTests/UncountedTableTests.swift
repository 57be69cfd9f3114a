import HTTP
import JSON
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

    @Test func `a person's staged rows are found without reading each import`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme").id
        let administrator = service.database.client(as: service.database.administrator)
        for table in ["imports", "import_rows", "import_keys"] {
            try await administrator.query(
                "ALTER TABLE \(raw: table) SET (autovacuum_enabled = false)")
        }
        // Counted while another tenant's rows alone waited.
        for (owner, count) in [(try await service.makeTenant("other").id, 20_000), (tenant, 5000)] {
            try await administrator.query(
                """
                INSERT INTO imports (tenant_id, id, created_at)
                VALUES (\(owner), \(owner), now())
                """)
            try await administrator.query(
                """
                INSERT INTO import_rows (tenant_id, import_id, row, document)
                SELECT \(owner), \(owner), n, '{}' FROM generate_series(1, \(count)::bigint) n
                """)
            try await administrator.query(
                """
                INSERT INTO import_keys (tenant_id, import_id, key, row)
                SELECT \(owner), \(owner), n * m, n FROM generate_series(1, \(count)::bigint) n,
                    (VALUES (1), (-100000)) AS of (m)
                """)
            if owner != tenant {
                try await administrator.query("ANALYZE imports, import_rows, import_keys")
            }
        }
        let plan = try await service.storage.scope(tenant).change(by: .system) { change in
            try await change.query(
                """
                EXPLAIN (ANALYZE, BUFFERS) UPDATE import_rows t SET document = NULL
                WHERE t.tenant_id = \(tenant) AND t.document IS NOT NULL
                    AND \(StagedPerson.rows([7, 8, 6000], in: tenant))
                """
            ).all { (row) throws(PostgresError) in try row.get(0, as: String.self) }
        }
        let buffers = try #require(plan.first { $0.contains("Buffers: shared hit=") })
        let hits = buffers.split(separator: "hit=")[1].prefix { $0.isNumber }
        #expect(try #require(Int(hits)) < 2000, "\(plan.joined(separator: "\n"))")
        let left = try await administrator.read("SELECT 1 FROM import_rows WHERE document IS NULL")
        #expect(left.count == 2)
    }

    @Test func `many users are acted on by a filter before they are counted`() async throws {
        let service = try await TestService.make()
        let tenant = try await service.makeTenant("acme").id
        let administrator = service.database.client(as: service.database.administrator)
        for table in ["users", "identities", "user_search"] {
            try await administrator.query(
                "ALTER TABLE \(raw: table) SET (autovacuum_enabled = false)")
        }
        try await service.storage.addUsers(1...20000, to: tenant)
        try await administrator.query(
            """
            INSERT INTO identities (tenant_id, id, user_id, provider, issuer, subject, created_at)
            SELECT tenant_id, id, id, 'oidc', 'https://idp.example', email, now() FROM users
            """)
        let started = ContinuousClock.now
        let answer = try await service.send(
            .post, "/v1/tenants/acme/users/actions?dry_run=true",
            json: #"{"action":"end_sessions","filter":{"provider":"oidc","role":"member"}}"#,
            as: .platformOwner)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["count"]?.int == 20000)
        #expect(ContinuousClock.now - started < .seconds(20))
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
