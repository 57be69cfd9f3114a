import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What is found before its tenant is known has no row security: only functions reach it, which take
/// exact values and write for the tenant of their own transaction alone.
@Suite(.cleansUp) struct DirectoryIsolationTests {
    private static let key = SQL(raw: #"'\x0102'::bytea"#)
    private static let hash = String(repeating: "a", count: 64)
    private static let user = "0b5d3a1c-5b8f-4b56-9f0e-1f6f3c1d2e4a"

    /// A tenant with a domain, a host, a person and a found user, and another one.
    private static func make() async throws -> (
        mine: TenantRow, other: TenantRow,
        ask: (_ sql: SQL, _ asker: UUID?) async throws -> Rows
    ) {
        let service = try await TestService.make()
        let app = service.storage.app
        func ask(_ sql: SQL, _ asker: UUID?) async throws -> Rows {
            guard let asker else { return try await app.query(sql) }
            return try await app.tenantTransaction(asker) { try await $0.query(sql) }
        }
        let mine = try await service.makeTenant("acme")
        let other = try await service.makeTenant("other")
        for sql: SQL in [
            "SELECT directory_claim('domain', 'ex.com')",
            "SELECT directory_claim_host('mail.ex.com', 'relate', true)",
            "SELECT directory_add_person(\(key))",
            "SELECT user_search_put(\(mine.id), '\(raw: user)', 'ann@ex.com ann', now())",
            "SELECT directory_put_logo(\(hash), 'image/png', '\\x01')",
        ] { _ = try await ask(sql, mine.id) }
        return (mine, other, ask)
    }

    @Test func `directory tables can be neither read nor written, in any tenant's transaction`()
        async throws
    {
        let (mine, _, ask) = try await Self.make()
        for table in try IsolationTests.directoryTables {
            for verb in [
                "SELECT * FROM \(table)", "SELECT count(*) FROM \(table)",
                "INSERT INTO \(table) (tenant_id) VALUES ('\(mine.id)')",
                "INSERT INTO \(table) TABLE \(table)",
                "UPDATE \(table) SET tenant_id = tenant_id",
                "UPDATE \(table) SET tenant_id = '\(mine.id)'",
                "DELETE FROM \(table)", "DELETE FROM \(table) WHERE tenant_id = '\(mine.id)'",
                "TRUNCATE \(table)", "COPY (SELECT * FROM \(table)) TO STDOUT",
                "CREATE INDEX ON \(table) (tenant_id)", "ALTER TABLE \(table) ADD COLUMN x int",
                "DROP TABLE \(table)",
            ] {
                for asker in [nil, mine.id] {
                    await #expect(Testing.Comment(rawValue: verb)) {
                        _ = try await ask(SQL(raw: verb), asker)
                    } throws: {
                        guard let error = $0 as? PostgresError else { return false }
                        return try error.isInsufficientPrivilege || error.refusesAnyNewTenant
                    }
                }
            }
        }
    }

    /// A new function that runs as the schema's owner has to be tried here, or where its rows are.
    @Test func `nothing else runs as the owner`() async throws {
        let service = try await TestService.make()
        let rows = try await service.storage.app.query(
            """
            SELECT proname::text FROM pg_proc WHERE prosecdef
                AND pronamespace = 'public'::regnamespace
                AND has_function_privilege('gatehouse_app', oid, 'EXECUTE')
            """)
        let here: Set = [
            "directory_tenant_by_slug", "directory_tenant_by_locator",
            "directory_tenant_by_domain", "directory_tenants_of", "directory_client_by_host",
            "directory_claim", "directory_claim_host", "directory_release_domain",
            "directory_release_host", "directory_add_person", "directory_remove_person",
            "directory_bound_hosts", "user_search_put", "user_search_put_all", "user_search_drop",
            "search_matches", "search_fetch", "directory_logo", "directory_put_logo",
            "directory_drop_logo", "directory_claim_external_id", "directory_claim_ids",
        ]
        let isDistributed = try TestCluster.shared.get().isDistributed
        let elsewhere: Set = [
            "origin_rows", "decisions_remove", "tenant_table_remove", "directory_add_people",
            "directory_keep_people", "directory_people_under", "directory_people_elsewhere",
            "person_redact", "decisions_redact", "audit_redact_tenant",
            "policies_redact", "policies_redact_author",
            "analyze_grown_tables", "domain_claimants",
        ]
        let found = Set(try rows.map { try $0.get(0, as: String.self) })
        let ofCitus: Set = isDistributed ? ["coordinator_table_remove"] : []
        #expect(found.symmetricDifference(here.union(elsewhere).union(ofCitus)) == [])
    }

