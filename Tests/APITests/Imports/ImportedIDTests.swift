import API
import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The ids of a file: an import by the platform makes users with them, where nothing of any tenant has or
/// had them; an import by a tenant never does.
@Suite(.serialized, .cleansUp) struct ImportedIDTests {
    private static let foreign =
        "The user has an id of this tenant; the row's is kept as the external id."

    /// `taken`, or why not: of each row of an import, whether the user has the row's id.
    private func outcomes(
        _ ids: [String], _ fixture: ImportFixture, _ query: String = "format=ndjson",
        as credential: TestService.Credential = .platformOwner
    ) async throws -> [String] {
        let rows = ids.map { #"{"id":"\#($0)","email":"\#(UUID.random())@a.example"}"# }
        let job = try await fixture.importing(
            rows.joined(separator: "\n"), query, as: credential)
        let results = try await fixture.scope.results(of: job, after: 0, limit: 1000)
        #expect(results.count == ids.count && results.allSatisfy { $0.status == .done })
        return zip(ids, results).map { id, result in
            let isTaken = result.targetID?.description == id.lowercased()
            #expect(isTaken == (result.detail == nil))
            return isTaken ? "taken" : result.detail ?? ""
        }
    }

    private func purge(_ id: String, _ fixture: ImportFixture) async throws {
        let asked = try await fixture.base.send(.delete, "/\(id)?purge=true")
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let purged = try await fixture.base.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect(purged.status == 204, "\(purged.text)")
    }

    @Test(arguments: ["csv", "ndjson"])
    func `the platform's import makes users with the ids of the file`(
        _ format: String
    ) async throws {
        let fixture = try await ImportFixture.make()
        let (ann, bea) = (UUID.random().description, UUID.random().description.uppercased())
        let text =
            format == "csv"
            ? "id,email,external_id\n\(ann),ann@a.example,a\n\(bea),bea@a.example,\n"
            : """
            {"id":"\(ann)","email":"ann@a.example","external_id":"a"}
            {"id":"\(bea)","email":"bea@a.example"}
            """
        let type = format == "csv" ? "text/csv" : "application/x-ndjson"
        let dry = try await fixture.importing(
            text, "format=\(format)&dry_run=true", type: type, as: .platformOwner)
        #expect(try await fixture.base.count("users") == 0)
        let job = try await fixture.importing(
            text, "format=\(format)", type: type, as: .platformOwner)
        #expect(try await fixture.report(job) == ["1 done", "2 done"])
        for made in [dry, job] {
            let results = try await fixture.scope.results(of: made, after: 0, limit: 10)
            #expect(results.map { $0.targetID?.description } == [ann, bea.lowercased()])
            #expect(results.allSatisfy { $0.detail == nil })
        }
        #expect(try await fixture.user("ann@a.example")["external_id"] == .string("a"))
        #expect(try await fixture.user("bea@a.example")["external_id"] == .null)
        #expect(try await fixture.base.send(.get, "/\(ann)").status == 200)
        // The same file again is about the same users, whoever imports it.
        for who in [TestService.Credential.platformOwner, .tenantAdmin(fixture.base.tenant)] {
            let again = try await fixture.importing(
                text, "format=\(format)&on_conflict=update", type: type, as: who)
            #expect(try await fixture.report(again) == ["1 unchanged", "2 unchanged"])
        }
        #expect(try await fixture.base.count("users") == 2)
    }

    @Test func `a caller who acts for one tenant cannot choose ids`() async throws {
        let fixture = try await ImportFixture.make()
        let (service, tenant) = (fixture.service, fixture.base.tenant)
        let scopes = #""users:read","users:write""#
        let admin = try await fixture.base.make("admin@a.example")
        _ = try await fixture.scope.write(
            """
            UPDATE users SET role = 'admin', status = 'active'
            WHERE tenant_id = \(tenant.id) AND id = \(UUID(admin) ?? .platform)
            """)
        let own = try await service.makeKey(
            scopes, #","owner":{"type":"user","id":"\#(admin)"}"#)
        for who in [
            TestService.Credential.tenantAdmin(tenant),
            try await service.makeKey(scopes).credential,
            own.credential,
        ] {
            #expect(
                try await outcomes([UUID.random().description], fixture, as: who)
                    == [Self.foreign])
        }
        let wide = try await service.makeKey(scopes, at: "/v1/api-keys")
        #expect(
            try await outcomes([UUID.random().description], fixture, as: wide.credential)
                == ["taken"])
        // A key of the platform's that became, before the job ran, an operator's of the tenant.
        let id = UUID.random().description
        let begun = try await fixture.post(
            "format=ndjson", #"{"id":"\#(id)","email":"late@a.example"}"#, as: .platformOwner)
        let job = try #require(begun.json["id"]?.string, "\(begun.text)")
        try await service.manage(.post, "/v1/tenants/acme/jobs/\(job)/pause", "{}")
        let resumed = try await service.send(
            .post, "/v1/tenants/acme/jobs/\(job)/resume", json: "{}", as: .tenantAdmin(tenant))
        #expect(resumed.status == 200, "\(resumed.text)")
        try await fixture.run()
        let late = try await fixture.user("late@a.example")
        #expect(late["id"] != .string(id) && late["external_id"] == .string(id))
    }

    /// What somebody has, or once had, in the other tenant.
    private func idsThatAreNotFree(_ fixture: ImportFixture) async throws -> [String] {
        let service = fixture.service
        try await service.makeTenant("other")
        let users = "/v1/tenants/other/users"
        func make(_ name: String, _ path: String = users) async throws -> String {
            let made = try await service.manage(.post, path, #"{"email":"\#(name)@o.example"}"#)
            return try #require(made["id"]?.string)
        }
        let live = try await make("live")
        let deleted = try await make("deleted")
        let removed = try await service.send(.delete, "\(users)/\(deleted)", as: .platformOwner)
        #expect(removed.status == 204)
        let (winner, loser) = (try await make("winner"), try await make("loser"))
        try await service.manage(
            .post, "\(users)/merges", #"{"winner":"\#(winner)","loser":"\#(loser)"}"#)
        let gone = try await fixture.base.make("gone@a.example")
        try await purge(gone, fixture)
        let undone = UUID.random().description
        let job = try await fixture.importing(
            #"{"id":"\#(undone)","email":"undone@a.example"}"#, as: .platformOwner)
        #expect(try await fixture.undo(job).status == .undone)
        let key = try await service.makeKey(#""users:read""#, at: "/v1/tenants/other/api-keys")
        let ordered = UUID.ordered(at: .systemClock())
        let variant = UUID(high: ordered.high & ~0xF000 | 0x4000, low: ordered.low | 3 << 62)
        let invite = try await make("invited", "/v1/tenants/other/invites")
        return [
            live, deleted, winner, loser, gone, undone, key.id, invite, ordered.description,
            variant.description, "17", UUID.platform.description,
        ]
    }

    @Test func `an id that somebody has or had is not taken, in the same words for every cause`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        let ids = try await idsThatAreNotFree(fixture)
        let free = UUID.random().description
        for query in ["format=ndjson&dry_run=true", "format=ndjson"] {
            let found = try await outcomes(ids + [free], fixture, query)
            #expect(found == Array(repeating: Self.foreign, count: ids.count) + ["taken"])
        }
        let kept = try await fixture.base.count("users WHERE external_id = ANY (\(ids))")
        #expect(kept == ids.count)
        // With an external id of its own.
        let id = try await fixture.importing(
            #"{"id":"\#(ids[0])","email":"x@a.example","external_id":"x"}"#, as: .platformOwner)
        let detail = try await fixture.scope.results(of: id, after: 0, limit: 1).first?.detail
        #expect(detail == "The user has an id of this tenant; the row's is not taken over.")
        // The first made user has the id for good.
        try await purge(free, fixture)
        #expect(try await outcomes([free], fixture) == [Self.foreign])
    }

    @Test func `a claim outlasts the user and the audit log`() async throws {
        let fixture = try await ImportFixture.make()
        let id = UUID.random().description
        #expect(try await outcomes([id], fixture) == ["taken"])
        try await purge(id, fixture)
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        let events = try await administrator.query(
            "DELETE FROM audit_events WHERE target_id = \(id) RETURNING 1")
        #expect(events.count > 0)
        #expect(try await outcomes([id], fixture) == [Self.foreign])
    }

    /// Its batch has read that the ids are free when another tenant's import claims them.
    @Test func `of two imports at once one gives the id, and the other says that it did not`()
        async throws
    {
        let fixture = try await ImportFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let ids = (0..<3).map { _ in UUID.random() }
        let storage = fixture.service.storage
        let held = try await storage.app.begin(settings: [("app.tenant", other.id.description)])
        _ = try await held.transaction.query("SELECT directory_claim_ids(\([ids[0], ids[2]]))")
        // The external id that a row loses to is another user's: the row fails, as any would.
        _ = try await fixture.importing(
            #"{"email":"holder@a.example","external_id":"\#(ids[2])"}"#)
        let rows = ids.map { #"{"id":"\#($0)","email":"\#($0)@a.example"}"# }
        let begun = try await fixture.post(
            "format=ndjson", rows.joined(separator: "\n"), as: .platformOwner)
        let job = try #require(begun.json["id"]?.string.flatMap { UUID($0) }, "\(begun.text)")
        async let run: Void = fixture.run()
        while try await !fixture.service.database.waitsForLock() { await Task.yield() }
        try await held.commit()
        try await run
        #expect(try await fixture.report(job) == ["1 done", "2 done", "3 failed conflict"])
        let results = try await fixture.scope.results(of: job, after: 0, limit: 10)
        #expect(results[0].detail == Self.foreign && results[0].targetID != ids[0])
        #expect(results[1].detail == nil && results[1].targetID == ids[1])
    }

    @Test func `files with the same ids into two tenants at once make each id once`() async throws {
        let fixture = try await ImportFixture.make()
        let other = try await fixture.service.makeTenant("other")
        let ids = (0..<1200).map { _ in UUID.random() }
        for (slug, order) in [("acme", ids), ("other", ids.reversed())] {
            let rows = order.map { #"{"id":"\#($0)","email":"\#($0)@a.example"}"# }
            let begun = try await fixture.service.send(
                .post, "/v1/tenants/\(slug)/imports?format=ndjson",
                bytes: Array(rows.joined(separator: "\n").utf8), as: .platformOwner,
                fields: [Field("content-type", "application/x-ndjson")])
            #expect(begun.status == 202, "\(begun.text)")
        }
        async let first: Void = fixture.run()
        async let second: Void = fixture.run()
        _ = try await (first, second)
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        let row = try #require(
            try await administrator.read(
                """
                SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id = ANY (\(ids))),
                    count(external_id), count(DISTINCT tenant_id) FROM users
                """
            ).first)
        #expect(try row.get(0, as: Int.self) == 2400 && row.get(1, as: Int.self) == 2400)
        #expect(try row.get(2, as: Int.self) == 1200 && row.get(3, as: Int.self) == 1200)
        #expect(try row.get(4, as: Int.self) == 2 && other.id != fixture.tenant)
    }

    @Test func `a batch that fails leaves its ids free`() async throws {
        struct Crash: Error {}
        let fixture = try await ImportFixture.make()
        let id = UUID.random().description
        let begun = try await fixture.post(
            "format=ndjson", #"{"id":"\#(id)","email":"ann@a.example"}"#, as: .platformOwner)
        let job = try #require(begun.json["id"]?.string.flatMap { UUID($0) }, "\(begun.text)")
        let staged = try #require(
            try await fixture.job(job).parameters["import"]?.string.flatMap { UUID($0) })
        let storage = fixture.service.storage
        let rules = ImportRules(
            id: staged, conflict: .skip, roles: UserRole.allCases, isAssertedByTenant: false)
        await #expect(throws: Crash.self) {
            try await fixture.scope.change(by: .system) { change in
                let (results, _) = try await change.importBatch(
                    by: rules, after: 0, limit: 10)
                #expect(results.first?.targetID?.description == id)
                throw Crash()
            }
        }
        try await fixture.run()
        #expect(try await fixture.user("ann@a.example")["id"] == .string(id))
    }
}
