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

    @Test func `what a provider merely says makes nobody look like another`() async throws {
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
