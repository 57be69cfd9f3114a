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

/// Lists of invites that are too long for one answer.
@Suite(.cleansUp) struct InviteJobTests {
    private func make() async throws -> BulkFixture {
        let clock = TestClock()
        let mail = ExternalServices.Mail(
            url: "smtp://127.0.0.1:1", from: try EmailAddress("gatehouse@example.org"))
        let service = try await TestService.make(
            externalServices: ExternalServices(
                providers: OutboundPolicy(allowsLoopback: true), mail: mail),
            clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        return BulkFixture(base: UserFixture(service: service, tenant: tenant), clock: clock)
    }

    private func body(_ numbers: Range<Int>, _ more: String = "") -> String {
        let items = numbers.map { #"{"email":"p\#($0)@a.example"\#(more)}"# }
        return #"{"invites":[\#(items.joined(separator: ","))]}"#
    }

    private func invite(
        _ fixture: BulkFixture, _ body: String, query: String = ""
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "/v1/tenants/acme/invites\(query)", json: body, as: fixture.owner)
    }

    @Test func `over 1,000 invites are a job, and its undo revokes those that are pending`()
        async throws
    {
        let fixture = try await make()
        _ = try await invite(fixture, #"{"email":"p3@a.example"}"#)
        let text = body(0..<1001).replacing("p5@a.example", with: "no address")
        let begun = try await invite(fixture, text)
        #expect(begun.status == 202 && begun.json["kind"]?.string == "invites", "\(begun.text)")
        let job = try await fixture.finish(begun)
        #expect(job.json["progress"]?["done"] == .int(1000), "\(job.text)")
        #expect(job.json["progress"]?["failed"] == .int(1))
        #expect(try await fixture.base.count("invites WHERE status = 'pending'") == 1000)
        #expect(try await fixture.base.count("mail WHERE kind = 'invite'") == 1000)
        #expect(try await fixture.base.count("job_rows WHERE input IS NOT NULL") == 0)
        let id = job.json["id"]?.string ?? ""
        let report = try await fixture.service.send(
            .get, "/v1/tenants/acme/jobs/\(id)/report?limit=10", as: fixture.owner)
        let rows = report.json["items"]?.array ?? []
        #expect(rows[3]["status"]?.string == "unchanged")
        #expect(rows[5]["status"]?.string == "failed")
        #expect(rows[5]["code"]?.string == "validation_failed")
        #expect(!report.text.contains(".example"))
        let made = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites?job_id=\(id)&delivery_status=queued&limit=1",
            as: fixture.owner)
        // Of 1,000 the one that was there before is listed too: the job came upon it.
        #expect(made.json["total"]?["value"] == .int(1000), "\(made.text)")
        let others = try await fixture.service.send(
            .get, "/v1/tenants/acme/invites?job_id=\(UUID.random())", as: fixture.owner)
        #expect(others.status == 200 && others.json["items"]?.array?.isEmpty == true)
        let used = try #require(rows[0]["target_id"]?.string)
        _ = try await fixture.act(#"{"action":"revoke","ids":["\#(used)"]}"#, on: "invites")
        let undone = try await fixture.undo(job.json)
        #expect(undone.json["undone"] == .int(998), "\(undone.text)")
        // The one that was there before and the one that was revoked.
        #expect(try await fixture.base.count("invites WHERE status = 'pending'") == 1)
        #expect(try await fixture.base.count("invites WHERE status = 'revoked'") == 999)
    }

    @Test func `a dry run of a long list is a job that creates nothing`() async throws {
        let fixture = try await make()
        let begun = try await invite(fixture, body(0..<1001), query: "?dry_run=true")
        #expect(begun.status == 202 && begun.json["dry_run"] == .bool(true), "\(begun.text)")
        let job = try await fixture.finish(begun)
        #expect(job.json["progress"]?["done"] == .int(1001), "\(job.text)")
        #expect(try await fixture.base.count("invites WHERE true") == 0)
        #expect(try await fixture.base.count("mail WHERE true") == 0)
    }

    @Test func `a long list goes by mail alone, and ends at 10,000`() async throws {
        let fixture = try await make()
        let links = try await invite(fixture, body(0..<1001, #","delivery":"link""#))
        #expect(links.status == 422 && links.text.contains("/invites/0/delivery"))
        let longer = try await invite(fixture, body(0..<10_001))
        #expect(longer.status == 422 && longer.text.contains("at most 10000"), "\(longer.text)")
        let without = try await UserFixture.make()
        let answer = try await without.service.send(
            .post, "/v1/tenants/acme/invites", json: body(0..<1001),
            as: .tenantAdmin(without.tenant))
        #expect(answer.status == 422)
        #expect(try await without.count("jobs WHERE true") == 0)
    }

    @Test func `a person who is purged is not invited by a job that waits`() async throws {
        let fixture = try await make()
        let user = try await fixture.base.make("p1@a.example")
        let begun = try await invite(fixture, body(0..<1001))
        let path = "/v1/tenants/acme/users/\(user)?purge=true"
        let asked = try await fixture.service.send(.delete, path, as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let purged = try await fixture.service.send(
            .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
        #expect(purged.status == 204, "\(purged.text)")
        #expect(try await fixture.base.count("job_rows WHERE email_key = 'p1@a.example'") == 0)
        let job = try await fixture.finish(begun)
        #expect(job.json["progress"]?["failed"] == .int(1), "\(job.text)")
        #expect(try await fixture.base.count("invites WHERE email_key = 'p1@a.example'") == 0)
    }
}
