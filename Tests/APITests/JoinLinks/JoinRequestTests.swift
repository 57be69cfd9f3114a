import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// People who ask to join, wait, and are answered.
@Suite(.cleansUp) struct JoinRequestTests {
    private static let day: Int64 = 86_400

    @Test func `A1 A2 a person who asks waits in one list and is informed when admitted`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        for subject in ["ann@ex.com", "another account of hers"] {
            let again = try await fixture.asks("ann@ex.com", subject: subject)
            #expect(again.json["reason"]?.string == "approval_pending", "\(again.text)")
        }
        try await fixture.base.row("op@ex.com")
        let inbox = try await fixture.send(.get, JoinFixture.users + "?awaiting_approval=true")
        #expect(inbox.json["items"]?.array?.map { $0["id"]?.string } == [id], "\(inbox.text)")
        #expect(inbox.json["total"]?["value"]?.int == 1)

        for (path, number) in [("/v1/me?tenant=acme", 1), ("/v1/me?tenant=nobody", nil)] {
            let me = try await fixture.service.send(.get, path, as: .platformOwner)
            #expect(me.json["join_requests"]?.int == number, "\(me.text)")
        }
        let own = try await fixture.service.send(
            .get, "/v1/me", as: .tenantAdmin(fixture.base.tenant))
        #expect(own.json["join_requests"]?.int == 1, "\(own.text)")
        let key = try await fixture.send(.get, "/v1/me?tenant=acme")
        #expect(key.json["join_requests"]?.isNull == true, "\(key.text)")

