import Domain
import Postgres
import Synchronization
import TestSupport
import Testing
import Text

@testable import Storage

@Suite(.serialized, .cleansUp) struct SweepTests {
    private final class Removed: Sendable {
        private let rows = Mutex<[String: Int]>([:])
        func add(_ table: String, _ count: Int) { rows.withLock { $0[table, default: 0] += count } }
        var all: [String: Int] { rows.withLock { $0 } }
    }

    private struct Fixture {
        let service: TestService
        let administrator: Postgres

        init() async throws {
            service = try await TestService.make()
            administrator = service.database.client(as: service.database.administrator)
        }

        func count(_ table: String) async throws -> Int {
            try await administrator.read("SELECT 1 FROM \(raw: table)").count
        }
    }

    private func sweep(_ database: Database) async throws -> [String: Int]? {
        let removed = Removed()
        let worked = try await database.sweep { removed.add($0, $1) }
        return worked ? removed.all : nil
    }

    @Test func `answers go after their day, and the younger ones stay`() async throws {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        for (key, hours) in [(1, 23), (2, 25), (3, 48)] as [(UInt8, Int)] {
            _ = try await storage.app.query(
                """
                INSERT INTO idempotency (tenant_id, principal, method, path, key_hash, body_hash,
                    created_at)
                VALUES (\(UUID.platform), 'key', 'POST', '/x', \([key]), \([0] as [UInt8]),
                    \(storage.clock().adding(seconds: Int64(-hours * 3600))))
                """)
        }
        #expect(try await sweep(storage) == ["idempotency": 2])
        #expect(try await sweep(storage) == [:])
        let patient = storage.with { $0.retention.answers = 3600 }
        #expect(try await sweep(patient) == ["idempotency": 1])
    }

