import Postgres
import TestSupport
import Testing
import Text

/// Every table of the tenants, tried as the app's role with rows really in it: without a tenant,
/// and as another tenant, nothing is seen, nothing is touched and nothing is written.
@Suite(.cleansUp) struct RowIsolationTests {
    private struct Table {
        var name: String
        /// The column that names the tenant.
        var key: String { name == "tenants" ? "id" : "tenant_id" }
        /// What was recorded may be neither changed nor removed by anyone.
        var isRecord: Bool { ["audit_events", "decisions", "policies"].contains(name) }
    }

    private static let tables = IsolationTests.tenantTables.sorted().map { Table(name: $0) }

    private let mine = UUID.random()
    private let other = UUID.random()

    @Test func `only its tenant can read or write a table's rows`() async throws {
        let (app, administrator) = try await makeRows()
        for table in Self.tables {
            try await expectUntouchable(table, app, as: nil)
            try await expectUntouchable(table, app, as: other)
            let kept = try await administrator.read(
                "/* test */ SELECT count(*) FROM \(raw: table.name) WHERE \(raw: table.key) = \(mine)"
            )
            #expect(try kept[0].get(0, as: Int64.self) == 1, "\(table.name) has lost a row")
        }
    }

    /// That it is the tenant's name which opens a table, so that the test above proves something.
    @Test func `a tenant can read its own rows`() async throws {
        let (app, administrator) = try await makeRows()
        for table in Self.tables {
            let who: Testing.Comment = "\(table.name)"
            let seen = try await send(
                "/* test */ SELECT \(raw: table.key) FROM \(raw: table.name)", app, mine)
            #expect(try seen.map { try $0.get(0, as: UUID.self) } == [mine], who)
            // Row security is asked first; then something else is missing.
            await #expect(who) {
                try await send(insert(table), app, mine)
            } throws: {
                !isRefusedByRowSecurity($0)
            }
        }
    }

    /// `asker`: nil for a connection without a tenant.
    private func expectUntouchable(_ table: Table, _ app: Postgres, as asker: UUID?) async throws {
        let who: Testing.Comment = "\(table.name) as \(asker == nil ? "nobody" : "another")"
        let name = table.name
        let key = table.key
        let all = try await send("/* test */ SELECT \(raw: key) FROM \(raw: name)", app, asker)
        #expect(try all.map { try $0.get(0, as: UUID.self) } == (asker.map { [$0] } ?? []), who)
        await #expect(who) {
            try await send(insert(table), app, asker)
        } throws: {
            isRefusedByRowSecurity($0)
        }
        if table.isRecord { return }
        // Without a condition where there is no tenant: then not a row of anyone's is met.
        let condition: SQL = asker == nil ? "true" : "\(raw: key) = \(mine)"
        for verb: SQL in [
            "/* test */ UPDATE \(raw: name) SET \(raw: key) = \(raw: key) WHERE \(condition) RETURNING 1",
            "/* test */ DELETE FROM \(raw: name) WHERE \(condition) RETURNING 1",
        ] {
            #expect(try await send(verb, app, asker).isEmpty, who)
        }
        if let asker {
            // Its own row may not be given away either.
            await #expect(who) {
                try await send(
                    "/* test */ UPDATE \(raw: name) SET \(raw: key) = \(mine) WHERE \(raw: key) = \(asker)",
                    app, asker)
            } throws: {
                try isRefusedByRowSecurity($0)
                    || ($0 as? PostgresError)?.refusesAnyNewTenant == true
            }
        }
    }

    /// Not for want of a grant, which has the same code.
    private func isRefusedByRowSecurity(_ error: any Error) -> Bool {
        guard case .server("42501", let message, _)? = (error as? PostgresError)?.kind else {
            return false
        }
        return message.contains("row-level security")
    }

    private func makeRows() async throws -> (app: Postgres, administrator: Postgres) {
        let database = try await TestDatabase.make()
        let administrator = database.client(as: database.administrator)
        let app = database.client(as: database.app)
        for tenant in [mine, other] {
            _ = try await administrator.query(Self.rows(of: tenant, in: Self.tables.map(\.name)))
        }
        return (app, administrator)
    }

    private func insert(_ table: Table) -> SQL {
        "/* test */ INSERT INTO \(raw: table.name) (\(raw: table.key)) VALUES (\(mine))"
    }

    @discardableResult
    private func send(_ sql: SQL, _ app: Postgres, _ tenant: UUID?) async throws -> Rows {
        guard let tenant else { return try await app.query(sql) }
        return try await app.tenantTransaction(tenant) { try await $0.query(sql) }
    }

    /// One row in each table, made up from the catalogue, so that a new table needs nothing here:
    /// what it refers to is not checked, and its value checks are dropped.
    static func rows(of tenant: UUID, in tables: [String]) -> SQL {
        let names = tables.map { "'\($0)'" }.joined(separator: ",")
        return SQL(
            raw: """
                DO $$ DECLARE t record; k name; BEGIN
                    -- Of several servers each has to be told.
                    SET LOCAL citus.propagate_set_commands = 'local';
                    SET LOCAL session_replication_role = 'replica';
                    FOR t IN SELECT c.oid, c.relname,
                        string_agg(quote_ident(a.attname), ',') AS names,
                        string_agg(CASE WHEN a.attname = 'tenant_id'
                                OR c.relname = 'tenants' AND a.attname = 'id'
                                THEN quote_literal('\(tenant)') || '::uuid'
                            ELSE CASE format_type(a.atttypid, NULL)
                                WHEN 'uuid' THEN 'gen_random_uuid()'
                                WHEN 'text' THEN 'gen_random_uuid()::text'
                                WHEN 'bytea' THEN 'uuid_send(gen_random_uuid())'
                                WHEN 'timestamp with time zone' THEN 'now()'
                                WHEN 'boolean' THEN 'true'
                                WHEN 'jsonb' THEN quote_literal('{}')
                                WHEN 'text[]' THEN quote_literal('{}')
                                WHEN 'uuid[]' THEN quote_literal('{}')
                                ELSE '1' END END, ',') AS made
                        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                        WHERE c.relnamespace = 'public'::regnamespace AND c.relname IN (\(names))
                            AND a.attnum > 0 AND (a.attname = 'tenant_id'
                                OR a.attnotnull AND NOT a.atthasdef)
                        GROUP BY c.oid, c.relname
                    LOOP
                        FOR k IN SELECT conname FROM pg_constraint
                            WHERE conrelid = t.oid AND contype = 'c'
                        LOOP
                            EXECUTE format('ALTER TABLE %I DROP CONSTRAINT %I', t.relname, k);
                        END LOOP;
                        EXECUTE format(
                            'INSERT INTO %I (%s) VALUES (%s)', t.relname, t.names, t.made);
                    END LOOP;
                END $$
                """)
    }
}
