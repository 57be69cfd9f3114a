import API
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What a person leaves who acts in a tenant, and the mail that waits for them: a purge finds it.
@Suite(.serialized, .cleansUp) struct PersonTracesTests {
    @Test func `the name of who published, made and merged goes with the person`() async throws {
        let fixture = try await PeopleFixture.make()
        let (service, ada) = (fixture.service, fixture.ada["acme"] ?? "")
        let acme = try #require(try await service.storage.tenant("acme"))
        let actor = Actor(
            type: "user", id: ada, name: "Ada Person", requestID: "r", ip: "192.0.2.1")
        let other = try await service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"bob@home.example"}"#)
        let (bob, loser) = (
            try #require(UUID(fixture.bob)), try #require(UUID(other["id"]?.string ?? ""))
        )
        try await service.storage.scope(acme.id).change(by: actor) { change in
            let current = try await change.lockPolicy()
            var policy = current.policy
            policy.blockedEmails = ["somebody@else.example"]
            _ = try await change.publish(policy, after: current)
            _ = try await change.mergeUsers(
                winner: bob, loser: loser, permit: { _, _ in })
        }
        let words = ["Ada Person"]
        let beta = try #require(try await service.storage.tenant("beta"))
        await #expect(throws: PostgresError.self) {
            try await service.storage.scope(beta.id).change(by: .system) { change in
                let person = try #require(UUID(ada))
                _ = try await change.query("SELECT policies_redact_author(\(acme.id), \(person))")
            }
        }
        let deletion = DeletionFixture(
            service: service, tenant: acme, clock: fixture.clock, key: "")
        let before = try await deletion.tables(with: words)
        #expect(before.contains("policies") && before.contains("user_merges"), "\(before)")
        let done = try await fixture.erase(fixture.both)
        #expect(done.results == ["done", "done"], "\(done.text)")
        #expect(try await deletion.tables(with: words) == [])
    }

    @Test func `a purge finds each mail that waits, whatever it is about`() async throws {
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))))
        let fixture = UserFixture(service: service, tenant: try await service.makeTenant("acme"))
        let ada = try await fixture.make("ada@example.com")
        let eve = try await fixture.make("eve@example.com")
        let linked = try await fixture.send(
            .post, "/\(ada)/identities",
            json: #"{"provider":"google","issuer":"https://g.example","subject":"1"}"#)
        #expect(linked.status == 201, "\(linked.text)")
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        let waiting = "mail WHERE letter IS NOT NULL" as SQL
        #expect(try await fixture.count(waiting) == 5)
        let records = try await service.send(
            .post, "/v1/people/actions",
            json: #"{"action":"export","users":[{"tenant":"acme","id":"\#(ada)"}],"reason":"r"}"#,
            as: .platformOwner)
        let mails = records.json["people"]?.array?.first?["records"]?["mail"]?.array
        #expect(mails?.count == 5, "\(records.text)")
        let asked = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(ada)?purge=true", as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string)
        let purged = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(ada)?purge=true&confirm=\(confirm)",
            as: .platformOwner)
        #expect(purged.status == 204, "\(purged.text)")
        #expect(try await fixture.count(waiting) == 0)
    }
}