    @Test func `decisions go after 90 days in every tenant, with an audit row`() async throws {
        let fixture = try await Fixture()
        for slug in ["acme", "other"] {
            let tenant = try await fixture.service.makeTenant(slug)
            for (number, days) in [1, 89, 91, 400].enumerated() {
                try await decide(fixture, tenant.id, subject: "\(number)", daysAgo: days)
            }
        }
        #expect(try await sweep(fixture.service.storage) == ["decisions": 4])
        #expect(try await fixture.count("decisions") == 4)
        let audited = try await fixture.administrator.read(
            "SELECT changes::text FROM audit_events WHERE action = 'decisions.expired'")
        #expect(
            try audited.map { try $0.get(0, as: String.self) } == [
                #"{"removed": [null, 2]}"#, #"{"removed": [null, 2]}"#,
            ])
    }

    @Test func `the app role can remove no decision of today`() async throws {
        let fixture = try await Fixture()
        let tenant = try await fixture.service.makeTenant("acme")
        try await decide(fixture, tenant.id, subject: "1", daysAgo: 0)
        let app = fixture.service.storage.app
        await #expect(throws: PostgresError.self) {
            try await app.tenantTransaction(tenant.id) {
                try await $0.query(
                    """
                    SELECT decisions_remove(\(tenant.id),
                        \(Timestamp.systemClock().adding(seconds: 60)), \(10))
                    """)
            }
        }
        // Under another tenant, row-level security leaves the function nothing to see.
        let other = try await fixture.service.makeTenant("other")
        try await decide(fixture, tenant.id, subject: "2", daysAgo: 100)
        try await app.tenantTransaction(other.id) {
            try await $0.query(
                """
                SELECT decisions_remove(\(tenant.id),
                    \(Timestamp.systemClock().adding(seconds: -86_400 * 2)), \(10))
                """)
        }
        #expect(try await fixture.count("decisions") == 2)
    }

    @Test func `sessions, links and tokens go once they have ended`() async throws {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        let person = try await storage.createOperator(
            email: "a@example.org", emailKey: "a@example.org", name: nil, role: .owner,
            tenant: nil, passwordHash: nil, by: .system)
        try await storage.storeOperatorLink([1], for: person.id, seconds: 60)
        #expect(try await sweep(storage) == [:])
        _ = try await fixture.administrator.query(
            "UPDATE operator_sessions SET expires_at = now() - interval '1 second'")
        _ = try await fixture.administrator.query(
            "UPDATE operator_links SET expires_at = now() - interval '25 hours'")
        #expect(try await sweep(storage) == ["operator_sessions": 1, "operator_links": 1])
    }

    @Test func `a tenant's tokens go a day after their end, and only that tenant's`() async throws {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        for (slug, hours) in [("acme", 25), ("other", 23)] {
            let tenant = try await fixture.service.makeTenant(slug)
            let email = try EmailAddress("a@\(slug).example")
            try await storage.scope(tenant.id).change(by: .system) { change in
                let user = try await change.createUser(
                    email: email, name: nil, role: .member)
                _ = try await change.makeLinkGrant(for: user)
            }
            let ended = Timestamp.systemClock().adding(seconds: Int64(-hours * 3600))
            _ = try await fixture.administrator.query(
                "UPDATE link_grants SET expires_at = \(ended) WHERE tenant_id = \(tenant.id)")
        }
        #expect(try await sweep(storage) == ["link_grants": 1])
        #expect(try await fixture.count("link_grants") == 1)
    }

    @Test func `a replica leaves a removal to the replica that is doing it`() async throws {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        try await fixture.administrator.transaction { other in
            try await other.query("SELECT pg_advisory_xact_lock(113668262264833)")
            #expect(try await sweep(storage) == nil)
        }
        #expect(try await sweep(storage) == [:])
    }

    @Test(.onOneServer) func `a table that fails does not keep the others`() async throws {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        let old = storage.clock().adding(seconds: -400 * 86_400)
        _ = try await storage.app.query(
            """
            INSERT INTO idempotency (tenant_id, principal, method, path, key_hash, body_hash,
                created_at)
            VALUES (\(UUID.platform), 'key', 'POST', '/x', \([1] as [UInt8]), \([0] as [UInt8]),
                \(old))
            """)
        try await fixture.administrator.query(
            """
            INSERT INTO sign_in_failures (key, last_at, failures)
            VALUES (\([1] as [UInt8]), \(old), 1)
            """)
        try await fixture.administrator.query(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql
                AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$
            """)
        try await fixture.administrator.query(
            """
            CREATE TRIGGER refuse BEFORE DELETE ON idempotency
                FOR EACH STATEMENT EXECUTE FUNCTION refuse()
            """)
        await #expect(throws: PassedOver.self) { _ = try await sweep(storage) }
        #expect(try await fixture.count("idempotency") == 1)
        #expect(try await fixture.count("sign_in_failures") == 0)
    }

    @Test(.onOneServer) func `a user who cannot be purged does not stop the others, and is logged`()
        async throws
    {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        let tenants = [
            try await fixture.service.makeTenant("hurt").id,
            try await fixture.service.makeTenant("well").id,
        ]
        // The oldest are those that fail, more of them than one look finds.
        for (tenant, count, days) in [
            (tenants[0], Database.purgeBatch + 5, 90), (tenants[1], 2, 60),
        ] {
            let deleted = storage.clock().adding(seconds: Int64(-days) * 86_400)
            try await fixture.administrator.query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at, deleted_at)
                SELECT \(tenant), gen_random_uuid(), n || '@x.example', n || '@x.example', 'member',
                    'deleted', 'operator', now(), now(), \(deleted)
                FROM generate_series(1, \(count)::bigint) n
                """)
        }
        try await fixture.administrator.query(
            """
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF OLD.tenant_id = (SELECT id FROM tenants WHERE slug = 'hurt') THEN
                    RAISE EXCEPTION 'refused'; END IF;
                RETURN OLD; END $$
            """)
        try await fixture.administrator.query(
            "CREATE TRIGGER refuse BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION refuse()")
        let fault = await #expect(throws: PassedOver.self) { _ = try await sweep(storage) }
        #expect(
            fault?.description.hasPrefix("3 passed over in users, first ") == true
                && fault?.description.contains("of tenant \(tenants[0])") == true,
            "\(fault?.description ?? "")")
        let left = try await fixture.administrator.read("SELECT DISTINCT tenant_id FROM users")
        #expect(try left.map { try $0.get(0, as: UUID.self) } == [tenants[0]])
    }

    @Test(.onOneServer) func `an import, a job and a tenant that fail keep no others`() async throws
    {
        let fixture = try await Fixture()
        let storage = fixture.service.storage
        for slug in ["hurt", "well"] {
            let tenant = try await fixture.service.makeTenant(slug).id
            let old = storage.clock().adding(seconds: slug == "hurt" ? -90_000_000 : -80_000_000)
            try await fixture.administrator.query(
                """
                INSERT INTO imports (tenant_id, id, created_at, expires_at)
                VALUES (\(tenant), \(tenant), \(old), \(old))
                """)
            try await fixture.administrator.query(
                """
                INSERT INTO failed_sign_ins (tenant_id, id, created_at, client, operation, reason,
                    request_id)
                VALUES (\(tenant), \(tenant), \(old), 'x', 'x', 'x', 'x')
                """)
        }
        for table in ["imports", "failed_sign_ins"] {
            try await fixture.administrator.query(
                """
                CREATE FUNCTION refuse_\(raw: table)() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF OLD.tenant_id = (SELECT id FROM tenants WHERE slug = 'hurt') THEN
                        RAISE EXCEPTION 'refused'; END IF;
                    RETURN OLD; END $$
                """)
            try await fixture.administrator.query(
                """
                CREATE TRIGGER refuse BEFORE DELETE ON \(raw: table)
                    FOR EACH ROW EXECUTE FUNCTION refuse_\(raw: table)()
                """)
        }
        await #expect(throws: PassedOver.self) { _ = try await sweep(storage) }
        #expect(try await fixture.count("imports") == 1)
        #expect(try await fixture.count("failed_sign_ins") == 1)
    }

    @Test func `a large import is removed in batches`() async throws {
        let fixture = try await Fixture()
        let tenant = try await fixture.service.makeTenant("acme").id
        let (storage, id) = (fixture.service.storage, UUID.random())
        try await fixture.administrator.query(
            """
            INSERT INTO imports (tenant_id, id, created_at, expires_at)
            VALUES (\(tenant), \(id), \(storage.clock()), \(storage.clock()))
            """)
        try await fixture.administrator.query(
            """
            INSERT INTO import_rows (tenant_id, import_id, row)
            SELECT \(tenant), \(id), n FROM generate_series(1, 2500) n
            """)
        try await fixture.administrator.query(
            """
            INSERT INTO import_keys (tenant_id, import_id, key, row)
            SELECT \(tenant), \(id), n, n FROM generate_series(1, 2500) n
            """)
        let step = try await storage.scope(tenant).change(by: .system) { change in
            try await change.removeRows(ofImport: id)
        }
        #expect(step == .more)
        #expect(try await fixture.count("import_keys") == 1500)
        #expect(try await sweep(storage) == ["imports": 1])
        for table in ["imports", "import_rows", "import_keys"] {
            #expect(try await fixture.count(table) == 0, "\(table)")
        }
    }

    @Test func `an import that another replica removes is not counted`() async throws {
        let fixture = try await Fixture()
        let tenant = try await fixture.service.makeTenant("acme").id
        let (storage, id) = (fixture.service.storage, UUID.random())
        try await fixture.administrator.query(
            """
            INSERT INTO imports (tenant_id, id, created_at, expires_at)
            VALUES (\(tenant), \(id), \(storage.clock()), \(storage.clock()))
            """)
        try await fixture.administrator.transaction { other in
            try await other.query("SELECT 1 FROM imports WHERE tenant_id = \(tenant) FOR UPDATE")
            #expect(try await storage.removeImports() == 0)
        }
        #expect(try await storage.removeImports() == 1)
    }

    @Test(.onOneServer) func `users to purge are found by the time of their deletion`() async throws
    {
        let fixture = try await Fixture()
        let tenant = try await fixture.service.makeTenant("acme")
        // In pieces: on a busy machine one statement would run into its limit of time.
        for first in stride(from: 1, through: 20_000, by: 1000) {
            try await fixture.administrator.query(
                """
                INSERT INTO users (tenant_id, id, email, email_key, role, status, source,
                    created_at, updated_at, deleted_at)
                SELECT \(tenant.id), gen_random_uuid(), n || '@x.example', n || '@x.example',
                    'member', CASE WHEN n % 20 = 0 THEN 'deleted' ELSE 'active' END, 'operator',
                    now(), now(), CASE WHEN n % 20 = 0 THEN now() - n * interval '1 minute' END
                FROM generate_series(\(first), \(first + 999)) n
                """)
        }
        try await fixture.administrator.query("ANALYZE users")
        let sql = Database.usersSQL(deletedBy: .systemClock(), but: PassedOver("users"))
        // As a prepared statement is planned after a while, without its values.
        let plan = try await fixture.service.storage.platform.transaction { transaction in
            try await transaction.query("SET LOCAL plan_cache_mode = force_generic_plan")
            try await transaction.query(SQL(raw: "PREPARE oldest AS \(sql.text)"))
            let rows = try await transaction.query("EXPLAIN EXECUTE oldest(NULL, '{}', '{}', NULL)")
            return try rows.map { try $0.get(0, as: String.self) }.joined(separator: "\n")
        }
        #expect(plan.contains("Index Scan using users_by_deletion"), "\(plan)")
        #expect(!plan.contains("Sort"), "\(plan)")
    }

    private func decide(
        _ fixture: Fixture, _ tenant: UUID, subject: String, daysAgo: Int
    ) async throws {
        let at = Timestamp.systemClock().adding(seconds: Int64(-daysAgo) * 86_400)
        _ = try await fixture.administrator.query(
            """
            INSERT INTO decisions (tenant_id, id, created_at, outcome, reference, provider, issuer,
                subject, trace, duration_ms)
            VALUES (\(tenant), \(UUID.random()), \(at), 'refused', 'r', 'google', '', \(subject),
                '[]', 1)
            """)
    }
}
