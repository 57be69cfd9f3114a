import API
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Whom an import does not bring in, and what is left of its rows.
@Suite(.serialized, .cleansUp) struct ImportRefusalTests {
    private static let people = """
        {"email":"ann@imported.example","email_verified":true,"external_id":"7",\
        "identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]}
        {"email":"bea@imported.example","role":"manager"}
        {"email":"cid@imported.example","role":"admin"}
        """

    /// Staged, with a job that waits.
    private func stage(
        _ fixture: ImportFixture, _ text: String = people, _ query: String = "format=ndjson"
    ) async throws -> UUID {
        let answer = try await fixture.post(query, text)
        #expect(answer.status == 202, "\(answer.text)")
        return try #require(answer.json["id"]?.string.flatMap { UUID($0) })
    }

    @Test func `a caller who may not import is refused, and rights are checked again`() async throws
    {
        let fixture = try await ImportFixture.make()
        let session = try await fixture.service.session(role: .support, tenant: fixture.tenant)
        let refused = try await fixture.post(
            "format=ndjson", Self.people, as: .session(session))
        #expect(refused.status == 403)
        let id = try await stage(fixture)
        _ = try await fixture.scope.write("UPDATE operators SET role = 'support'")
        try await fixture.run()
        let job = try await fixture.job(id)
        #expect(job.status == .paused && job.reason == "rights_lost" && job.done == 0)
    }

    /// Today all who may import may give every role; the batch is held to those that they may.
    @Test func `an importer can neither give nor change a role above their own`() async throws {
        let fixture = try await ImportFixture.make()
        let known = try await fixture.base.make("bea@imported.example")
        _ = try await fixture.base.send(.patch, "/\(known)", json: #"{"role":"admin"}"#)
        let job = try await stage(fixture, Self.people, "format=ndjson&on_conflict=update")
        let database = fixture.service.storage
        let rows = try await fixture.scope.read(
            "SELECT id FROM imports WHERE tenant_id = \(fixture.tenant) AND job_id = \(job)")
        let rules = ImportRules(
            id: try #require(rows.first).get(0), conflict: .update, roles: [.member, .manager],
            isAssertedByTenant: false)
        let batch = try await fixture.scope.change(by: .system) { change in
            try await change.importBatch(by: rules, after: 0, limit: 10)
        }
        #expect(batch.results.map(\.code) == [nil, "forbidden", "forbidden"])
        #expect(try await fixture.base.count("users WHERE role = 'admin'") == 1)
        #expect(try await fixture.base.count("users") == 2)
    }

    @Test func `the dead and the unlinked do not come back with a file`() async throws {
        let fixture = try await ImportFixture.make()
        let dead = try await fixture.base.make("bea@imported.example")
        _ = try await fixture.base.send(.delete, "/\(dead)")
        let user = try await fixture.base.make("other@imported.example")
        let linked = try await fixture.base.send(
            .post, "/\(user)/identities",
            json: #"{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}"#)
        let identity = try #require(linked.json["id"]?.string, "\(linked.text)")
        let conflict = try await fixture.importing(Self.people)
        #expect(try await fixture.report(conflict).first == "1 failed identity_conflict")
        let unlinked = try await fixture.base.send(.delete, "/\(user)/identities/\(identity)")
        #expect(unlinked.status == 204, "\(unlinked.text)")
        let report = try await fixture.report(try await fixture.importing(Self.people))
        #expect(
            Array(report.prefix(2)) == [
                "1 failed identity_link_required", "2 failed user_deleted",
            ])
        #expect(try await fixture.base.count("identities") == 0)
    }

    private func purge(_ user: String, _ fixture: ImportFixture) async throws {
        let database = fixture.service.storage
        let id = try #require(UUID(user))
        try await fixture.scope.change(by: .system) { change in
            try await change.purgeUser(change.lockUser(id))
        }
    }

    @Test func `a purge takes the person out of a waiting import`() async throws {
        let fixture = try await ImportFixture.make()
        let user = try await fixture.base.make("bea@imported.example")
        let id = try await stage(fixture)
        try await purge(user, fixture)
        try await fixture.run()
        #expect(
            try await fixture.report(id) == ["1 done", "2 failed user_deleted", "3 done"])
    }

    @Test(arguments: ["external id", "sign-in", "id"], [true, false])
    func `a purge finds the rows that name the person otherwise than by the address`(
        _ what: String, _ isVerified: Bool
    ) async throws {
        let fixture = try await ImportFixture.make()
        let user = try await fixture.base.make("home@else.example")
        if what == "external id" {
            _ = try await fixture.base.send(.patch, "/\(user)", json: #"{"external_id":"7"}"#)
        } else if what == "sign-in" {
            let linked = try await fixture.base.send(
                .post, "/\(user)/identities",
                json: #"{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}"#)
            #expect(linked.status == 201, "\(linked.text)")
        }
        var people =
            isVerified
            ? Self.people
            : Self.people.replacing(#""email_verified":true"#, with: #""email_verified":false"#)
        if what == "id" {
            people = people.replacing(
                #""external_id":"7","identities":[{"provider":"oidc","issuer":"https://idp.example","subject":"ann"}]"#,
                with: #""id":"\#("\(user)".uppercased())""#)
        }
        let id = try await stage(fixture, people)
        let held = "import_rows WHERE document LIKE '%ann@imported.example%'" as SQL
        #expect(try await fixture.base.count(held) == 1)
        let export = try await fixture.service.send(
            .post, "/v1/people/actions",
            json: #"{"action":"export","users":[{"tenant":"acme","id":"\#(user)"}],"reason":"r"}"#,
            as: .platformOwner)
        let records = export.json["people"]?.array?.first?["records"]
        #expect(records?["import_rows"]?.array?.count == 1, "\(export.text)")
        try await purge(user, fixture)
        #expect(try await fixture.base.count(held) == 0)
        #expect(try await fixture.base.count("import_rows WHERE document IS NOT NULL") == 2)
        try await fixture.run()
        #expect(
            try await fixture.report(id) == ["1 failed user_deleted", "2 done", "3 done"])
    }

    @Test(arguments: ["cancelled", "failed"])
    func `the staged rows go with a job that ends early`(_ end: String) async throws {
        let fixture = try await ImportFixture.make()
        let id = try await stage(fixture)
        #expect(try await fixture.base.count("import_rows") == 3)
        if end == "cancelled" {
            let answer = try await fixture.service.send(
                .post, "/v1/tenants/acme/jobs/\(id)/cancel", as: .tenantAdmin(fixture.base.tenant))
            #expect(answer.status == 200, "\(answer.text)")
        } else {
            struct Broken: Error {}
            // Each round counts one failure, and the job is due again some seconds later.
            let runner = JobRunner(
                application: fixture.service.composition.application,
                beforeBatch: { _ in throw Broken() })
            for _ in 0..<10 where try await fixture.job(id).status != .failed {
                await #expect(throws: Broken.self) { try await runner.round() }
                _ = try await fixture.scope.write(
                    """
                    UPDATE jobs SET due_at = now() - interval '1 hour'
                    WHERE tenant_id = \(fixture.tenant) AND status = 'running'
                    """)
            }
        }
        #expect(try await fixture.job(id).status.rawValue == end)
        try await fixture.run()
        for table in ["imports", "import_rows", "import_keys"] as [SQL] {
            #expect(try await fixture.base.count(table) == 0, "\(table)")
        }
        #expect(try await fixture.base.count("users") == 0)
    }
}
