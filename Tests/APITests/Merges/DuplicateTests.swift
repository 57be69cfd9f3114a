import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Users who may be one person.
@Suite(.serialized, .cleansUp) struct DuplicateTests {
    private func pairs(_ fixture: UserFixture, _ query: String = "") async throws -> [String] {
        let answer = try await fixture.send(.get, "/duplicates" + query)
        #expect(answer.status == 200, "\(answer.text)")
        return (answer.json["items"]?.array ?? []).map { pair in
            let emails = (pair["users"]?.array ?? []).compactMap { $0["email"]?.string }.sorted()
            let evidence = (pair["evidence"]?.array ?? []).map {
                "\($0["kind"]?.string ?? "") \($0["value"]?.string ?? "") "
                    + "\($0["certainty"]?.string ?? "")"
            }
            return "\(emails.joined(separator: " ")): \(evidence.joined(separator: ", "))"
        }.sorted()
    }

    private func link(
        _ fixture: UserFixture, _ user: String, _ issuer: String, _ subject: String,
        _ email: String,
        isVouched: Bool = true
    ) async throws {
        let answer = try await fixture.send(
            .post, "/\(user)/identities",
            json: """
                {"provider":"oidc","issuer":"\(issuer)","subject":"\(subject)","email":"\(email)"}
                """)
        #expect(answer.status == 201, "\(answer.text)")
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE identities SET email_vouched = \(isVouched)
                WHERE tenant_id = \(change.tenant) AND subject = \(subject) AND issuer = \(issuer)
                """)
        }
    }

    @Test func `pairs are shown with their evidence`() async throws {
        let fixture = try await UserFixture.make()
        let ann = try await fixture.make("ann@ex.com")
        let other = try await fixture.make("ann@mail.example")
        try await link(fixture, other, "https://a.example", "1", "Ann@ex.com")
        let eve = try await fixture.make("eve@ex.com")
        let late = try await fixture.make("eve@late.example")
        try await link(fixture, eve, "https://old.example", "77", "x@x.example")
        try await link(fixture, late, "https://new.example", "77", "y@x.example")
        _ = try await fixture.make("boblee@ex.com")
        _ = try await fixture.make("bob.lee+news@ex.com")
        #expect(
            try await pairs(fixture) == [
                "ann@ex.com ann@mail.example: verified_address ann@ex.com likely",
                "bob.lee+news@ex.com boblee@ex.com: spelling boblee@ex.com maybe",
                "eve@ex.com eve@late.example: subject 77 likely",
            ])
        #expect(try await fixture.merge(winner: ann, loser: other).status == 201)
        #expect(try await pairs(fixture).count == 2)
        #expect(try await fixture.send(.post, "/\(late)/suspend").status == 200)
        #expect(try await pairs(fixture).count == 1)
    }

    @Test func `the total counts pairs, as many as were found so far`() async throws {
        let fixture = try await UserFixture.make()
        for number in 1...15 { _ = try await fixture.make("user\(number)@ex.com") }
        func total(_ answer: TestAnswer) -> [JSONValue?] {
            [answer.json["total"]?["value"], answer.json["total"]?["exact"]]
        }
        let none = try await fixture.send(.get, "/duplicates")
        #expect(total(none) == [.int(0), .bool(true)], "\(none.text)")
        for spelling in ["bob", "b.ob"] { _ = try await fixture.make("\(spelling)@ex.com") }
        let first = try await fixture.send(.get, "/duplicates?limit=1")
        #expect(total(first) == [.int(1), .bool(false)], "\(first.text)")
        let cursor = first.json["next_cursor"]?.string ?? ""
        let last = try await fixture.send(.get, "/duplicates?limit=1&cursor=\(cursor)")
        #expect(total(last) == [.int(1), .bool(true)], "\(last.text)")
    }

    @Test func `spellings of one address are pairs though nobody has the plain one`() async throws {
        let fixture = try await UserFixture.make()
        for email in [
            "a.nn@ex.com", "an.n@ex.com", "bob+a@ex.com", "Bob+b@ex.com", "a.nn@other.example",
            "+a@ex.com", "+b@ex.com", "cid@ex.com",
        ] { _ = try await fixture.make(email) }
        let all = [
            "Bob+b@ex.com bob+a@ex.com: spelling bob@ex.com maybe",
            "a.nn@ex.com an.n@ex.com: spelling ann@ex.com maybe",
        ]
        #expect(try await pairs(fixture) == all)
        let late = try await fixture.make("a.n.n@ex.com")
        #expect(try await pairs(fixture).count == 4)
        #expect(try await fixture.send(.delete, "/\(late)").status == 204)
        #expect(try await pairs(fixture) == all)
    }

    @Test(arguments: ["skip", "update", "fail"])
    func `an external id that a file gives to two users is evidence`(_ conflict: String)
        async throws
    {
        let fixture = ImportFixture(base: try await UserFixture.make())
        try await fixture.importing(
            """
            {"email":"ann@old.example","email_verified":true,"external_id":"crm-1"}
            {"email":"ann@new.example","email_verified":true}
            {"email":"bob@old.example","email_verified":true}
            {"email":"bob@new.example","email_verified":true}
            """)
        let file = """
            {"email":"ann@new.example","email_verified":true,"external_id":"crm-1"}
            {"email":"new@new.example","email_verified":true,"external_id":"crm-2"}
            {"email":"bob@new.example","email_verified":true,"external_id":"crm-2"}
            """
        let query = "format=ndjson&on_conflict=\(conflict)"
        try await fixture.importing(file, query + "&dry_run=true")
        #expect(try await pairs(fixture.base).isEmpty)
        let job = try await fixture.importing(file, query)
        #expect(try await fixture.report(job).last == "3 failed conflict")
        let all = [
            "ann@new.example ann@old.example: external_id crm-1 likely",
            "bob@new.example new@new.example: external_id crm-2 likely",
        ]
        #expect(try await pairs(fixture.base) == all)
        // The evidence is as old as the job's rows, and ends with the person.
        let ann = try await fixture.user("ann@old.example")["id"]?.string ?? ""
        let asked = try await fixture.base.send(.delete, "/\(ann)?purge=true")
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let purged = try await fixture.base.send(
            .delete, "/\(ann)?purge=true&confirm=\(confirm)")
        #expect(purged.status == 204, "\(purged.text)")
        #expect(try await pairs(fixture.base) == [all[1]])
        #expect(try await fixture.base.count("job_rows WHERE external_id IS NOT NULL") == 1)
    }

    @Test func `two identities with one vouched address are a pair, from any page`() async throws {
        let fixture = try await UserFixture.make()
        let ann = try await fixture.make("ann@ex.com")
        try await link(fixture, ann, "https://a.example", "1", "Same@ex.com")
        for number in 0..<12 { _ = try await fixture.make("p\(number)@ex.com") }
        let eve = try await fixture.make("eve@ex.com")
        try await link(fixture, eve, "https://b.example", "2", "same@ex.com")
        var found: [String] = []
        var cursor: String?
        repeat {
            let query = "?limit=1" + (cursor.map { "&cursor=\($0)" } ?? "")
            found += try await pairs(fixture, query)
            cursor = try await fixture.send(.get, "/duplicates" + query).json["next_cursor"]?.string
        } while cursor != nil
        #expect(found.count == 1)
        #expect(found.allSatisfy { $0.hasPrefix("ann@ex.com eve@ex.com") }, "\(found)")
    }

    @Test func `an untrusted provider's address makes no duplicate`() async throws {
        let fixture = try await UserFixture.make()
        _ = try await fixture.make("ann@ex.com")
        let eve = try await fixture.make("eve@ex.com")
        try await link(fixture, eve, "https://a.example", "1", "ann@ex.com", isVouched: false)
        #expect(try await pairs(fixture).isEmpty)
        let other = try await fixture.service.makeTenant("other")
        let foreign = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/duplicates", as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }
}