        let approved = try await fixture.verb("approve", id)
        #expect(approved.json["status"]?.string == "active", "\(approved.text)")
        #expect(try await fixture.verb("approve", id).status == 200)
        let mails = try await fixture.carriedMails()
        #expect(mails.map(\.to) == [["<ann@ex.com>"]])
        let text = try #require(mails.first?.parts.first)
        #expect(text.contains("let you in") && !text.contains("works once"), "\(text)")
        let known = try await fixture.asks("ann@ex.com")
        #expect(known.json["outcome"]?.string == "existing", "\(known.text)")
        let left = try await fixture.send(.get, JoinFixture.users + "?awaiting_approval=true")
        #expect(left.json["items"]?.array?.isEmpty == true)
    }

    @Test(arguments: [false, true])
    func `A2 an approval is mailed with the reason, which the audit keeps`(isBulk: Bool)
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        let word = "Come <b>in</b>."
        let approved =
            isBulk
            ? try await fixture.send(
                .post, JoinFixture.users + "/actions",
                #"{"action":"approve","ids":["\#(id)"],"reason":"\#(word)"}"#)
            : try await fixture.verb("approve", id, #"{"reason":"\#(word)"}"#)
        #expect(approved.status == 200, "\(approved.text)")
        #expect(try await fixture.verb("approve", id, #"{"reason":"Once more"}"#).status == 200)
        let mails = try await fixture.carriedMails()
        #expect(mails.map(\.to) == [["<ann@ex.com>"]])
        let parts = try #require(mails.first?.parts)
        #expect(parts[0].contains("let you in. Their message:") && parts[0].contains(word))
        #expect(parts[1].contains("Come &lt;b&gt;in&lt;/b&gt;."), "\(parts[1])")
        let events = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=user.approved")
        #expect(events.json["items"]?.array?.count == 1)
        #expect(events.text.contains(word), "\(events.text)")
        let long = String(repeating: "a", count: 501)
        let other = try await fixture.waits("bea@ex.com")
        let tooLong = try await fixture.verb("approve", other, #"{"reason":"\#(long)"}"#)
        #expect(tooLong.status == 422)
    }

    @Test func `A3 a declined person is told once, with the word, and asks again after 30 days`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        let declined = try await fixture.verb(
            "decline", id, #"{"reason":"We do not <b>know</b> you.\nSorry."}"#)
        #expect(declined.status == 200, "\(declined.text)")
        #expect(declined.json["status"]?.string == "deleted")
        let again = try await fixture.verb("decline", id, #"{"reason":"Once more"}"#)
        #expect(again.status == 200 && again.bytes == declined.bytes, "\(again.text)")
        _ = try await fixture.carriedMails()
        for _ in 0..<2 {
            let refused = try await fixture.asks("ann@ex.com")
            #expect(refused.json["reason"]?.string == "not_invited", "\(refused.text)")
            fixture.clock.advance(seconds: 15 * Self.day - 1)
        }
        let mails = try await fixture.carriedMails()
        #expect(mails.map(\.to) == [["<ann@ex.com>"]])
        let parts = try #require(mails.first?.parts)
        #expect(parts[0].contains("We do not <b>know</b> you.") && parts[0].contains("30 days"))
        #expect(parts[1].contains("We do not &lt;b&gt;know&lt;/b&gt; you.<br>Sorry."))
        let events = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=user.declined")
        #expect(events.json["items"]?.array?.count == 1)
        #expect(events.text.contains("We do not <b>know</b> you."), "\(events.text)")

        fixture.clock.advance(seconds: 2)
        #expect(try await fixture.waits("ann@ex.com") != id)
    }

    @Test func `A3 a declining may be taken back, and an invite lets the person in at once`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        #expect(try await fixture.verb("decline", id).status == 200)
        let restored = try await fixture.verb("restore", id)
        #expect(restored.json["status"]?.string == "pending", "\(restored.text)")
        let waits = try await fixture.asks("ann@ex.com")
        #expect(waits.json["reason"]?.string == "approval_pending", "\(waits.text)")
        #expect(try await fixture.verb("decline", id, "{}").status == 200)
        let token = try await fixture.send(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@ex.com"}"#)
        #expect(token.status == 201, "\(token.text)")
        let invited = try await fixture.asks("ann@ex.com")
        #expect(invited.json["outcome"]?.string == "linked", "\(invited.text)")
        #expect(invited.json["user"]?["status"]?.string == "active")
    }

    @Test func `A4 a purge of a declined person leaves nothing, and they may ask at once`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        _ = try await fixture.verb("decline", id, #"{"reason":"Ann is not ours."}"#)
        let path = "\(JoinFixture.users)/\(id)?purge=true"
        let asked = try await fixture.service.send(.delete, path, as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let purged = try await fixture.service.send(
            .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
        #expect(purged.status == 204, "\(purged.text)")
        #expect(try await fixture.base.count("tombstones") == 0)
        let events = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=user.declined")
        #expect(events.json["items"]?.array?.count == 1)
        #expect(!events.text.contains("ann@ex.com") && !events.text.contains("not ours"))
        #expect(try await fixture.waits("ann@ex.com") != id)
    }

    @Test
    func `a reason is plain text of at most 500 characters, and only waiting people are declined`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let id = try await fixture.waits("ann@ex.com")
        let long = String(repeating: "é", count: 501)
        for json in [#"{"reason":"\#(long)"}"#, #"{"reason":1}"#, #"{"word":"x"}"#] {
            #expect(try await fixture.verb("decline", id, json).status == 422, "\(json.prefix(30))")
        }
        #expect(
            try await fixture.verb("decline", id, #"{"reason":"\#(long.dropLast())"}"#).status
                == 200)
        let pending = try await fixture.base.row("op@ex.com")
        for verb in ["approve", "decline"] {
            let answer = try await fixture.verb(verb, "\(pending)")
            #expect(answer.status == 409, "\(answer.text)")
            #expect(answer.json["detail"]?.string == "The user is not waiting for approval.")
        }
        #expect(try await fixture.verb("approve", id).status == 409)
        #expect(try await fixture.verb("decline", "\(UUID.random())").status == 404)
    }

    @Test func `A5 the 1,001st person who asks is rate limited until somebody is answered`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        try await fixture.fill(999)
        let id = try await fixture.waits("ann@ex.com")
        let over = try await fixture.asks("bob@ex.com")
        #expect(over.json["reason"]?.string == "rate_limited", "\(over.text)")
        #expect(over.json["user"]?.isNull != false)
        let own = try await fixture.asks("ann@ex.com")
        #expect(own.json["reason"]?.string == "approval_pending", "\(own.text)")
        #expect(try await fixture.verb("decline", id).status == 200)
        _ = try await fixture.waits("bob@ex.com")
    }

    @Test func `A5 of many people who ask at once for the last place, one gets it`() async throws {
        let fixture = try await JoinFixture.make()
        try await fixture.fill(999)
        let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            for number in 0..<16 {
                group.addTask { try await fixture.asks("p\(number)@ex.com") }
            }
            var answers: [TestAnswer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        let created = answers.filter { $0.json["outcome"]?.string == "created" }
        #expect(created.count == 1, "\(answers.map(\.text))")
        #expect(answers.filter { $0.json["reason"]?.string == "rate_limited" }.count == 15)
        #expect(try await fixture.base.count("users WHERE status = 'pending'") == 1000)
    }

    @Test func `A2 two concurrent sign-ins of one person create one waiting row`() async throws {
        let fixture = try await JoinFixture.make()
        let answers = try await withThrowingTaskGroup(of: TestAnswer.self) { group in
            for number in 0..<12 {
                group.addTask { try await fixture.asks("ann@ex.com", subject: "s\(number % 3)") }
            }
            var answers: [TestAnswer] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        #expect(answers.filter { $0.json["outcome"]?.string == "created" }.count == 1)
        #expect(answers.filter { $0.json["reason"]?.string == "approval_pending" }.count == 11)
        #expect(try await fixture.base.count("users") == 1)
        #expect(try await fixture.base.count("identities") == 1)
    }

    @Test func `an approval against a declining: one of them wins, the other is a conflict`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        for number in 0..<8 {
            let id = try await fixture.waits("p\(number)@ex.com")
            async let approve = fixture.verb("approve", id)
            async let decline = fixture.verb("decline", id)
            let answers = try await [approve, decline]
            #expect(answers.map(\.status).sorted() == [200, 409], "\(answers.map(\.text))")
            let user = try await fixture.send(.get, "\(JoinFixture.users)/\(id)")
            let isApproved = answers[0].status == 200
            #expect(user.json["status"]?.string == (isApproved ? "active" : "deleted"))
        }
        let told = try await fixture.carriedMails()
        #expect(told.count == 8)
    }

    @Test func `A6 a dead invite stands in nobody's way`() async throws {
        let fixture = try await JoinFixture.make()
        for (email, ending) in [
            ("ann@ex.com", "expires_at = created_at"), ("bob@ex.com", "status = 'revoked'"),
        ] {
            try await fixture.base.invite(email)
            try await fixture.service.storage.scope(fixture.base.tenant.id).change(by: .system) {
                try await $0.query("/* test */ UPDATE invites SET \(raw: ending)")
            }
            let id = try await fixture.waits(email)
            let approved = try await fixture.verb("approve", id)
            #expect(approved.json["status"]?.string == "active", "\(approved.text)")
            let known = try await fixture.asks(email)
            #expect(known.json["outcome"]?.string == "existing", "\(known.text)")
        }
        // Invited while waiting; the invite ends before anybody answers.
        let id = try await fixture.waits("cid@ex.com")
        let invite = try await fixture.send(
            .post, "/v1/tenants/acme/invites",
            #"{"email":"cid@ex.com","expires_at":"\#(fixture.clock.now.adding(seconds: 600))"}"#)
        #expect(invite.status == 201, "\(invite.text)")
        fixture.clock.advance(seconds: 601)
        let waits = try await fixture.asks("cid@ex.com")
        #expect(waits.json["reason"]?.string == "approval_pending", "\(waits.text)")
        #expect(try await fixture.verb("approve", id).json["status"]?.string == "active")
    }
}
