import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// What was kept or begun before a merge names the winner after it.
@Suite(.serialized, .cleansUp) struct MergedReplayTests {
    private static let key = [Field("idempotency-key", "once")]

    private func id(_ answer: TestAnswer) throws -> String {
        try #require(answer.json["id"]?.string, "\(answer.text)")
    }

    private func merge(
        _ fixture: UserFixture, winner: String, loser: String
    ) async throws -> String {
        try id(try await fixture.merge(winner: winner, loser: loser))
    }

    @Test func `the retried creation of a loser answers with the winner, until the undo`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let (ada, bob) = (
            try await fixture.make("ada@example.com", name: "Ada"),
            try await fixture.make("bob@example.com")
        )
        func create() async throws -> TestAnswer {
            try await fixture.send(
                .post, "", json: #"{"email":"eve@example.com","role":"manager"}"#, fields: Self.key)
        }
        let first = try await create()
        let eve = try id(first)
        let merge = try await merge(fixture, winner: ada, loser: eve)
        let later = try await self.merge(fixture, winner: bob, loser: ada)
        let last = try await create()
        #expect(last.status == 201 && last.json["id"]?.string == bob, "\(last.text)")
        #expect(try await fixture.send(.post, "/merges/\(later)/undo").status == 200)
        let retried = try await create()
        let now = try await fixture.send(.get, "/\(ada)")
        #expect(retried.status == 201 && retried.bytes == now.bytes, "\(retried.text)")
        #expect(retried.json["merged_ids"] == .array([.string(eve)]))
        #expect(retried.first("idempotent-replayed") == "true")
        #expect(retried.first("etag") == now.first("etag"))
        for name in ["location", "content-location"] {
            #expect(
                retried.first(name) == "/v1/tenants/\(fixture.tenant.id)/users/\(ada)", "\(name)")
        }
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        let undone = try await create()
        #expect(undone.bytes == first.bytes && undone.first("location")?.hasSuffix(eve) == true)
        #expect(undone.first("content-location") == nil)
    }

    @Test func `a retry about a loser is a conflict for who may not read users`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        let writer = try await fixture.service.makeKey(#""users:write""#)
        func create() async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/tenants/acme/users", json: #"{"email":"eve@example.com"}"#,
                as: writer.credential, fields: Self.key)
        }
        let eve = try id(try await create())
        let unreadable = try await fixture.service.send(
            .get, "/v1/tenants/acme/users/\(eve)", as: writer.credential)
        #expect(unreadable.status == 403)
        _ = try await merge(fixture, winner: ada, loser: eve)
        let retried = try await create()
        #expect(retried.status == 409, "\(retried.text)")
        #expect(retried.json["conflicting_id"]?.string == ada)
    }

    @Test func `a retried action on a loser answers with the winner`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        let eve = try await fixture.make("eve@example.com")
        func suspend() async throws -> TestAnswer {
            try await fixture.send(.post, "/\(eve)/suspend", json: "{}", fields: Self.key)
        }
        #expect(try await suspend().json["status"]?.string == "suspended")
        #expect(try await fixture.send(.post, "/\(eve)/resume").status == 200)
        _ = try await merge(fixture, winner: ada, loser: eve)
        let retried = try await suspend()
        #expect(retried.status == 200 && retried.json["id"]?.string == ada, "\(retried.text)")
        #expect(retried.json["status"]?.string == "pending")
    }

    @Test func `a retried key of a loser is the winner's, with its secret`() async throws {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        func create() async throws -> TestAnswer {
            try await fixture.service.send(
                .post, "/v1/tenants/acme/api-keys",
                json: #"""
                    {"name":"\#(eve)","scopes":["smtp"],"owner":{"type":"user","id":"\#(eve)"}}
                    """#, as: .platformOwner, fields: Self.key)
        }
        let first = try await create()
        #expect(first.status == 201, "\(first.text)")
        _ = try await merge(fixture, winner: ada, loser: eve)
        let retried = try await create()
        #expect(retried.status == 201, "\(retried.text)")
        #expect(retried.json["owner"]?["id"]?.string == ada)
        // A name is no id.
        for name in ["key", "id", "name"] {
            #expect(retried.json[name] == first.json[name] && retried.json[name] != nil, "\(name)")
        }
    }

    @Test func `a kept conflict with a loser names the winner`() async throws {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        func create() async throws -> String? {
            let answer = try await fixture.send(
                .post, "", json: #"{"email":"eve@example.com"}"#, fields: Self.key)
            #expect(answer.status == 409, "\(answer.text)")
            return answer.json["conflicting_id"]?.string
        }
        #expect(try await create() == eve)
        _ = try await merge(fixture, winner: ada, loser: eve)
        #expect(try await create() == ada)
    }

    @Test func `a retried merge still names its loser`() async throws {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        var answers: [TestAnswer] = []
        for _ in 0..<2 {
            answers.append(
                try await fixture.send(
                    .post, "/merges", json: #"{"winner":"\#(ada)","loser":"\#(eve)"}"#,
                    fields: Self.key))
        }
        #expect(answers[0].status == 201 && answers[0].bytes == answers[1].bytes)
        #expect(answers[1].json["loser"]?.string == eve)
    }

    /// A cursor is a place in the order: the loser's stays where it was, so that no other user is
    /// left out or comes twice.
    @Test(arguments: ["email", "-email", "created_at", "-created_at"])
    func `a list continues after a user who was merged in between`(_ sort: String) async throws {
        let fixture = try await UserFixture.make()
        let names = ["ada", "bob", "cid", "dan", "eve"]
        var ids: [String] = []
        for name in names { ids.append(try await fixture.make("\(name)@example.com")) }
        if sort.hasPrefix("-") { ids.reverse() }
        let page = try await fixture.send(.get, "?sort=\(sort)&limit=2")
        let cursor = try #require(page.json["next_cursor"]?.string, "\(page.text)")
        #expect(page.json["items"]?.array?.last?["id"]?.string == ids[1])
        // The second, whom the cursor names, becomes the last.
        let merge = try await merge(fixture, winner: ids[4], loser: ids[1])
        func rest() async throws -> [String] {
            let next = try await fixture.send(.get, "?sort=\(sort)&limit=5&cursor=\(cursor)")
            #expect(next.status == 200, "\(next.text)")
            return (next.json["items"]?.array ?? []).compactMap { $0["id"]?.string }
        }
        #expect(try await rest() == Array(ids[2...]))
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
        #expect(try await rest() == Array(ids[2...]))
    }

    @Test func `a cursor of a list about the loser continues at the winner`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        var keys: Set<String> = []
        for _ in 0..<3 {
            keys.insert(
                try await fixture.service.makeKey(
                    #""smtp""#, #","owner":{"type":"user","id":"\#(eve)"}"#
                ).id)
        }
        func page(_ more: String) async throws -> (ids: [String], next: String?) {
            let answer = try await fixture.service.send(
                .get, "/v1/tenants/acme/api-keys?owner_user_id=\(eve)&limit=2\(more)",
                as: .platformOwner)
            #expect(answer.status == 200, "\(answer.text)")
            return (
                (answer.json["items"]?.array ?? []).compactMap { $0["id"]?.string },
                answer.json["next_cursor"]?.string
            )
        }
        let first = try await page("")
        let cursor = try #require(first.next)
        _ = try await merge(fixture, winner: ada, loser: eve)
        let second = try await page("&cursor=\(cursor)")
        #expect(Set(first.ids + second.ids) == keys && second.ids.count == 1)
    }
}
