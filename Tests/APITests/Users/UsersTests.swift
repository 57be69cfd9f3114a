import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

@Suite(.serialized, .cleansUp) struct UsersTests {
    @Test func `an operator makes a user who waits for the first sign-in`() async throws {
        let fixture = try await UserFixture.make()
        let answer = try await fixture.send(
            .post, "", json: #"{"email":"Ada@Example.com","name":"Ada","role":"manager"}"#)
        #expect(answer.status == 201)
        #expect(answer.json["email"]?.string == "Ada@Example.com")
        #expect(answer.json["status"]?.string == "pending")
        #expect(answer.json["source"]?.string == "operator")
        #expect(answer.json["role"]?.string == "manager")
        #expect(answer.json["identities"] == .array([]))
        let id = try #require(answer.json["id"]?.string)
        #expect(answer.first("location")?.hasSuffix("/users/\(id)") == true)
        let again = try await fixture.send(.get, "/" + id)
        #expect(again.json == answer.json)
        #expect(again.first("etag") == answer.first("etag"))
        #expect(try await fixture.count("audit_events WHERE action = 'user.created'") == 1)
    }

    @Test func `an address has one user in a tenant however it is spelled`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        let answer = try await fixture.send(.post, "", json: #"{"email":"ADA@EXAMPLE.COM"}"#)
        #expect(answer.status == 409)
        #expect(answer.json["code"]?.string == "email_taken")
        #expect(answer.json["conflicting_id"]?.string == id)
    }

    private static let bad = [
        "{}", #"{"email":"ada"}"#, #"{"email":"ada@localhost"}"#, #"{"email":"a b@example.com"}"#,
        #"{"email":"ada@example.com","role":"owner"}"#, #"{"email":"ada@example.com","x":1}"#,
        #"{"email":"ada@example.com","name":""}"#,
        #"{"email":"ada@example.com","status":"active"}"#,
    ]

    @Test func `a user with a bad field is refused`() async throws {
        let fixture = try await UserFixture.make()
        for json in Self.bad {
            let answer = try await fixture.send(.post, "", json: json)
            #expect(answer.status == 422, "\(json)")
            #expect(answer.json["errors"]?.array?.isEmpty == false, "\(json)")
        }
    }

    @Test func `users need a credential, and those of another tenant are out of reach`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        let other = try await fixture.service.makeTenant("other")
        let session = UUID.random()
        let paths: [(Method, String)] = [
            (.get, ""), (.post, ""), (.get, "/\(id)"), (.patch, "/\(id)"), (.delete, "/\(id)"),
            (.post, "/\(id)/suspend"), (.post, "/\(id)/resume"), (.post, "/\(id)/restore"),
            (.post, "/\(id)/approve"), (.get, "/\(id)/identities"),
            (.post, "/\(id)/identities"), (.delete, "/\(id)/identities/\(session)"),
            (.post, "/\(id)/link-grants"), (.get, "/\(id)/sessions"),
            (.delete, "/\(id)/sessions"), (.delete, "/\(id)/sessions/\(session)"),
        ]
        for (method, path) in paths {
            let nobody = try await fixture.service.send(
                method, "/v1/tenants/acme/users" + path)
            #expect(nobody.status == 401, "\(method) \(path)")
            let foreign = try await fixture.service.send(
                method, "/v1/tenants/acme/users" + path, as: .tenantAdmin(other))
            #expect(foreign.status == 404, "\(method) \(path)")
            guard !path.isEmpty else { continue }
            let strange = try await fixture.service.send(
                method, "/v1/tenants/other/users" + path, as: .tenantAdmin(other))
            #expect(strange.status == 404, "\(method) \(path)")
        }
    }

