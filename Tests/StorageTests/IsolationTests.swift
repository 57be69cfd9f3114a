import Domain
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Row-level security behind the types and the SQL: the third time that tenancy is held.
struct IsolationTests {
    /// Every table that has a tenant's rows; a new one that is missing here fails the test below.
    private static let tenantTables: Set<String> = [
        "tenants", "policies", "domains", "users", "identities", "invites", "api_keys",
        "cors_origins", "audit_events", "decisions", "sessions", "link_grants", "clients",
        "known_devices", "login_states", "verification_counts", "password_resets", "api_key_uses",
    ]
    private static let directoryTables = [
        "directory_slugs", "directory_locators", "directory_hosts", "directory_domains",
        "directory_people", "user_search",
    ]
    /// Tables with a tenant's id that are no tenant's own; each has its own grants.
    private static let systemTables: Set<String> = [
        "operators", "providers", "mail", "provisioning_retries", "pending_choices", "reservations",
    ]

    @Test func `every table with a tenant is forced under a policy, or named as what it is`()
        async throws
    {
        let service = try await TestService.make()
        let administrator = service.database.client(as: service.database.administrator)
        let rows = try await administrator.read(
            """
            SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity,
                EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid
                    AND p.polname = c.relname || '_tenant')
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
                AND (a.attname = 'tenant_id' OR c.relname = 'tenants' AND a.attname = 'id')
            """)
        var seen: Set<String> = []
        for row in rows {
            let name: String = try row.get(0)
            if Self.directoryTables.contains(name) || Self.systemTables.contains(name) { continue }
            seen.insert(name)
            #expect(try row.get(1, as: Bool.self), "\(name) is not forced under row security")
            #expect(try row.get(2, as: Bool.self), "\(name) has lost its tenant policy")
        }
        #expect(seen == Self.tenantTables)
        await administrator.close()
        await service.stop()
    }

    @Test func `without a tenant the app role sees no row, and another tenant's are not there`()
        async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        let app = service.storage.app
        for table in Self.tenantTables.sorted() {
            let unset = try await app.read("SELECT count(*) FROM \(raw: table)")
            #expect(try unset[0].get(0, as: Int64.self) == 0, "\(table) shows rows")
        }
        let foreign = try await service.storage.scope(other.id).read(
            "SELECT count(*) FROM tenants WHERE id = \(acme.id)")
        #expect(try foreign[0].get(0, as: Int64.self) == 0)
        await #expect(throws: PostgresError.self) {
            _ = try await service.storage.scope(other.id).change(by: .system) { change in
                try await change.query(
                    """
                    INSERT INTO policies (tenant_id, version, document, created_by, created_at)
                    VALUES (\(acme.id), 9, '{}', 'x', \(change.now))
                    """)
            }
        }
        await service.stop()
    }

    @Test func `directory tables answer nobody directly`() async throws {
        let service = try await TestService.make()
        for table in Self.directoryTables {
            await #expect {
                _ = try await service.storage.app.read("SELECT * FROM \(raw: table)")
            } throws: {
                ($0 as? PostgresError)?.isInsufficientPrivilege == true
            }
        }
        await service.stop()
    }

    @Test func `the app role owns nothing and may not change what was recorded`() async throws {
        let service = try await TestService.make()
        let app = service.storage.app
        let owned = try await app.read(
            "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = 'gatehouse_app'"
        )
        #expect(try owned[0].get(0, as: Int64.self) == 0)
        for table in ["audit_events", "decisions", "policies"] {
            for verb in ["DELETE FROM \(table)", "UPDATE \(table) SET tenant_id = tenant_id"] {
                await #expect {
                    _ = try await app.query(SQL(raw: verb))
                } throws: {
                    ($0 as? PostgresError)?.isInsufficientPrivilege == true
                }
            }
        }
        await service.stop()
    }
}
