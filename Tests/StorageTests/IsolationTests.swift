import Domain
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Row-level security behind the types and the SQL: the third time that tenancy is held.
@Suite(.cleansUp) struct IsolationTests {
    /// Every table that has a tenant's rows; a new one that is missing here fails the test below.
    static let tenantTables: Set<String> = [
        "tenants", "policies", "domains", "users", "identities", "invites", "api_keys",
        "cors_origins", "audit_events", "decisions", "sessions", "link_grants", "clients",
        "known_devices", "login_states", "verification_counts", "password_resets", "api_key_uses",
        "tombstones", "former_identities", "email_changes", "former_addresses", "client_profiles",
        "user_merges", "merged_users", "identity_aliases", "barred_identities", "failed_sign_ins",
        "attribute_schemas",
        "user_attributes", "join_links", "jobs", "job_rows", "imports", "import_rows",
        "import_keys", "user_uses", "inactive_users", "inactivity_days", "policy_trials",
        "refused_origins",
    ]
    static var directoryTables: [String] {
        get throws {
            let all = [
                "directory_slugs", "directory_locators", "directory_hosts", "directory_domains",
                "directory_people", "user_search", "directory_logos",
            ]
            // One server holds them unique by the tenants' own index.
            return try TestCluster.shared.get().isDistributed
                ? all + ["directory_external_ids"] : all
        }
    }
    /// Tables with a tenant's id that are no tenant's own; each has its own grants.
    private static let systemTables: Set<String> = [
        "operators", "providers", "mail", "provisioning_retries", "pending_choices", "reservations",
        "shown_upstreams", "reset_asks", "client_secrets", "idempotency",
    ]

    /// Tables that the owner's functions read across tenants: whose an origin is, and the searched
    /// lists.
    private static let ownerTables: Set<String> = [
        "tenants", "policies", "domains", "cors_origins", "api_keys", "invites",
    ]

    @Test func `every table with a tenant is under row security, or named as what it is`()
        async throws
    {
        let service = try await TestService.make()
        let administrator = service.database.client(as: service.database.administrator)
        let rows = try await administrator.read(
            """
            SELECT c.relname::text, c.relrowsecurity AND c.relforcerowsecurity
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
                AND (a.attname = 'tenant_id' OR c.relname = 'tenants' AND a.attname = 'id')
            """)
        let known = Self.systemTables.union(try Self.directoryTables)
        var seen: Set<String> = []
        for row in rows {
            let name: String = try row.get(0)
            if known.contains(name) { continue }
            seen.insert(name)
            #expect(try row.get(1, as: Bool.self), "\(name) is not forced under row security")
        }
        #expect(seen == Self.tenantTables)
    }

    @Test func `every table has the required policy and no other`() async throws {
        let database = try await TestDatabase.make()
        let administrator = database.client(as: database.administrator)
        let rows = try await administrator.read(
            """
            SELECT concat_ws(' ', tablename, policyname, permissive, cmd, roles::text,
                qual, 'check', with_check)
            FROM pg_policies
            """)
        let found = Set(try rows.map { try $0.get(0, as: String.self) })
        var wanted: Set<String> = []
        for table in Self.tenantTables {
            let key = table == "tenants" ? "id" : "tenant_id"
            // One that a list looks into for each of its rows asks once for the statement, where a policy
            // may hold a query.
            let tenant =
                try table == "identities" && !TestCluster.shared.get().isDistributed
                ? "( SELECT current_tenant() AS current_tenant)" : "current_tenant()"
            // Users who were merged into another are hidden, except from what asks for them.
            let more =
                table == "users"
                ? " AND ((status IS DISTINCT FROM 'merged'::text) OR (current_setting('app.merged'::text, true) = 'on'::text))"
                : ""
            // Without a check of its own, what is written has to meet the same condition.
            wanted.insert(
                "\(table) \(table)_tenant PERMISSIVE ALL {public} "
                    + (more.isEmpty ? "(\(key) = \(tenant))" : "((\(key) = \(tenant))\(more))")
                    + " check")
            wanted.insert(
                "\(table) \(table)_platform PERMISSIVE SELECT {gatehouse_platform} true check")
        }
        for table in Self.ownerTables {
            wanted.insert("\(table) \(table)_owner PERMISSIVE SELECT {gatehouse_owner} true check")
        }
        #expect(found.subtracting(wanted) == [], "more than they must be")
        #expect(wanted.subtracting(found) == [], "less than they must be")
        let body = try await administrator.read(
            "SELECT prosrc FROM pg_proc WHERE oid = 'current_tenant()'::regprocedure")
        #expect(
            try body[0].get(0, as: String.self)
                == " SELECT nullif(current_setting('app.tenant', true), '')::uuid ")
    }

    @Test func `every function that runs as its owner looks at temporary objects last`()
        async throws
    {
        let database = try await TestDatabase.make()
        let administrator = database.client(as: database.administrator)
        let rows = try await administrator.read(
            """
            SELECT proname::text, coalesce(array_to_string(proconfig, ';'), '') FROM pg_proc
            WHERE prosecdef AND pronamespace = 'public'::regnamespace
            """)
        #expect(rows.count > 10)
        for row in rows {
            let (name, settings): (String, String) = (try row.get(0), try row.get(1))
            #expect(
                settings.contains(/search_path=[^;]*, "?pg_temp"?(;|$)/), "\(name): \(settings)")
        }
    }

    @Test func `the app role owns nothing and may not change what was recorded`() async throws {
        let service = try await TestService.make()
        let app = service.storage.app
        let owned = try await app.read(
            "SELECT count(*) FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE r.rolname = 'gatehouse_app'"
        )
        #expect(try owned[0].get(0, as: Int64.self) == 0)
        let powers = try await app.read(
            """
            SELECT rolsuper OR rolbypassrls OR pg_has_role(oid, 'gatehouse_owner', 'MEMBER')
                OR pg_has_role(oid, 'gatehouse_platform', 'USAGE')
            FROM pg_roles WHERE rolname = 'gatehouse_app'
            """)
        #expect(try powers[0].get(0, as: Bool.self) == false)
        for table in ["audit_events", "decisions", "policies"] {
            for verb in [
                "/* test */ DELETE FROM \(table)",
                "/* test */ UPDATE \(table) SET tenant_id = tenant_id",
            ] {
                await #expect {
                    _ = try await app.query(SQL(raw: verb))
                } throws: {
                    ($0 as? PostgresError)?.isInsufficientPrivilege == true
                }
            }
        }
    }
}

extension PostgresError {
    /// Citus lets nobody change the tenant of a distributed row, and says so before it asks for rights.
    var refusesAnyNewTenant: Bool {
        get throws {
            guard try TestCluster.shared.get().isDistributed,
                case .server("0A000", let message, _) = kind
            else { return false }
            return message.contains("modifying the partition value")
        }
    }
}