    @Test func `a name and a role change and an address does not`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com", name: "Ada")
        let old = try await fixture.send(.get, "/" + id)
        let etag = try #require(old.first("etag"))
        let changed = try await fixture.send(
            .patch, "/" + id, json: #"{"name":"Ada L.","role":"admin"}"#,
            fields: [Field("if-match", etag)])
        #expect(changed.status == 200)
        #expect(changed.json["name"]?.string == "Ada L.")
        #expect(changed.json["role"]?.string == "admin")
        #expect(
            try await fixture.send(
                .patch, "/" + id, json: #"{"name":"B"}"#, fields: [Field("if-match", etag)]
            ).status == 412)
        #expect(
            try await fixture.send(.patch, "/" + id, json: #"{"email":"b@example.com"}"#)
                .status == 422)
        let cleared = try await fixture.send(.patch, "/" + id, json: #"{"name":null}"#)
        #expect(cleared.json["name"] == .null)
        #expect(try await fixture.emails("q=ada%20l").isEmpty)
    }

    @Test func `a suspension revokes invites, and resuming restores the earlier status`()
        async throws
    {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        try await fixture.addInvite("ada@example.com")
        let suspended = try await fixture.send(.post, "/\(id)/suspend")
        #expect(suspended.json["status"]?.string == "suspended")
        #expect(try await fixture.send(.post, "/\(id)/suspend").json == suspended.json)
        #expect(try await fixture.count("invites WHERE status = 'revoked'") == 1)
        #expect(try await fixture.count("audit_events WHERE action = 'invite.revoked'") == 1)
        let resumed = try await fixture.send(.post, "/\(id)/resume")
        #expect(resumed.json["status"]?.string == "pending")
    }

    @Test func `a deleted user leaves the list and comes back restored`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        try await fixture.addInvite("ada@example.com")
        _ = try await fixture.addSession(of: id)
        #expect(try await fixture.send(.delete, "/" + id).status == 204)
        #expect(try await fixture.count("invites WHERE status = 'pending'") == 0)
        #expect(try await fixture.count("sessions") == 0)
        #expect(try await fixture.emails("").isEmpty)
        #expect(try await fixture.emails("status=deleted") == ["ada@example.com"])
        #expect(try await fixture.send(.post, "/\(id)/suspend").status == 409)
        let newcomer = try await fixture.make("ada@example.com")
        let taken = try await fixture.send(.post, "/\(id)/restore")
        #expect(taken.status == 409)
        #expect(taken.json["conflicting_id"]?.string == newcomer)
        #expect(try await fixture.send(.delete, "/" + newcomer).status == 204)
        let restored = try await fixture.send(.post, "/\(id)/restore")
        #expect(restored.json["status"]?.string == "pending")
    }

    @Test func `a purge asks first and then nothing is left`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        let asked = try await fixture.send(.delete, "/\(id)?purge=true")
        #expect(asked.status == 409)
        #expect(asked.json["code"]?.string == "confirm_required")
        let confirm = try #require(asked.json["confirm"]?.string)
        #expect(
            try await fixture.send(.delete, "/\(id)?purge=true&confirm=no").status == 409)
        let purged = try await fixture.send(.delete, "/\(id)?purge=true&confirm=\(confirm)")
        #expect(purged.status == 204)
        #expect(try await fixture.send(.get, "/" + id).status == 404)
        #expect(try await fixture.emails("q=ada").isEmpty)
        let key = fixture.service.storage.personKey(emailKey: "ada@example.com")
        #expect(try await fixture.count("directory_tenants_of(\(key))") == 0)
    }

    @Test func `approval applies only to a user who signed up`() async throws {
        let fixture = try await UserFixture.make()
        let id = try await fixture.make("ada@example.com")
        #expect(try await fixture.send(.post, "/\(id)/approve").status == 409)
        try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) { change in
            try await change.query("UPDATE users SET source = 'approval'")
        }
        let approved = try await fixture.send(.post, "/\(id)/approve")
        #expect(approved.json["status"]?.string == "active")
    }
}

@Suite(.serialized, .cleansUp) struct UserListTests {
    @Test func `a list is paged in each order without a gap`() async throws {
        let fixture = try await UserFixture.make()
        for name in ["carol", "alice", "bob"] {
            _ = try await fixture.make("\(name)@example.com")
        }
        for sort in ["created_at", "-created_at", "email", "-email"] {
            var seen: [String] = []
            var cursor = ""
            repeat {
                let page = try await fixture.send(.get, "?limit=1&sort=\(sort)\(cursor)")
                #expect(page.json["total"]?["value"]?.int == 3)
                seen += (page.json["items"]?.array ?? []).compactMap { $0["email"]?.string }
                cursor = page.json["next_cursor"]?.string.map { "&cursor=\($0)" } ?? ""
            } while !cursor.isEmpty && seen.count < 9
            let names = seen.map { String($0.prefix { $0 != "@" }) }
            let expected =
                sort.hasSuffix("email")
                ? ["alice", "bob", "carol"] : ["carol", "alice", "bob"]
            #expect(names == (sort.hasPrefix("-") ? expected.reversed() : expected))
        }
        #expect(try await fixture.send(.get, "?sort=name").status == 422)
    }

