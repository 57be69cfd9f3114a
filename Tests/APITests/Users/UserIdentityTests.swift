import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized, .cleansUp) struct UserIdentityTests {
    private static let google =
        #"{"provider":"google","issuer":"https://g.example","subject":"1"}"#

    @Test func `a sign-in belongs to one user and unlinking ends sessions`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        let bob = try await fixture.make("bob@example.com")
        let linked = try await fixture.send(.post, "/\(ada)/identities", json: Self.google)
        #expect(linked.status == 201)
        #expect(linked.json["subject"]?.string == "1")
        let taken = try await fixture.send(.post, "/\(bob)/identities", json: Self.google)
        #expect(taken.status == 409)
        #expect(taken.json["code"]?.string == "identity_conflict")
        #expect(taken.json["conflicting_id"]?.string == ada)
        let list = try await fixture.send(.get, "/\(ada)/identities")
        #expect(list.json["items"] == .array([linked.json]))
        _ = try await fixture.addSession(of: ada)
        let id = try #require(linked.json["id"]?.string)
        #expect(
            try await fixture.send(.delete, "/\(bob)/identities/\(id)").status == 404)
        #expect(
            try await fixture.send(.delete, "/\(ada)/identities/\(id)").status == 204)
        #expect(try await fixture.count("sessions") == 0)
        let key = fixture.service.storage.personKey(
            provider: "google", issuer: "https://g.example", subject: "1")
        #expect(try await fixture.count("directory_tenants_of(\(key))") == 0)
        #expect(
            try await fixture.send(.post, "/\(bob)/identities", json: "{}").status == 422)
    }

    @Test func `a list gives each user's sign-ins, the oldest first, in the list's order`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let emails = ["ada@example.com", "bob@example.com", "eve@example.com"]
        for email in emails {
            let id = try await fixture.make(email)
            for subject in email == "bob@example.com" ? [] : ["9", "1", "5"] {
                let linked = try await fixture.send(
                    .post, "/\(id)/identities",
                    json: """
                        {"provider":"google","issuer":"https://g.example",
                        "subject":"\(subject) of \(email)"}
                        """)
                #expect(linked.status == 201)
            }
        }
        for (sort, order) in [("email", emails), ("-email", emails.reversed())] {
            let list = try await fixture.send(.get, "?sort=\(sort)")
            let items = try #require(list.json["items"]?.array)
            #expect(items.map { $0["email"]?.string } == order)
            for item in items {
                let email = item["email"]?.string ?? ""
                let subjects = item["identities"]?.array?.map { $0["subject"]?.string }
                #expect(
                    subjects
                        == (email == "bob@example.com"
                            ? [] : ["9", "1", "5"].map { "\($0) of \(email)" }))
            }
        }
    }

    @Test func `a link grant is shown once and used once`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        let answer = try await fixture.send(.post, "/\(id)/link-grants")
        #expect(answer.status == 201)
        #expect(answer.json["expires_at"]?.string != nil)
        let token = try #require(answer.json["token"]?.string)
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        let uses = try await scope.change(by: .system) { change in
            let grant = try #require(try await change.linkGrant(hash: TenantToken.hash(token)))
            #expect(grant.userID == UUID(id))
            return [
                try await change.consumeLinkGrant(grant.id),
                try await change.consumeLinkGrant(grant.id),
            ]
        }
        #expect(uses == [true, false])
    }

    @Test func `sessions are listed and ended`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        let first = try await fixture.addSession(of: id)
        _ = try await fixture.addSession(of: id)
        let list = try await fixture.send(.get, "/\(id)/sessions")
        #expect(list.json["total"]?["value"]?.int == 2)
        #expect(list.json["items"]?.array?.first?["client"]?.string == "relate")
        #expect(try await fixture.send(.delete, "/\(id)/sessions/\(first)").status == 204)
        #expect(try await fixture.send(.delete, "/\(id)/sessions/\(first)").status == 404)
        #expect(try await fixture.send(.delete, "/\(id)/sessions").status == 204)
        #expect(try await fixture.count("sessions") == 0)
    }
}