    @Test func `an id is claimed once in all tenants, and by nothing but the function`()
        async throws
    {
        let (mine, other, ask) = try await Self.make()
        let ids = (0..<3).map { _ in UUID.random() }
        func claim(_ wanted: [UUID], _ asker: UUID?) async throws -> Set<UUID> {
            Set(
                try await ask("SELECT directory_claim_ids(\(wanted))", asker).map {
                    try $0.get(0, as: UUID.self)
                })
        }
        #expect(try await claim([ids[1], ids[0], ids[1]], mine.id) == Set(ids[0...1]))
        #expect(try await claim(ids, other.id) == [ids[2]])
        #expect(try await claim(ids, mine.id) == [])
        await #expect(throws: PostgresError.self) { try await claim([UUID.random()], nil) }
        for verb in [
            "SELECT * FROM", "SELECT count(*) FROM", "TABLE", "DELETE FROM", "TRUNCATE",
            "DROP TABLE",
        ] {
            await #expect(Testing.Comment(rawValue: verb)) {
                _ = try await ask(SQL(raw: "\(verb) directory_claimed_ids"), mine.id)
            } throws: {
                guard let error = $0 as? PostgresError else { return false }
                return try error.isInsufficientPrivilege || error.refusesAnyNewTenant
            }
        }
        // A purge of a tenant goes through these tables.
        let purged = try await ask("SELECT relation FROM tenant_tables()", mine.id)
        #expect(purged.count > 40)
        #expect(
            !(try purged.map { try $0.get(0, as: String.self) }).contains("directory_claimed_ids"))
    }

    @Test func `the directory's functions find only exact values`() async throws {
        let (mine, other, ask) = try await Self.make()
        func found(_ call: String, _ value: String) async throws -> [UUID] {
            try await ask("SELECT \(raw: call)(\(value))", nil).compactMap {
                try $0.get(0, as: UUID?.self)
            }
        }
        for (call, value) in [
            ("directory_tenant_by_slug", "acme"),
            ("directory_tenant_by_locator", mine.locator),
            ("directory_tenant_by_domain", "ex.com"),
        ] {
            #expect(try await found(call, value) == [mine.id], "\(call)")
            let first = value.prefix(1)
            for pattern in [
                "%", "_", "\(first)%", "%\(value.suffix(2))", ".*", "^\(value)$", "",
                " \(value)", "\(value) ", value.uppercased() + "x", "\(value)'--",
                String(value.map { _ in "_" as Character }),
            ] { #expect(try await found(call, pattern) == [], "\(call) \(pattern)") }
        }
        for hosts in [["%"], ["mail.%"], ["_ail.ex.com"], ["MAIL.EX.COM"], [""], []] {
            let rows = try await ask(
                "SELECT tenant_id FROM directory_client_by_host(\(hosts))", nil)
            #expect(rows.isEmpty, "\(hosts)")
        }
        for key: SQL in [#"'\\x01'"#, #"'\\x010203'"#, "''", "'%'", "NULL"] {
            let rows = try await ask("SELECT directory_tenants_of(\(key)::bytea)", nil)
            #expect(rows.isEmpty)
        }
        // A search is a pattern's, and its own tenant's alone.
        for asker in [nil, other.id] {
            for sql: SQL in [
                "SELECT search_matches('users', \(mine.id), ARRAY['%'], 10)",
                "SELECT search_fetch('users', \(mine.id), ARRAY['%'], 'created_at', NULL, "
                    + "NULL, NULL, 10)",
            ] { #expect(try await ask(sql, asker).isEmpty) }
        }
        #expect(
            try await ask(
                "SELECT search_matches('users', \(mine.id), ARRAY['%ann%'], 10)", mine.id
            ).count
                == 1)
    }

    @Test func `the directory's functions write only for the tenant of their transaction`()
        async throws
    {
        let (mine, other, ask) = try await Self.make()
        func held() async throws -> [Int] {
            var counts: [Int] = []
            for sql: SQL in [
                "SELECT directory_tenant_by_domain('ex.com') = \(mine.id)",
                "SELECT tenant_id = \(mine.id) FROM directory_client_by_host(ARRAY['mail.ex.com'])",
                "SELECT \(mine.id) IN (SELECT directory_tenants_of(\(Self.key)))",
                "SELECT directory_tenant_by_slug('acme') = \(mine.id)",
                "SELECT EXISTS (SELECT FROM directory_logo(\(Self.hash)))",
            ] {
                let rows = try await ask(sql, nil)
                counts.append(try rows.first?.get(0, as: Bool.self) == true ? 1 : 0)
            }
            return counts
                + [
                    try await ask(
                        "SELECT search_matches('users', \(mine.id), ARRAY['%'], 9)", mine.id
                    ).count
                ]
        }
        let before = try await held()
        #expect(before == [1, 1, 1, 1, 1, 1])
        // What another holds is neither taken nor given up.
        for sql: SQL in [
            "SELECT directory_claim('slug', 'acme')",
            "SELECT directory_claim('locator', \(mine.locator))",
            "SELECT directory_claim('domain', 'ex.com')",
            "SELECT directory_claim_host('mail.ex.com', 'relate', true)",
        ] {
            let rows = try await ask(sql, other.id)
            #expect(try rows.first?.get(0, as: Bool.self) == false)
        }
        let releases: [SQL] = [
            "SELECT directory_release_domain('ex.com')",
            "SELECT directory_release_domain('%')",
            "SELECT directory_release_host('mail.ex.com', 'relate')",
            "SELECT directory_release_host('%', 'relate')",
            "SELECT directory_remove_person(\(Self.key))", "SELECT directory_drop_logo()",
        ]
        for sql in releases {
            _ = try await ask(sql, other.id)
            _ = try await ask(sql, nil)
        }
        let refused: [SQL] = [
            "SELECT user_search_drop(\(mine.id), '\(raw: Self.user)')",
            "SELECT user_search_put(\(mine.id), '\(raw: Self.user)', 'taken', now())",
            """
            SELECT user_search_put_all(\(mine.id), ARRAY['\(raw: Self.user)']::uuid[],
                ARRAY['taken'], ARRAY[now()])
            """,
        ]
        for sql in refused {
            for asker in [other.id, nil] {
                await #expect(throws: PostgresError.self) { try await ask(sql, asker) }
            }
        }
        #expect(try await held() == before)
        #expect(
            try await ask(
                "SELECT search_matches('users', \(mine.id), ARRAY['taken'], 9)", mine.id
            ).isEmpty)
        // Without a tenant nothing is claimed.
        for sql: SQL in [
            "SELECT directory_claim('domain', 'free.example')",
            "SELECT directory_claim_host('free.example', 'relate', true)",
        ] { await #expect(throws: PostgresError.self) { _ = try await ask(sql, nil) } }
        _ = try await ask("SELECT directory_add_person('\\x99')", nil)
        let unset = String(repeating: "b", count: 64)
        _ = try await ask("SELECT directory_put_logo(\(unset), 'image/png', '\\x01')", nil)
        #expect(try await ask("SELECT media_type FROM directory_logo(\(unset))", nil).isEmpty)
        #expect(try await ask("SELECT directory_tenants_of('\\x99')", nil).isEmpty)
    }
}
