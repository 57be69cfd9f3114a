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

/// Actions on many objects at once: each row in its own right.
@Suite(.cleansUp) struct BulkTests {
    @Test func `each row has its own result, and the others are done`() async throws {
        let fixture = try await BulkFixture.make()
        let (ann, bob) = (
            try await fixture.user("ann@a.example"), try await fixture.user("bob@a.example")
        )
        let nobody = UUID.random()
        let body =
            #"{"action":"suspend","ids":[\#(list([ann, nobody, bob, ann]))],"reason":"left"}"#
        let answer = try await fixture.act(body)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(
            answer.outcomes == [
                ann.description: "done", bob.description: "done",
                nobody.description: "failed not_found",
            ])
        #expect(answer.json["count"] == .int(3))
        #expect(try await fixture.count(.suspended) == 2)
        let again = try await fixture.act(body)
        #expect(again.outcomes[ann.description] == "unchanged")
        let audit = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events?action=user.suspended", as: .platformOwner)
        #expect(audit.json["items"]?.array?.count == 2)
        #expect(audit.text.contains(#""reason":[null,"left"]"#))
    }

    /// It was a syntax error of SQL, answered 500.
    @Test func `an empty list in a filter matches nothing`() async throws {
        let fixture = try await BulkFixture.make()
        _ = try await fixture.user("ann@a.example")
        for (noun, body) in [
            ("invites", #"{"action":"revoke","filter":{"delivery_status":[]}}"#),
            ("invites", #"{"action":"revoke","filter":{"status":"expired","delivery_status":[]}}"#),
            ("users", #"{"action":"suspend","filter":{"ids":[]}}"#),
        ] {
            let answer = try await fixture.service.send(
                .post, "/v1/tenants/acme/\(noun)/actions", json: body, as: .platformOwner)
            #expect([200, 422].contains(answer.status), "\(answer.text)")
            if answer.status == 200 { #expect(answer.json["count"] == .int(0), "\(body)") }
        }
        #expect(try await fixture.count(.suspended) == 0)
    }

    @Test func `nobody acts in bulk on the own row, but an admin on another admin`() async throws {
        let fixture = try await BulkFixture.make()
        let own = try await fixture.user("own@a.example", .admin)
        let peer = try await fixture.user("peer@a.example", .admin)
        let member = try await fixture.user("member@a.example")
        let key = try await fixture.key(
            ["users:write", "api-keys:write", "invites:write", "hooks:signup"], owner: own)
        for action in ["suspend", "resume", "delete", "end_sessions", "revoke_keys"] {
            let answer = try await fixture.act(
                #"{"action":"\#(action)","ids":[\#(list([own]))]}"#, as: .bearer(key.secret))
            #expect(answer.outcomes == [own.description: "failed forbidden"], "\(action)")
        }
        let role = try await fixture.act(
            #"{"action":"set_role","role":"manager","ids":[\#(list([own, peer, member]))]}"#,
            as: .bearer(key.secret))
        #expect(
            role.outcomes == [
                own.description: "failed forbidden", peer.description: "done",
                member.description: "done",
            ], "\(role.text)")
    }

    @Test func `a merged id is a conflict that names the winner`() async throws {
        let fixture = try await BulkFixture.make()
        let (ann, bob) = (
            try await fixture.user("ann@a.example"), try await fixture.user("bob@a.example")
        )
        let merge = try await fixture.base.merge(
            winner: ann.description, loser: bob.description)
        #expect(merge.status == 201, "\(merge.text)")
        for query in ["?dry_run=true", ""] {
            let answer = try await fixture.act(
                #"{"action":"suspend","ids":[\#(list([bob, ann]))]}"#, query: query)
            #expect(
                answer.outcomes == [
                    bob.description: "failed conflict", ann.description: "done",
                ], "\(answer.text)")
            let items = answer.json["items"]?.array ?? []
            #expect(items.map { $0["conflicting_id"]?.string } == [ann.description, nil])
        }
    }

    @Test func `an action needs its own right`() async throws {
        let fixture = try await BulkFixture.make()
        let user = try await fixture.user("ann@a.example")
        let support = try await fixture.service.session(
            role: .support, tenant: fixture.base.tenant.id)
        let due = [
            "suspend": 200, "end_sessions": 200, "resume": 403, "delete": 403, "approve": 403,
            "revoke_keys": 200,
        ]
        for (action, status) in due {
            let answer = try await fixture.act(
                #"{"action":"\#(action)","ids":[\#(list([user]))]}"#, query: "?dry_run=true",
                as: .session(support))
            #expect(answer.status == status, "\(action) \(answer.text)")
        }
        let narrow = try await fixture.key(["users:write"])
        let keys = try await fixture.act(
            #"{"action":"revoke_keys","ids":[\#(list([user]))]}"#, as: .bearer(narrow.secret))
        #expect(keys.status == 403, "\(keys.text)")
    }

    @Test func `each action does what the one on a single user does`() async throws {
        let fixture = try await BulkFixture.make()
        let user = try await fixture.user("ann@a.example")
        let key = try await fixture.key(["users:read"], owner: user)
        _ = try await fixture.base.addSession(of: user.description)
        func act(_ action: String, _ more: String = "") async throws -> String? {
            let answer = try await fixture.act(
                #"{"action":"\#(action)","ids":[\#(list([user]))]\#(more)}"#)
            return answer.outcomes[user.description] ?? answer.text
        }
        #expect(try await act("end_sessions") == "done")
        #expect(try await fixture.base.count("sessions WHERE user_id = \(user)") == 0)
        #expect(try await act("set_role", #","role":"manager""#) == "done")
        #expect(try await act("set_role", #","role":"manager""#) == "unchanged")
        #expect(try await act("suspend") == "done")
        #expect(try await fixture.status(user) == .suspended)
        #expect(try await act("approve") == "failed conflict")
        #expect(try await act("resume") == "done")
        #expect(try await act("resume") == "unchanged")
        #expect(try await act("revoke_keys", #","reason":"lost""#) == "done")
        #expect(try await act("revoke_keys") == "unchanged")
        let refused = try await fixture.service.send(.get, "/v1/me", as: .bearer(key.secret))
        #expect(refused.status == 401)
        #expect(try await act("delete") == "done")
        #expect(try await act("delete") == "unchanged")
        #expect(try await act("set_role", #","role":"member""#) == "failed conflict")
        #expect(try await fixture.status(user) == .deleted)
    }

    @Test func `waiting people are approved by their filter`() async throws {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(5)
        try await fixture.service.storage.scope(fixture.base.tenant.id).change(by: .system) {
            _ = try await $0.query(
                """
                /* test */ UPDATE users SET status = 'pending', source = 'approval'
                WHERE id = ANY (\(Array(users[0..<3])))
                """)
        }
        let answer = try await fixture.act(
            #"{"action":"approve","filter":{"status":"pending"},"expected":3}"#)
        #expect(answer.json["count"] == .int(3), "\(answer.text)")
        #expect(try await fixture.count(.active) == 5)
    }

    @Test func `the counted rows are acted on, and a different count is a 412`() async throws {
        let fixture = try await BulkFixture.make()
        _ = try await fixture.users(12)
        let filter = #""filter":{"status":"active","role":"member"}"#
        let shown = try await fixture.act(
            #"{"action":"suspend",\#(filter)}"#, query: "?dry_run=true")
        #expect(shown.json["count"] == .int(12))
        _ = try await fixture.user("13@acme.example")
        let stale = try await fixture.act(#"{"action":"suspend",\#(filter),"expected":12}"#)
        #expect(stale.status == 412 && stale.json["count"] == .int(13), "\(stale.text)")
        #expect(try await fixture.count(.suspended) == 0)
        let right = try await fixture.act(#"{"action":"suspend",\#(filter),"expected":13}"#)
        #expect(right.status == 200)
        #expect(try await fixture.count(.suspended) == 13)
    }

    @Test func `a dry run says row by row what would happen and writes nothing`() async throws {
        let fixture = try await BulkFixture.make()
        let users = try await fixture.users(150)
        _ = try await fixture.act(#"{"action":"suspend","ids":[\#(list([users[3]]))]}"#)
        let answer = try await fixture.act(
            #"{"action":"suspend","filter":{"role":"member"}}"#, query: "?dry_run=true")
        #expect(answer.status == 200)
        #expect(answer.outcomes.count == 150 && answer.json["count"] == .int(150))
        #expect(answer.outcomes[users[3].description] == "unchanged")
        #expect(answer.outcomes.values.count { $0 == "done" } == 149)
        #expect(try await fixture.count(.suspended) == 1)
        #expect(try await fixture.base.count("jobs WHERE true") == 0)
    }

    @Test func `a dry run counts as one for each hundred rows`() async throws {
        let fixture = try await BulkFixture.make()
        _ = try await fixture.users(250)
        let all = #"{"action":"suspend","filter":{"role":"member"}}"#
        let most = fixture.service.storage.options.limits.dryRuns / 3
        for _ in 0..<most {
            #expect(try await fixture.act(all, query: "?dry_run=true").status == 200)
        }
        let refused = try await fixture.act(all, query: "?dry_run=true")
        #expect(
            refused.status == 429 && refused.first("retry-after") != nil, "\(refused.text)"
        )
        #expect(try await fixture.act(all).status == 202, "the act itself is not counted")
    }

    @Test func `bad input names each fault`() async throws {
        let fixture = try await BulkFixture.make()
        let user = try await fixture.user("ann@a.example")
        let ids = #""ids":[\#(list([user]))]"#
        let due: [(String, String, [String])] = [
            ("users", #"{"action":"suspend"}"#, ["/ids"]),
            ("users", #"{"action":"suspend","filter":{},\#(ids)}"#, ["/ids"]),
            ("users", #"{"action":"purge",\#(ids)}"#, ["/action"]),
            ("users", #"{"action":"set_role","reason":"x",\#(ids)}"#, ["/role"]),
            ("users", #"{"action":"delete","role":"member",\#(ids)}"#, ["/role"]),
            ("users", #"{"action":"delete","filter":{"colour":"red"}}"#, ["/filter/colour"]),
            (
                "users", #"{"action":"delete","filter":{"attributes.plan":"pro"}}"#,
                ["/filter/attributes.plan"]
            ),
            ("users", #"{"action":"delete","filter":{"status":"odd"}}"#, ["/filter/status"]),
            ("invites", #"{"action":"resend",\#(ids)}"#, ["/action"]),
            ("invites", #"{"action":"revoke","filter":{"role":"member"}}"#, ["/filter/role"]),
            ("api-keys", #"{"action":"rotate",\#(ids)}"#, ["/action"]),
        ]
        for (noun, body, pointers) in due {
            let answer = try await fixture.act(body, on: noun)
            let found = (answer.json["errors"]?.array ?? []).compactMap { $0["pointer"]?.string }
            #expect(answer.status == 422 && found == pointers, "\(body) \(answer.text)")
        }
        #expect(try await fixture.status(user) == .active)
    }

    @Test func `invites are revoked together, each in its own role`() async throws {
        let fixture = try await BulkFixture.make()
        var ids: [UUID] = []
        for (email, role) in [("a", "member"), ("b", "admin"), ("c", "member")] {
            let made = try await fixture.service.manage(
                .post, "/v1/tenants/acme/invites",
                #"{"email":"\#(email)@a.example","role":"\#(role)"}"#)
            ids.append(try #require(made["id"]?.string.flatMap { UUID($0) }))
        }
        let manager = try await fixture.user("m@a.example", .manager)
        let key = try await fixture.key(["invites:write"], owner: manager)
        let answer = try await fixture.act(
            #"{"action":"revoke","ids":[\#(list(ids))]}"#, on: "invites", as: .bearer(key.secret))
        #expect(
            answer.outcomes == [
                ids[0].description: "done", ids[1].description: "failed forbidden",
                ids[2].description: "done",
            ], "\(answer.text)")
        let rest = try await fixture.act(
            #"{"action":"revoke","filter":{"status":"pending"},"expected":1}"#, on: "invites")
        #expect(rest.status == 200)
        #expect(try await fixture.base.count("invites WHERE status = 'revoked'") == 3)
    }

    @Test func `keys are revoked together, and a caller limited to own keys revokes only those`()
        async throws
    {
        let fixture = try await BulkFixture.make()
        let member = try await fixture.user("m@a.example")
        let own = try await fixture.key(["api-keys:write"], owner: member)
        let second = try await fixture.key(["users:read"], owner: member)
        let other = try await fixture.key(["users:read"])
        let ids = #""ids":["\#(second.id)","\#(other.id)"]"#
        let answer = try await fixture.act(
            #"{"action":"revoke",\#(ids)}"#, on: "api-keys", as: .bearer(own.secret))
        #expect(
            answer.outcomes == [second.id: "done", other.id: "failed forbidden"], "\(answer.text)")
        // A filter leaves what the list shows: the own ones.
        let all = try await fixture.act(
            #"{"action":"revoke","filter":{"status":"active"}}"#, on: "api-keys",
            query: "?dry_run=true", as: .bearer(own.secret))
        #expect(all.outcomes == [own.id: "done"], "\(all.text)")
        let rest = try await fixture.act(
            #"{"action":"revoke","filter":{},"reason":"leak"}"#, on: "api-keys")
        #expect(rest.outcomes[other.id] == "done" && rest.outcomes[second.id] == "unchanged")
        let refused = try await fixture.service.send(.get, "/v1/me", as: .bearer(other.secret))
        #expect(refused.status == 401)
    }
}
