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

/// `/v1/jobs` and its twin below a tenant.
@Suite(.cleansUp) struct JobEndpointsTests {
    /// A queued job that suspends 101 users.
    private func job(_ fixture: BulkFixture) async throws -> String {
        let users = try await fixture.users(101)
        let answer = try await fixture.act(#"{"action":"suspend","ids":[\#(list(users))]}"#)
        return try #require(answer.json["id"]?.string, "\(answer.text)")
    }

    private func send(
        _ fixture: BulkFixture, _ verb: String, _ job: String,
        as credential: TestService.Credential? = nil, at path: String = "/v1/tenants/acme/jobs"
    ) async throws -> TestAnswer {
        try await fixture.service.send(
            .post, "\(path)/\(job)/\(verb)", as: credential ?? fixture.owner)
    }

    @Test func `a job is listed, paused, resumed, cancelled and undone`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        for path in ["/v1/tenants/acme/jobs", "/v1/jobs"] {
            let list = try await fixture.service.send(
                .get, "\(path)?status=queued&kind=users_actions", as: .platformOwner)
            #expect(list.json["items"]?.array?.first?["id"]?.string == id, "\(list.text)")
            let none = try await fixture.service.send(
                .get, "\(path)?status=done", as: .platformOwner)
            #expect(none.json["items"]?.array?.isEmpty == true)
        }
        let acts: [(String, Int, String)] = [
            ("resume", 409, ""), ("undo", 409, ""), ("pause", 200, "paused"), ("pause", 409, ""),
            ("resume", 200, "queued"), ("cancel", 200, "cancelled"), ("cancel", 409, ""),
            ("pause", 409, ""), ("undo", 409, ""),
        ]
        for (verb, status, next) in acts {
            let answer = try await send(fixture, verb, id)
            #expect(answer.status == status, "\(verb) \(answer.text)")
            if status == 200 {
                #expect(answer.json["status"]?.string == next)
                #expect(answer.first("etag") != nil)
            } else {
                #expect(answer.json["code"]?.string == "job_state", "\(verb)")
            }
        }
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=job.", as: .platformOwner)
        let actions = (events.json["items"]?.array ?? []).compactMap { $0["action"]?.string }
        #expect(Set(actions) == ["job.cancelled", "job.resumed", "job.paused", "job.created"])
    }

    @Test func `the platform acts on a tenant's job by its id alone`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        let paused = try await send(fixture, "pause", id, as: .platformOwner, at: "/v1/jobs")
        #expect(paused.json["status"]?.string == "paused", "\(paused.text)")
        let unknown = try await send(
            fixture, "pause", UUID.random().description, as: .platformOwner, at: "/v1/jobs")
        #expect(unknown.status == 404)
        let tenant = try await send(fixture, "resume", id, at: "/v1/jobs")
        #expect(tenant.status == 403)
    }

    @Test func `another tenant's job is not there`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        let other = try await fixture.service.makeTenant("other")
        for path in ["/v1/tenants/acme/jobs/\(id)", "/v1/tenants/other/jobs/\(id)"] {
            for end in ["", "/report", "/events"] {
                let answer = try await fixture.service.send(
                    .get, path + end, as: .tenantAdmin(other))
                #expect(answer.status == 404, "\(path)\(end)")
            }
            let act = try await fixture.service.send(
                .post, "\(path)/cancel", as: .tenantAdmin(other))
            #expect(act.status == 404)
        }
    }

    @Test func `acting on a job needs the right for what the job does`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        let tenant = fixture.base.tenant.id
        for role in [Operator.Role.auditor, .developer] {
            let token = try await fixture.service.session(role: role, tenant: tenant)
            for verb in ["pause", "resume", "cancel", "undo"] {
                let answer = try await send(fixture, verb, id, as: .session(token))
                #expect(answer.status == 403, "\(role) \(verb)")
            }
        }
        // Support may suspend, and not resume.
        let support = try await fixture.service.session(role: .support, tenant: tenant)
        #expect(try await send(fixture, "pause", id, as: .session(support)).status == 200)
        #expect(try await send(fixture, "resume", id, as: .session(support)).status == 200)
        try await fixture.service.composition.jobs.round()
        #expect(try await send(fixture, "undo", id, as: .session(support)).status == 403)
        #expect(try await send(fixture, "undo", id).status == 200)
    }

    @Test func `the report is a list, and a file of either form`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        try await fixture.service.composition.jobs.round()
        let path = "/v1/tenants/acme/jobs/\(id)/report"
        var rows: [JSONValue] = []
        var query = "?limit=40"
        while true {
            let page = try await fixture.service.send(.get, path + query, as: fixture.owner)
            #expect(page.json["total"]?["value"] == .int(101), "\(page.text)")
            rows += (page.json["items"]?.array ?? []).compactMap { $0["row"] }
            guard let next = page.json["next_cursor"]?.string else { break }
            query = "?limit=40&cursor=\(next)"
        }
        #expect(rows == (1...101).map { .int($0) })
        let csv = try await fixture.service.send(
            .get, path, as: fixture.owner, fields: [Field("accept", "text/csv")])
        let lines = csv.text.split(whereSeparator: \.isNewline)
        #expect(
            lines.count == 102
                && lines[0] == "row,status,code,detail,target_type,target_id,conflicting_id")
        #expect(lines[1].hasPrefix("1,done,,,user,"))
        let ndjson = try await fixture.service.send(
            .get, path + "?status=done", as: fixture.owner,
            fields: [Field("accept", "application/x-ndjson")])
        #expect(ndjson.text.split(separator: "\n").count == 101)
    }

    @Test func `the events of a job that has ended are its end`() async throws {
        let fixture = try await BulkFixture.make()
        let id = try await job(fixture)
        try await fixture.service.composition.jobs.round()
        let answer = try await fixture.service.send(
            .get, "/v1/tenants/acme/jobs/\(id)/events", as: fixture.owner)
        #expect(answer.first("content-type") == "text/event-stream")
        #expect(answer.text.contains("event: end\ndata: {"), "\(answer.text)")
        #expect(answer.text.hasSuffix("\n\n"))
    }
}