    @Test func `a search finds any part of address and name and beginnings of words`() async throws
    {
        let fixture = try await UserFixture.make()
        _ = try await fixture.make("ada@example.com", name: "Ada Lovelace")
        _ = try await fixture.make("grace_h@navy.example", name: "Grace Hopper")
        #expect(try await fixture.emails("q=VELA") == ["ada@example.com"])
        #expect(try await fixture.emails("q=navy") == ["grace_h@navy.example"])
        #expect(try await fixture.emails("q=e_h") == ["grace_h@navy.example"])
        #expect(try await fixture.emails("q=a_a").isEmpty)
        #expect(try await fixture.emails("q=100%25").isEmpty)
        #expect(try await fixture.emails("q=ho") == ["grace_h@navy.example"])
        #expect(try await fixture.emails("q=ad") == ["ada@example.com"])
        #expect(try await fixture.emails("q=da").isEmpty)
        _ = try await fixture.make("zoe@example.com", name: "ZOË Ångström")
        #expect(try await fixture.emails("q=%C3%A5NGSTR%C3%96M") == ["zoe@example.com"])
    }

    @Test func `a list is filtered by status and role and provider`() async throws {
        let fixture = try await UserFixture.make()
        let ada = try await fixture.make("ada@example.com")
        _ = try await fixture.make("bob@example.com")
        _ = try await fixture.send(.patch, "/" + ada, json: #"{"role":"admin"}"#)
        _ = try await fixture.send(
            .post, "/\(ada)/identities",
            json: #"{"provider":"google","issuer":"https://g.example","subject":"1"}"#)
        #expect(try await fixture.emails("role=admin") == ["ada@example.com"])
        #expect(try await fixture.emails("provider=google") == ["ada@example.com"])
        #expect(try await fixture.emails("provider=github").isEmpty)
        #expect(try await fixture.emails("status=pending").count == 2)
        #expect(try await fixture.send(.get, "?status=gone").status == 422)
    }
    @Test func `a list is filtered by the last sign-in and by the creation`() async throws {
        let fixture = try await UserFixture.make()
        for name in ["ada", "bob", "cleo"] { _ = try await fixture.make("\(name)@example.com") }
        for (name, day) in [("ada", "2026-03-01"), ("bob", "2026-03-02")] {
            try await fixture.service.storage.scope(fixture.tenant.id).change(by: .system) {
                change in
                try await change.query(
                    """
                    /* test */ UPDATE users SET last_sign_in_at = \(day + "T12:00Z")::text::timestamptz,
                        created_at = \(day + "T06:00Z")::text::timestamptz
                    WHERE tenant_id = \(change.tenant) AND email = \(name + "@example.com")
                    """)
            }
        }
        let filters: [(String, [String])] = [
            ("never_signed_in=true", ["cleo"]),
            ("never_signed_in=false", ["ada", "bob", "cleo"]),
            ("last_sign_in_since=2026-03-02T00:00:00Z", ["bob"]),
            ("last_sign_in_since=2026-03-01T12:00:00Z", ["ada", "bob"]),
            ("last_sign_in_until=2026-03-01T12:00:00Z", []),
            ("last_sign_in_until=2026-03-02T12:00:00Z", ["ada"]),
            (
                "last_sign_in_since=2026-03-01T12:00:00Z&last_sign_in_until=2026-03-02T12:00:00Z",
                ["ada"]
            ),
            ("never_signed_in=true&last_sign_in_since=2020-01-01T00:00:00Z", []),
            ("never_signed_in=true&q=cl", ["cleo"]),
            ("created_since=2026-03-02T06:00:00Z", ["bob", "cleo"]),
            ("created_since=2026-03-01T06:00:00Z&created_until=2026-03-02T06:00:00Z", ["ada"]),
            ("created_until=2026-03-02T06:00:00Z&q=bo", []),
        ]
        for (filter, names) in filters {
            let emails = try await fixture.emails(filter + "&sort=email")
            #expect(emails == names.map { $0 + "@example.com" }, "\(filter)")
        }
        #expect(try await fixture.send(.get, "?last_sign_in_since=yesterday").status == 422)
        #expect(try await fixture.send(.get, "?never_signed_in=often").status == 422)
    }
}
