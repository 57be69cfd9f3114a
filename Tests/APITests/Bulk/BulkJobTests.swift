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

/// Actions on more than 100 rows: jobs, and their undo.
@Suite(.cleansUp) struct BulkJobTests {
    @Test func `more than 100 rows are a job, and its undo leaves what has changed`()
        async throws
    {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(120)
        let key = try await fixture.key(["users:read"], owner: users[7])
        let begun = try await fixture.act(
            #"{"action":"suspend","filter":{"role":"member"},"expected":120,"reason":"x"}"#)
        #expect(begun.status == 202 && begun.json["status"]?.string == "queued", "\(begun.text)")
        let job = try await fixture.finish(begun)
        #expect(job.json["status"]?.string == "done", "\(job.text)")
        #expect(job.json["progress"]?["done"] == .int(120))
        #expect(try await fixture.count(.suspended) == 120)
        // Every replica refuses what the job has counted as done.
        let replica = try fixture.service.replica()
        let refused = try await fixture.service.send(
            .get, "/v1/me", as: .bearer(key.secret), to: replica)
        #expect(refused.status == 403, "\(refused.text)")
        _ = try await fixture.act(#"{"action":"resume","ids":[\#(list([users[1]]))]}"#)
        _ = try await fixture.act(#"{"action":"delete","ids":[\#(list([users[2]]))]}"#)
        let undone = try await fixture.undo(job.json)
        #expect(undone.json["status"]?.string == "undone", "\(undone.text)")
        #expect(undone.json["undone"] == .int(118) && undone.json["kept"] == .int(2))
        #expect(try await fixture.count(.active) == 119)
        #expect(try await fixture.status(users[2]) == .deleted)
        let report = try await fixture.service.send(
            .get, "/v1/tenants/acme/jobs/\(job.json["id"]?.string ?? "")/report?status=kept",
            as: fixture.owner)
        let kept = (report.json["items"]?.array ?? []).compactMap { $0["target_id"]?.string }
        #expect(Set(kept) == [users[1].description, users[2].description])
        #expect(report.json["items"]?.array?.first?["code"]?.string == "changed")
    }

    @Test func `a deletion and a role are taken back, an end of sessions is not`() async throws {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(101)
        let all = #""ids":[\#(list(users))]"#
        let deleted = try await fixture.finish(
            try await fixture.act(#"{"action":"delete",\#(all)}"#))
        #expect(try await fixture.count(.deleted) == 101)
        let restored = try await fixture.undo(deleted.json)
        #expect(restored.json["undone"] == .int(101), "\(restored.text)")
        #expect(try await fixture.count(.active) == 101)
        let promoted = try await fixture.finish(
            try await fixture.act(#"{"action":"set_role","role":"manager",\#(all)}"#))
        #expect(try await fixture.base.count("users WHERE role = 'manager'") == 101)
        _ = try await fixture.undo(promoted.json)
        #expect(try await fixture.base.count("users WHERE role = 'member'") == 101)
        let ended = try await fixture.finish(
            try await fixture.act(#"{"action":"end_sessions",\#(all)}"#))
        #expect(ended.json["undo_until"] == .null)
        let refused = try await fixture.undo(ended.json)
        #expect(refused.status == 409 && refused.json["code"]?.string == "job_state")
    }

    @Test func `the report of a job names the winner of a merged id`() async throws {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(101)
        let begun = try await fixture.act(
            #"{"action":"suspend","ids":[\#(list(users))]}"#)
        #expect(begun.status == 202, "\(begun.text)")
        let merge = try await fixture.base.merge(
            winner: users[0].description, loser: users[1].description)
        #expect(merge.status == 201, "\(merge.text)")
        let job = try await fixture.finish(begun)
        #expect(job.json["progress"]?["failed"] == .int(1), "\(job.text)")
        let path = "/v1/tenants/acme/jobs/\(job.json["id"]?.string ?? "")/report"
        let report = try await fixture.service.send(
            .get, path + "?limit=3", as: fixture.owner)
        let items = report.json["items"]?.array ?? []
        #expect(items.map { $0["code"]?.string } == [nil, "conflict", nil], "\(report.text)")
        #expect(
            items.map { $0["conflicting_id"]?.string } == [nil, users[0].description, nil])
        #expect(items[1]["target_id"]?.string == users[1].description)
        let file = try await fixture.service.send(
            .get, path + "?status=failed", as: fixture.owner, fields: [Field("accept", "text/csv")])
        #expect(file.text.contains("\(users[1]),\(users[0])"), "\(file.text)")
    }

    @Test func `rows that the maker may not act on fail, and the others are done`() async throws {
        let fixture = try await BulkFixture.make()
        var ids = try await fixture.users(100)
        let own = try await fixture.user("own@a.example", .admin)
        ids += [own, UUID.random()]
        let key = try await fixture.key(["users:write", "users:read"], owner: own)
        let begun = try await fixture.act(
            #"{"action":"suspend","ids":[\#(list(ids))]}"#, as: .bearer(key.secret))
        #expect(begun.status == 202, "\(begun.text)")
        #expect(begun.json["created_by"]?["type"]?.string == "key")
        let job = try await fixture.finish(begun)
        #expect(job.json["progress"]?["failed"] == .int(2), "\(job.text)")
        #expect(try await fixture.status(own) == .active)
        #expect(try await fixture.count(.suspended) == 100)
    }
}
