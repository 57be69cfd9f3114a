import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The file of everything that is held about a person.
@Suite(.serialized, .cleansUp) struct PersonExportTests {
    /// Tables with a column that names a user or an address, which are no part of an export.
    private static let others = [
        "operator_identities": "console access as well, by the id of an account at the provider",
        "operators": "console access, which is the platform's; it is removed at its own page",
        "tombstones": "HMACs of who was erased, which name nobody",
        "user_search": "the address and the name once more, for the search",
        "directory_hosts": "whether the platform bound a host, which names nobody",
        "cors_origins": "the id of who made it, of whom the audit log says the same",
        "hook_credentials": "the id of who made it, of whom the audit log says the same",
        "tenants": "the name on the tenant's pages, which is no person's",
        "policies": "who published it, of whom the audit log says the same",
    ]

    /// Columns by which a row says who did something, where that is no reason to export it. An id
    /// alone names nobody once the person is purged.
    private static let otherActors = [
        "api_keys.created_by": "the key is its owner's; the audit log names the maker",
        "cors_origins.created_by": "the tenant's; the audit log names the maker",
        "hook_credentials.created_by": "the tenant's; the audit log names the maker",
        "identities.linked_by": "the user's; the audit log names who linked it",
        "invites.role_by": "the invited person's; the audit log names who set the role",
        "link_grants.made_by": "the user's; the audit log names the maker",
        "password_resets.made_by": "the user's; the audit log names the maker",
        "policies.created_by": "the tenant's; the audit log names who published it",
    ]

    @Test func `every table that names a user or an address is exported, or named here`()
        async throws
    {
        let found = try await tables(
            """
            a.attname <> 'user_agent'
            AND (a.attname ~ '(^|_)(user|person|people|subject|emails?|address|identity|owner)(_|$)'
                OR a.attname ~ '(^|_)(actor|inviter|maker|author|decider|sender|by)(_|$)'
                OR a.attname ~ '[a-z]_name$'
                OR a.attname IN ('winner_id', 'loser_id', 'about', 'recipient'))
            """, "c.relname::text")
        let listed = Set(PersonTable.all.map(\.table))
        #expect(found.subtracting(listed).sorted() == Self.others.keys.sorted())
        // What is listed without such a column is found by way of another table.
        #expect(listed.subtracting(found).sorted() == ["api_key_uses"])
    }

    @Test func `every column that names an actor is searched for a person, or listed here`()
        async throws
    {
        let found = try await tables(
            """
            (a.attname ~ '_type$' AND EXISTS (SELECT 1 FROM pg_attribute i
                WHERE i.attrelid = c.oid
                    AND i.attname = regexp_replace(a.attname, '_type$', '_id'))
                AND a.attname <> 'target_type'
            OR a.attname ~ '(_by|maker|author|inviter|(^|_)actor)$')
            """, "c.relname || '.' || regexp_replace(a.attname, '_type$', '')")
        let listed = Set(
            PersonTable.all.flatMap { table in table.actors.map { "\(table.table).\($0)" } })
        #expect(found.subtracting(listed).sorted() == Self.otherActors.keys.sorted())
        #expect(listed.subtracting(found).sorted() == [])
    }

    private func tables(_ condition: SQL, _ name: SQL) async throws -> Set<String> {
        let database = try await TestDatabase.make()
        let administrator = database.client(as: database.administrator)
        let rows = try await administrator.read(
            """
            SELECT DISTINCT \(name) FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                AND NOT a.attisdropped AND a.attnum > 0 AND \(condition)
            """)
        return Set(try rows.map { try $0.get(0, as: String.self) })
    }

    @Test func `the file has the stored rows of each table, without secrets`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let acme = fixture.ada["acme"] ?? ""
        let key = try await service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(acme)"}"#)
        let other = try await service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"ada@home.example"}"#)
        let loser = try #require(other["id"]?.string)
        try await service.manage(
            .post, "/v1/tenants/acme/users/merges", #"{"winner":"\#(acme)","loser":"\#(loser)"}"#)
        let lost = try await fixture.signIn("nowhere", "ada-2")
        #expect(lost.json["reason"]?.string == "no_tenant", "\(lost.text)")
        let users = fixture.both + [("acme", UUID.random().description)]
        let answer = try await fixture.act("export", users)
        #expect(answer.status == 200 && !answer.isCut)
        #expect(answer.results == ["done", "done", "not_found"], "\(answer.text)")
        #expect(answer.first("content-type") == "application/json")
        #expect(answer.first("cache-control") == "no-store")
        #expect(
            answer.first("content-disposition")?.hasPrefix("attachment; filename=\"person-") == true
        )
        let people = try #require(answer.json["people"]?.array)
        #expect(people.compactMap { $0["id"]?.string } == fixture.both.map(\.1))
        let records = try #require(people.first?["records"])
        #expect(
            (records.members ?? []).map(\.name) == PersonTable.all.map(\.name),
            "each table is there")
        #expect(records["users"]?.array?.count == 2)
        #expect(records["identities"]?.array?.first?["subject"]?.string == "ada-1")
        #expect(records["api_keys"]?.array?.first?["name"]?.string == "k")
        #expect(records["user_merges"]?.array?.count == 1)
        #expect(records["decisions"]?.array?.first?["email"]?.string == PeopleFixture.address)
        let actions = (records["audit_events"]?.array ?? []).compactMap { $0["action"]?.string }
        #expect(actions.contains("user.created") && actions.contains("user.exported"))
        #expect(answer.json["platform"]?["decisions"]?.array?.count == 1)
        for secret in ["hash\":", "letter\":", String(key.secret.suffix(20)), "\\\\x"] {
            #expect(!answer.text.contains(secret), "\(secret)")
        }
        #expect(!answer.text.contains("bob@ex.com"))
        let event = try #require(try await fixture.events("beta", "user.exported").first)
        #expect(event["changes"]?["reason"] == .array([.null, .string("Request 4711")]))
    }

    @Test func `a failure on the way cuts the file, and the log says so`() async throws {
        let log = CapturedLog()
        let service = try await TestService.make(logger: log.logger)
        try await service.makeTenant("acme")
        let user = try await service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"ann@acme.example"}"#)
        let administrator = service.database.client(as: service.database.administrator)
        try await administrator.query("ALTER TABLE job_rows RENAME TO gone")
        let answer = try await service.send(
            .post, "/v1/people/actions",
            json:
                #"{"action":"export","reason":"4711","users":[{"tenant":"acme","id":"\#(user["id"]?.string ?? "")"}]}"#,
            as: .platformOwner)
        #expect(answer.status == 200 && answer.isCut, "\(answer.text.suffix(200))")
        #expect(log.text.contains("the response was cut: "), "\(log.text)")
    }

    @Test func `a table of many rows comes whole`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let acme = try #require(try await service.storage.tenant("acme")).id
        let ada = fixture.ada["acme"] ?? ""
        try await service.storage.scope(acme).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                    actor_name, action, target_type, target_id, target_name, request_id)
                SELECT anchor.id, md5(n::text)::uuid, \(change.now), 'system', '', '',
                    'user.updated', 'user', \(ada), '', ''
                FROM \(SQL.anchor(of: change.tenant)), generate_series(1, 1203) AS n
                WHERE anchor.id = \(change.tenant)
                """)
        }
        let answer = try await fixture.act("export", [("acme", ada)])
        let events = answer.json["people"]?.array?.first?["records"]?["audit_events"]?.array ?? []
        #expect(
            events.count >= 1204
                && Set(events.compactMap { $0["id"]?.string }).count == events.count)
    }
}
