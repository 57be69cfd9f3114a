import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Two records of one person become one, and two again.
@Suite(.serialized, .cleansUp) struct MergeTests {
    private func linked(_ fixture: UserFixture, _ email: String, _ subject: String) async throws
        -> String
    {
        let id = try await fixture.make(email)
        let answer = try await fixture.send(
            .post, "/\(id)/identities",
            json: #"{"provider":"google","issuer":"https://g.example","subject":"\#(subject)"}"#)
        #expect(answer.status == 201, "\(answer.text)")
        return id
    }

    private func subjects(_ user: JSONValue) -> [String] {
        (user["identities"]?.array ?? []).compactMap { $0["subject"]?.string }.sorted()
    }

    @Test func `the winner has the loser's sign-ins and keys until the undo`() async throws {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await linked(fixture, "ada@example.com", "a"),
            try await linked(fixture, "eve@example.com", "e")
        )
        let before = (
            try await fixture.send(.get, "/\(ada)").json,
            try await fixture.send(.get, "/\(eve)").json
        )
        let key = try await fixture.service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(eve)"}"#)
        let session = try await fixture.addSession(of: eve)
        let merge = try await fixture.merge(winner: ada, loser: eve)
        #expect(merge.status == 201, "\(merge.text)")
        #expect(merge.json["moved"]?["identities"] == .int(1))
        #expect(merge.json["moved"]?["keys"] == .int(1))
        #expect(try await fixture.emails("sort=email") == ["ada@example.com"])
        let one = try await fixture.send(.get, "/\(ada)")
        #expect(subjects(one.json) == ["a", "e"])
        #expect(one.json["merged_ids"] == .array([.string(eve)]))
        #expect(one.json["status"]?.string == "pending")
        let row = try await fixture.service.send(
            .get, "/v1/tenants/acme/api-keys/\(key.id)", as: .platformOwner)
        #expect(row.json["owner"]?["id"]?.string == ada, "\(row.text)")
        #expect(try await fixture.count("sessions WHERE id = \(session)") == 0)
        let list = try await fixture.send(.get, "/merges")
        #expect(list.json["items"] == .array([merge.json]))
        let id = try #require(merge.json["id"]?.string)
        let undone = try await fixture.send(.post, "/merges/\(id)/undo")
        #expect(undone.status == 200 && undone.json["status"]?.string == "undone", "\(undone.text)")
        let again = try await fixture.send(.post, "/merges/\(id)/undo")
        #expect(again.json == undone.json)
        for (user, old) in [(ada, before.0), (eve, before.1)] {
            let now = try await fixture.send(.get, "/\(user)").json
            for name in ["email", "status", "identities", "merged_ids", "last_sign_in_at"] {
                #expect(now[name] == old[name], "\(name)")
            }
        }
        for action in ["user.merged", "user.merge_undone"] {
            #expect(
                try await fixture.count("audit_events WHERE action = \(action)") == 2)
        }
    }

    @Test func `a dry run says what would move and writes nothing`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await linked(fixture, "ada@example.com", "a")
        let eve = try await linked(fixture, "eve@example.com", "e")
        let tried = try await fixture.merge(winner: ada, loser: eve, query: "?dry_run=true")
        #expect(tried.status == 200 && tried.json["moved"]?["identities"] == .int(1))
        #expect(try await fixture.count("user_merges") == 0)
        #expect(try await fixture.send(.get, "/\(eve)").json["id"]?.string == eve)
    }

    @Test func `a merge that cannot be is refused with the reason`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        let eve = try await fixture.make("eve@example.com")
        #expect(try await fixture.merge(winner: ada, loser: ada).status == 422)
        let nobody = try await fixture.merge(winner: ada, loser: UUID.random().description)
        #expect(nobody.status == 404)
        #expect(try await fixture.send(.post, "/\(eve)/suspend").status == 200)
        let suspended = try await fixture.merge(winner: ada, loser: eve)
        #expect(suspended.status == 409 && suspended.json["conflicting_id"]?.string == eve)
        #expect(try await fixture.send(.post, "/\(eve)/resume").status == 200)
        #expect(try await fixture.merge(winner: ada, loser: eve).status == 201)
        let bob = try await fixture.make("bob@example.com")
        let merged = try await fixture.merge(winner: bob, loser: eve)
        #expect(merged.status == 409 && merged.json["conflicting_id"]?.string == ada)
    }

    @Test func `a sign-up that nobody proved does not become the winner of an active user`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let trap = try await fixture.make("ada@example.com")
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query(
                "UPDATE users SET password_hash = 'x', source = 'sign_up' WHERE tenant_id = \(change.tenant)"
            )
        }
        let real = try await fixture.service.makeUser(
            "ada@work.example", name: "Ada", password: "correct horse battery", in: fixture.tenant)
        let refused = try await fixture.merge(winner: trap, loser: real.id.description)
        #expect(refused.status == 409 && refused.json["conflicting_id"]?.string == trap)
        let right = try await fixture.merge(winner: real.id.description, loser: trap)
        #expect(right.status == 201, "\(right.text)")
    }

    @Test func `a losing id is read as the winner's everywhere`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await linked(fixture, "ada@example.com", "a")
        let eve = try await linked(fixture, "eve@example.com", "e")
        _ = try await fixture.merge(winner: ada, loser: eve)
        let got = try await fixture.send(.get, "/\(eve)")
        #expect(got.status == 200 && got.json["id"]?.string == ada)
        #expect(got.first("content-location") == "/v1/tenants/acme/users/\(ada)")
        let identities = try await fixture.send(.get, "/\(eve)/identities")
        #expect(identities.json["items"]?.array?.count == 2, "\(identities.text)")
        for (method, path) in [
            (Method.delete, ""), (.post, "/suspend"), (.post, "/link-grants"), (.patch, ""),
            (.delete, "/sessions"),
        ] {
            let answer = try await fixture.send(
                method, "/\(eve)\(path)", json: method == .patch ? #"{"name":"E"}"# : nil)
            #expect(answer.status == 409, "\(method) \(path) \(answer.text)")
            #expect(answer.json["conflicting_id"]?.string == ada, "\(method) \(path)")
        }
        #expect(try await fixture.emails("ids=\(eve)") == ["ada@example.com"])
        let key = try await fixture.service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(eve)"}"#)
        let keys = try await fixture.service.send(
            .get, "/v1/tenants/acme/api-keys?owner_user_id=\(eve)", as: .platformOwner)
        #expect(keys.json["items"]?.array?.map { $0["id"]?.string } == [key.id])
        #expect(keys.json["items"]?.array?.first?["owner"]?["id"]?.string == ada)
        let found = try await fixture.service.send(
            .get, "/v1/search?q=\(eve)", as: .tenantAdmin(fixture.tenant))
        #expect(found.json["items"]?.array?.first?["id"]?.string == ada, "\(found.text)")
        let events = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?target=\(ada)&action=user.created",
            as: .platformOwner)
        #expect(events.json["items"]?.array?.count == 2, "\(events.text)")
        let made = try await fixture.send(.post, "", json: #"{"email":"eve@example.com"}"#)
        #expect(made.status == 409 && made.json["code"]?.string == "email_taken")
        #expect(made.json["conflicting_id"]?.string == ada)
        let other = try await fixture.service.makeTenant("other")
        let foreign = try await fixture.service.send(
            .get, "/v1/tenants/other/users/\(eve)", as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }

    @Test func `an undo that would lose something names it`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await linked(fixture, "ada@example.com", "a")
        let eve = try await linked(fixture, "eve@example.com", "e")
        let bob = try await fixture.make("bob@example.com")
        let key = try await fixture.service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(eve)"}"#)
        let first = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        let second = try await fixture.merge(winner: bob, loser: ada).json["id"]?.string ?? ""
        let user = try await fixture.send(.get, "/\(eve)")
        #expect(user.json["id"]?.string == bob)
        let early = try await fixture.send(.post, "/merges/\(first)/undo")
        #expect(early.status == 409 && early.json["code"]?.string == "undo_conflict")
        #expect(early.json["conflicts"]?.array?.first?["pointer"]?.string == "/winner")
        #expect(try await fixture.send(.post, "/merges/\(second)/undo").status == 200)
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/api-keys/\(key.id)/revoke", "{}")
        let identity = try await fixture.send(.get, "/\(ada)").json["identities"]?.array?
            .first { $0["subject"]?.string == "e" }?["id"]?.string
        let gone = try #require(identity)
        #expect(try await fixture.send(.delete, "/\(ada)/identities/\(gone)").status == 204)
        let late = try await fixture.send(.post, "/merges/\(first)/undo")
        let pointers = late.json["conflicts"]?.array?.compactMap { $0["pointer"]?.string } ?? []
        #expect(
            pointers.sorted() == ["/moved/identities/\(gone)", "/moved/keys/\(key.id)"],
            "\(late.text)")
    }

    @Test func `the later merge is undone first`() async throws {
        let fixture = try await UserFixture.make()
        var users: [String] = []
        for name in ["ada", "bob", "eve"] {
            users.append(try await fixture.make("\(name)@example.com"))
        }
        let first = try await fixture.merge(winner: users[0], loser: users[1]).json["id"]?.string
        let second = try await fixture.merge(winner: users[0], loser: users[2]).json["id"]?.string
        let early = try await fixture.send(.post, "/merges/\(first ?? "")/undo")
        #expect(early.json["code"]?.string == "undo_conflict", "\(early.text)")
        for merge in [second, first] {
            #expect(try await fixture.send(.post, "/merges/\(merge ?? "")/undo").status == 200)
        }
        #expect(try await fixture.emails("").count == 3)
    }

    @Test func `after 30 days a merge stays`() async throws {
        let clock = TestClock()
        let fixture = try await UserFixture.make(clock: clock)
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        let key = try await fixture.service.makeKey(#""users:write""#)
        clock.advance(seconds: 30 * 86_400)
        let late = try await fixture.service.send(
            .post, "/v1/tenants/acme/users/merges/\(merge)/undo", as: key.credential)
        #expect(
            late.json["conflicts"]?.array?.first?["pointer"]?.string == "/undo_until",
            "\(late.text)")
    }

    @Test func `the winner may take the loser's external id, and then the undo is refused`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        _ = try await fixture.send(.patch, "/\(eve)", json: #"{"external_id":"crm-1"}"#)
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        let taken = try await fixture.send(.patch, "/\(ada)", json: #"{"external_id":"crm-1"}"#)
        #expect(taken.status == 200, "\(taken.text)")
        let refused = try await fixture.send(.post, "/merges/\(merge)/undo")
        #expect(
            refused.json["conflicts"]?.array?.first?["pointer"]?.string == "/loser/external_id")
        _ = try await fixture.send(.patch, "/\(ada)", json: #"{"external_id":null}"#)
        #expect(try await fixture.send(.post, "/merges/\(merge)/undo").status == 200)
    }

    @Test func `the purge of a tenant removes hidden rows too`() async throws {
        let fixture = try await UserFixture.make()
        let (ada, eve) = (
            try await fixture.make("ada@example.com"), try await fixture.make("eve@example.com")
        )
        #expect(try await fixture.merge(winner: ada, loser: eve).status == 201)
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        _ = try await administrator.read("UPDATE tenants SET status = 'deleted' RETURNING 1")
        _ = try await fixture.service.storage.scope(fixture.tenant.id).write(
            "SELECT tenant_table_remove(\(fixture.tenant.id), 'users', 1000)")
        let left = try await administrator.read("SELECT count(*) FROM users")
        #expect(try left.first?.get(0) == 0)
    }

    @Test func `a purge of the winner purges the loser`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await linked(fixture, "ada@example.com", "a")
        let eve = try await linked(fixture, "eve@example.com", "e")
        let merge = try await fixture.merge(winner: ada, loser: eve).json["id"]?.string ?? ""
        let asked = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(ada)?purge=true", as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string)
        let purged = try await fixture.service.send(
            .delete, "/v1/tenants/acme/users/\(ada)?purge=true&confirm=\(confirm)",
            as: .platformOwner)
        #expect(purged.status == 204, "\(purged.text)")
        let administrator = fixture.service.database.client(
            as: fixture.service.database.administrator)
        for table in ["users", "merged_users", "former_addresses", "identities"] as [SQL] {
            let rows = try await administrator.read("SELECT count(*) FROM \(table)")
            #expect(try rows.first?.get(0) == 0, "\(table)")
        }
        #expect(try await fixture.send(.get, "/\(eve)").status == 404)
        let undo = try await fixture.send(.post, "/merges/\(merge)/undo")
        #expect(undo.json["conflicts"]?.array?.first?["pointer"]?.string == "/winner")
    }
}

extension UserFixture {
    func merge(
        winner: String, loser: String, query: String = ""
    ) async throws -> TestAnswer {
        try await send(
            .post, "/merges\(query)", json: #"{"winner":"\#(winner)","loser":"\#(loser)"}"#)
    }
}
