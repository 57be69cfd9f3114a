import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A person in all tenants: found, signed out and suspended.
@Suite(.serialized, .cleansUp) struct PeopleTests {
    @Test func `an address and an identity find the person in every tenant`() async throws {
        let fixture = try await PeopleFixture.make()
        let both = fixture.both.map { "\($0) \($1)" }
        #expect(try await fixture.found() == both)
        #expect(try await fixture.found(#"{"email":"ada.person@EX.com"}"#) == both)
        let identity =
            #"{"identity":{"provider":"google","issuer":"https://accounts.google.com","#
            + #""subject":"ada-1"}}"#
        #expect(try await fixture.found(identity) == both)
        #expect(try await fixture.found(#"{"email":"nobody@ex.com"}"#) == [])
        let answer = try await fixture.search()
        #expect(answer.first("cache-control") == "no-store")
        let first = answer.json["items"]?.array?.first
        #expect(first?["found_by"] == .array([.string("address"), .string("identity")]))
        #expect(first?["last_sign_in_at"]?.string != nil && first?["role"]?.string == "member")
        #expect(answer.json["more"] == .bool(false))
    }

    @Test func `deleted, merged and invited users and former addresses are found`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let users = "/v1/tenants/acme/users"
        let other = try await service.manage(
            .post, users, #"{"email":"ada@home.example"}"#)
        let home = try #require(other["id"]?.string)
        let merge = try await service.send(
            .post, "\(users)/merges",
            json: #"{"winner":"\#(fixture.ada["acme"] ?? "")","loser":"\#(home)"}"#,
            as: .platformOwner)
        #expect(merge.status == 201, "\(merge.text)")
        let winner = "acme \(fixture.ada["acme"] ?? "")"
        #expect(try await fixture.found(#"{"email":"ada@home.example"}"#) == [winner])
        let deleted = try await service.send(
            .delete, "/v1/tenants/beta/users/\(fixture.ada["beta"] ?? "")", as: .platformOwner)
        #expect(deleted.status == 204)
        #expect(try await fixture.found().count == 2)
        try await service.manage(
            .post, "/v1/tenants/beta/invites", #"{"email":"new@ex.com"}"#)
        let invited = try await fixture.search(#"{"email":"new@ex.com"}"#)
        let one = invited.json["items"]?.array?.first
        #expect(one?["status"]?.string == "pending", "\(invited.text)")
        #expect(one?["found_by"] == .array([.string("address"), .string("invite")]))
        let scope = service.storage.scope(
            try #require(try await service.storage.tenant("acme")).id)
        let bob = try #require(UUID(fixture.bob))
        try await scope.change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO former_addresses (tenant_id, email_key, user_id, email, expires_at)
                VALUES (\(change.tenant), 'bob@old.example', \(bob), 'bob@old.example',
                    \(change.now.adding(seconds: 600)))
                """)
            try await change.query(
                """
                SELECT directory_add_person(
                    \(service.storage.personKey(emailKey: "bob@old.example")))
                """)
        }
        let former = try await fixture.search(#"{"email":"bob@old.example"}"#)
        #expect(former.json["items"]?.array?.first?["id"]?.string == fixture.bob)
        #expect(
            former.json["items"]?.array?.first?["found_by"] == .array([.string("former_address")]))
    }

    @Test func `a search without exactly one of address and identity is refused`() async throws {
        let fixture = try await PeopleFixture.make()
        let identity = #""identity":{"provider":"google","issuer":"i","subject":"s"}"#
        for json in ["{}", #"{"email":"a@ex.com",\#(identity)}"#, #"{"email":"nobody"}"#] {
            #expect(try await fixture.search(json).status == 422, "\(json)")
        }
        let wrong = try await fixture.search(#"{"identity":{"provider":"none"}}"#)
        #expect(wrong.json["errors"]?.array?.count == 3, "\(wrong.text)")
    }

    @Test func `sessions end and keys fail on every replica when the call returns`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let key = try await service.makeKey(
            #""users:read""#, #","owner":{"type":"user","id":"\#(fixture.ada["acme"] ?? "")"}"#)
        let replicas = [service.composition, try service.replica()]
        func status() async throws -> [Int] {
            var all: [Int] = []
            for replica in replicas {
                all.append(
                    try await service.send(.get, "/v1/me", as: key.credential, to: replica).status)
            }
            return all
        }
        #expect(try await status() == [200, 200])
        let ended = try await fixture.act("end_sessions", fixture.both)
        #expect(ended.status == 200 && ended.results == ["done", "done"], "\(ended.text)")
        let suspended = try await fixture.act("suspend", fixture.both)
        #expect(suspended.results == ["done", "done"], "\(suspended.text)")
        #expect(try await status() == [403, 403])
        for (slug, id) in fixture.both {
            let user = try await service.send(
                .get, "/v1/tenants/\(slug)/users/\(id)", as: .platformOwner)
            #expect(user.json["status"]?.string == "suspended")
            for action in ["session.ended", "user.suspended"] {
                let event = try await fixture.events(slug, action).first
                #expect(
                    event?["changes"]?["reason"] == .array([.null, .string("Request 4711")]),
                    "\(action)")
            }
        }
        // A repeat changes nothing, and says done.
        #expect(try await fixture.act("suspend", fixture.both).results == ["done", "done"])
        #expect(try await fixture.events("acme", "user.suspended").count == 1)
    }

    @Test func `each user has a result, and a failure undoes no other`() async throws {
        let fixture = try await PeopleFixture.make()
        let (acme, beta) = (fixture.ada["acme"] ?? "", fixture.ada["beta"] ?? "")
        let other = try await fixture.service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"ada@home.example"}"#)
        let loser = try #require(other["id"]?.string)
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/users/merges", #"{"winner":"\#(acme)","loser":"\#(loser)"}"#)
        let answer = try await fixture.act(
            "suspend",
            [
                ("acme", beta), ("nowhere", beta), ("acme", loser), ("beta", beta), ("beta", beta),
            ])
        #expect(answer.status == 200)
        #expect(
            answer.results == ["not_found", "not_found", "conflict", "done"], "\(answer.text)")
        #expect(answer.json["results"]?.array?[2]["conflicting_id"]?.string == acme)
        let user = try await fixture.service.send(
            .get, "/v1/tenants/beta/users/\(beta)", as: .platformOwner)
        #expect(user.json["status"]?.string == "suspended")
    }

    @Test func `a repeated Idempotency-Key gets the first answer`() async throws {
        let fixture = try await PeopleFixture.make()
        let fields = [Field("idempotency-key", "once")]
        let first = try await fixture.act("suspend", fixture.both, fields: fields)
        let again = try await fixture.act("suspend", fixture.both, fields: fields)
        #expect(again.first("idempotent-replayed") == "true" && again.text == first.text)
        let other = try await fixture.act("end_sessions", fixture.both, fields: fields)
        #expect(other.json["code"]?.string == "idempotency_mismatch")
    }

    @Test func `who acts needs the right of the action, at the platform`() async throws {
        let fixture = try await PeopleFixture.make()
        let service = fixture.service
        let acme = try #require(try await service.storage.tenant("acme"))
        let key = try await service.makeKey(
            #""users:read","users:write""#, at: "/v1/api-keys")
        var callers: [(String, TestService.Credential)] = [("key", key.credential)]
        for role in Operator.Role.allCases {
            callers.append(
                (role.rawValue, .session(try await service.session(role: role, tenant: nil))))
        }
        let allowed = [
            "suspend": ["key", "owner", "admin", "support"],
            "end_sessions": ["key", "owner", "admin", "support"],
            "export": ["owner"], "erase": ["owner"],
        ]
        for (action, names) in allowed {
            for (name, who) in callers {
                let answer = try await fixture.act(action, [("acme", fixture.bob)], as: who)
                let isAllowed = answer.status == (action == "erase" ? 409 : 200)
                #expect(isAllowed == names.contains(name), "\(action) \(name) \(answer.text)")
                if !names.contains(name) { #expect(answer.status == 403) }
            }
        }
        for who in [TestService.Credential.tenantAdmin(acme), .bearer(fixture.hook)] {
            #expect(try await fixture.search(as: who).status == 403)
            #expect(try await fixture.act("suspend", fixture.both, as: who).status == 403)
        }
    }

    @Test func `an invalid request is refused with every fault`() async throws {
        let fixture = try await PeopleFixture.make()
        let none = try await fixture.act("suspend", [])
        #expect(none.json["errors"]?.array?.first?["pointer"]?.string == "/users", "\(none.text)")
        let wrong = try await fixture.service.send(
            .post, "/v1/people/actions", json: #"{"action":"x","users":[{"tenant":"","id":"1"}]}"#,
            as: .platformOwner)
        #expect(wrong.status == 422)
        #expect(wrong.json["errors"]?.array?.count == 4, "\(wrong.text)")
        let many = (0...100).map { _ in ("acme", UUID.random().description) }
        #expect(try await fixture.act("suspend", many).status == 422)
    }
}
