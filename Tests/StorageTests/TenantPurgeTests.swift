import Domain
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// What a purge leaves of a tenant, with a row of it in every table that names one.
@Suite(.serialized, .cleansUp) struct TenantPurgeTests {
    /// What happened, and names that are never given again.
    private static let kept: Set<String> = [
        "audit_events", "directory_slugs", "directory_locators",
    ]

    private struct Fixture {
        let service: TestService
        let administrator: Postgres
        let mine = UUID.random()
        let other = UUID.random()
        /// Every table with a tenant's rows, out of the catalogue.
        let tables: [String]

        var storage: Database { service.storage }

        init() async throws {
            service = try await TestService.make()
            administrator = service.database.client(as: service.database.administrator)
            let rows = try await administrator.read(
                """
                SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
                    AND (a.attname = 'tenant_id' OR c.relname = 'tenants' AND a.attname = 'id')
                """)
            tables = try rows.map { try $0.get(0) }
            for tenant in [mine, other] {
                try await administrator.query(RowIsolationTests.rows(of: tenant, in: tables))
            }
            // What has ended by itself is swept whosoever it is.
            let ending = [
                "sessions", "pending_choices", "tombstones", "former_addresses", "email_changes",
                "policy_trials",
            ]
            for table in ending {
                try await administrator.query(
                    "UPDATE \(raw: table) SET expires_at = now() + interval '1 day'")
            }
        }

        /// How many rows of the tenant a table has.
        func count(_ table: String, of tenant: UUID) async throws -> Int {
            let key = table == "tenants" ? "id" : "tenant_id"
            let rows = try await administrator.read(
                "SELECT count(*) FROM \(raw: table) WHERE \(raw: key) = \(tenant)")
            return try rows[0].get(0)
        }

        func delete(daysAgo: Int64) async throws {
            let at = storage.clock().adding(seconds: -daysAgo * 86_400)
            try await administrator.query(
                "UPDATE tenants SET status = 'deleted', deleted_at = \(at) WHERE id = \(mine)")
        }

        /// In pieces: on a busy machine one statement would run into its limit of time.
        func addUsers(_ many: Int) async throws {
            for first in stride(from: 1, through: many, by: 1000) {
                try await administrator.query(
                    """
                    INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                        created_at, updated_at)
                    SELECT \(mine), gen_random_uuid(), n || '@x.example', n || '@x.example',
                        'member', 'active', 'operator', now(), now()
                    FROM generate_series(\(first), \(min(first + 999, many))) n
                    """)
            }
        }
    }

    private func expectPurged(_ fixture: Fixture) async throws {
        for table in fixture.tables {
            let left = try await fixture.count(table, of: fixture.mine)
            if Self.kept.contains(table) {
                #expect(left > 0, "\(table) has lost a row")
            } else {
                #expect(left == 0, "\(table) has a row of a purged tenant")
            }
            #expect(try await fixture.count(table, of: fixture.other) > 0, "\(table) of another")
        }
    }

    @Test func `nothing is left in any table but the audit and the names, and others keep theirs`()
        async throws
    {
        let fixture = try await Fixture()
        #expect(Set(fixture.tables).isSuperset(of: IsolationTests.tenantTables))
        try await fixture.delete(daysAgo: 1)
        for table in fixture.tables {
            #expect(try await fixture.count(table, of: fixture.mine) == 1, "\(table)")
        }
        try await fixture.storage.purgeTenant(fixture.mine, by: .system)
        try await expectPurged(fixture)
        #expect(try await fixture.count("audit_events", of: fixture.mine) == 2)
    }

    @Test func `a purge that a crash cut short goes on with the sweep, and is written down once`()
        async throws
    {
        let fixture = try await Fixture()
        let storage = fixture.storage
        try await fixture.addUsers(Database.tenantBatch)
        try await fixture.delete(daysAgo: 1)
        let row = try #require(try await storage.scope(fixture.mine).tenantRow())
        try await storage.scope(fixture.mine).change(by: .system) { try await $0.beginPurge(row) }
        let step = try await storage.purgeStep(
            fixture.mine, deletedBy: storage.clock(), by: .system)
        guard case .more = step else {
            Issue.record("\(step)")
            return
        }
        // Half of it is gone: it cannot be restored any more.
        await #expect(throws: StorageFailure.self) {
            try await storage.scope(fixture.mine).change(by: .system) { change in
                _ = try await change.setTenantStatus(
                    change.lockTenant(), .active, action: .tenantRestored)
            }
        }
        #expect(try await storage.sweep { _, _ in })
        try await expectPurged(fixture)
        let written = try await fixture.administrator.read(
            "SELECT 1 FROM audit_events WHERE action = 'tenant.purged'")
        #expect(written.count == 1)
        #expect(try await storage.sweep { _, _ in })
    }

    @Test func `the sweep purges users deleted 30 days ago and no others`() async throws {
        let fixture = try await Fixture()
        try await fixture.delete(daysAgo: 29)
        #expect(try await fixture.storage.sweep { _, _ in })
        #expect(try await fixture.count("tenants", of: fixture.mine) == 1)
        #expect(try await fixture.count("policies", of: fixture.mine) == 1)
        try await fixture.delete(daysAgo: 30)
        #expect(try await fixture.storage.sweep { _, _ in })
        try await expectPurged(fixture)
    }

    @Test func `the app role removes no row of a living tenant, nor of another than its own`()
        async throws
    {
        let fixture = try await Fixture()
        let app = fixture.storage.app
        for (asker, tenant) in [(fixture.mine, fixture.mine), (fixture.other, fixture.mine)] {
            if asker == fixture.other { try await fixture.delete(daysAgo: 40) }
            for removal: SQL in [
                "SELECT tenant_table_remove(\(tenant), 'users', \(10))",
                "SELECT audit_redact_tenant(\(tenant), '{}', \(10))",
            ] {
                await #expect(throws: PostgresError.self) {
                    try await app.tenantTransaction(asker) { try await $0.query(removal) }
                }
            }
        }
        for table in ["audit_events", "directory_slugs", "operators; DROP TABLE users"] {
            await #expect(throws: PostgresError.self) {
                try await app.tenantTransaction(fixture.mine) {
                    try await $0.query(
                        "SELECT tenant_table_remove(\(fixture.mine), \(table), \(10))")
                }
            }
        }
        for table in fixture.tables {
            #expect(try await fixture.count(table, of: fixture.mine) == 1, "\(table)")
        }
    }

    /// A million rows are removed batch by batch: none may look at all of them for its own.
    @Test func `a batch is found by an index and removed by the places of its rows`() async throws {
        let fixture = try await Fixture()
        try await fixture.addUsers(20_000)
        try await fixture.delete(daysAgo: 40)
        try await fixture.administrator.query("ANALYZE users")
        let owner = try await fixture.administrator.transaction { transaction in
            try await transaction.query("SET LOCAL ROLE gatehouse_owner")
            try await transaction.query(
                "SELECT set_config('app.tenant', \(fixture.mine.description), true)")
            try await transaction.query(
                SQL(
                    raw: "PREPARE batch (uuid, bigint) AS DELETE FROM users WHERE tenant_id = $1 "
                        + "AND ctid = ANY (ARRAY(SELECT ctid FROM users WHERE tenant_id = $1 "
                        + "LIMIT $2))"))
            let rows = try await transaction.query(
                SQL(raw: "EXPLAIN EXECUTE batch('\(fixture.mine)', 1000)"))
            return try rows.map { try $0.get(0, as: String.self) }.joined(separator: "\n")
        }
        #expect(owner.contains("Tid Scan"), "\(owner)")
    }
}
