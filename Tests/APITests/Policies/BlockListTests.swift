import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A tenant's block list, and the quotas of its invites.
@Suite(.cleansUp) struct BlockListTests {
    private static let invites = "/v1/tenants/acme/invites"

    private static func invite(
        _ fixture: JoinFixture, _ email: String, more: String = #","delivery":"link""#
    ) async throws -> TestAnswer {
        try await fixture.send(.post, invites, #"{"email":"\#(email)"\#(more)}"#)
    }

    @Test func `A7 a blocked person is refused by the rule, and the trace names the list`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let published = try await fixture.publish(
            #"{"sign_up":"open","block_disposable":true,"blocked_domains":["Bad.Example"],"#
                + #""blocked_emails":["Eve@EX.com","eve@ex.com"]}"#)
        #expect(published.status == 200, "\(published.text)")
        #expect(
            published.json["blocked_emails"]?.array?.map(\.string) == ["eve@ex.com"],
            "\(published.text)")
        #expect(published.json["blocked_domains"]?.array?.map(\.string) == ["bad.example"])
        for (email, member) in [
            ("eve@ex.com", "blocked_emails"), ("ann@x.bad.example", "blocked_domains"),
            ("ann@mailinator.com", "block_disposable"),
        ] {
            let refused = try await fixture.asks(email)
            #expect(refused.json["outcome"]?.string == "refused", "\(refused.text)")
            #expect(refused.json["reason"]?.string == "email_blocked", "\(refused.text)")
            let tried = try await fixture.service.send(
                .post, "/v1/provisioning/evaluate",
                json: #"{"provider":"google","subject":"1","email":"\#(email)","#
                    + #""email_verified":true,"tenant":"acme"}"#, as: .platformOwner)
            let step = tried.json["trace"]?.array?.last { $0["rule"]?.string == "block_list" }
            #expect(step?["detail"]?.string == member, "\(tried.text)")
            #expect(tried.json["would_admit"]?.array?.isEmpty == true, "\(tried.text)")
        }
        let other = try await fixture.asks("ann@ex.com")
        #expect(other.json["outcome"]?.string == "created", "\(other.text)")
    }

    @Test func `A8 a blocked address is not invited, an operator's row lets the person in`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        let before = try await Self.invite(fixture, "old@bad.example")
        #expect(before.status == 201, "\(before.text)")
        _ = try await fixture.publish(
            #"{"sign_up":"open","blocked_domains":["bad.example"]}"#)
        let refused = try await Self.invite(fixture, "eve@bad.example")
        #expect(refused.status == 422, "\(refused.text)")
        let fault = refused.json["errors"]?.array?.first
        #expect(fault?["pointer"]?.string == "/email", "\(refused.text)")
        #expect(fault?["detail"]?.string == "is blocked by the policy's blocked_domains")
        let list = try await fixture.send(
            .post, Self.invites,
            #"{"invites":[{"email":"a@ex.com","delivery":"link"},"#
                + #"{"email":"b@bad.example","delivery":"link"}]}"#)
        let results = list.json["results"]?.array ?? []
        #expect(results.map { $0["result"]?.string } == ["created", "refused"], "\(list.text)")
        // The invite of before is still good; so is a row that an operator makes.
        let old = try await fixture.asks("old@bad.example")
        #expect(old.json["outcome"]?.string == "linked", "\(old.text)")
        let made = try await fixture.send(
            .post, JoinFixture.users, #"{"email":"new@bad.example"}"#)
        #expect(made.status == 201, "\(made.text)")
        let new = try await fixture.asks("new@bad.example")
        #expect(new.json["outcome"]?.string == "linked", "\(new.text)")
    }

    @Test func `the log holds no blocked address, and a purge takes it off every version`()
        async throws
    {
        let fixture = try await JoinFixture.make(policy: #"{"sign_up":"open"}"#)
        let made = try await fixture.asks("eve@ex.com")
        let id = made.json["user"]?["id"]?.string ?? ""
        for emails in [#"["eve@ex.com"]"#, #"["eve@ex.com","bob@ex.com"]"#, #"["bob@ex.com"]"#] {
            let answer = try await fixture.publish(
                #"{"sign_up":"open","blocked_emails":\#(emails)}"#)
            #expect(answer.status == 200, "\(answer.text)")
        }
        let swapped = try await fixture.publish(
            #"{"sign_up":"open","blocked_emails":["cid@ex.com"]}"#)
        #expect(swapped.status == 200)
        let events = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=policy.updated&sort=occurred_at")
        #expect(!events.text.contains("@ex.com"), "\(events.text)")
        #expect(events.text.contains("1 other address"), "\(events.text)")
        let other = try await fixture.service.makeTenant("other")
        await #expect(throws: PostgresError.self) {
            try await fixture.service.storage.scope(other.id).change(by: .system) { change in
                let acme = fixture.base.tenant.id
                _ = try await change.query("SELECT policies_redact(\(acme), \(["bob@ex.com"]))")
            }
        }
        let path = "\(JoinFixture.users)/\(id)?purge=true"
        let asked = try await fixture.service.send(.delete, path, as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let purged = try await fixture.service.send(
            .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
        #expect(purged.status == 204, "\(purged.text)")
        let versions = try await fixture.send(.get, "/v1/tenants/acme/policy/versions")
        #expect(!versions.text.contains("eve@ex.com"), "\(versions.text)")
        #expect(versions.text.contains("bob@ex.com") && versions.text.contains("cid@ex.com"))
    }

    @Test func `A9 quotas name themselves, and a row of a list has its own refusal`() async throws {
        let fixture = try await JoinFixture.make()
        func names(_ range: Range<Int>) -> String {
            let rows = range.map { #"{"email":"p\#($0)@ex.com","delivery":"link"}"# }
            return #"{"invites":[\#(rows.joined(separator: ","))]}"#
        }
        _ = try await fixture.publish(#"{"invites_pending_max":3}"#)
        let list = try await fixture.send(.post, Self.invites, names(0..<5))
        let results = list.json["results"]?.array ?? []
        #expect(results.filter { $0["result"]?.string == "created" }.count == 3, "\(list.text)")
        let refused = results.filter { $0["code"]?.string == "rate_limited" }
        #expect(refused.count == 2)
        #expect(refused.first?["detail"]?.string?.contains("invites_pending_max") == true)
        let one = try await Self.invite(fixture, "more@ex.com")
        #expect(one.status == 429 && one.first("retry-after") != nil, "\(one.text)")
        #expect(one.text.contains("invites_pending_max"))
        // Whoever is invited already takes no further place.
        #expect(try await Self.invite(fixture, "p0@ex.com").status == 200)
        #expect(try await fixture.base.count("invites WHERE status = 'pending'") == 3)

        _ = try await fixture.publish(#"{"invites_per_inviter_hour":4}"#)
        #expect(try await Self.invite(fixture, "more@ex.com").status == 201)
        let hourly = try await Self.invite(fixture, "evenmore@ex.com")
        #expect(hourly.status == 429, "\(hourly.text)")
        #expect(hourly.text.contains("invites_per_inviter_hour"))
        #expect(hourly.first("retry-after") == "3600")
        // Another inviter has a quota of their own.
        let other = try await fixture.service.send(
            .post, Self.invites, json: #"{"email":"other@ex.com","delivery":"link"}"#,
            as: .platformOwner)
        #expect(other.status == 201, "\(other.text)")
        fixture.clock.advance(seconds: 3601)
        #expect(try await Self.invite(fixture, "evenmore@ex.com").status == 201)
    }

    @Test func `A9 an address gets so many mails with invites within a day, and links go on`()
        async throws
    {
        let fixture = try await JoinFixture.make()
        _ = try await fixture.publish(#"{"invites_per_recipient_day":2}"#)
        let made = try await Self.invite(fixture, "ann@ex.com", more: "")
        #expect(made.status == 201, "\(made.text)")
        let path = "\(Self.invites)/\(made.json["id"]?.string ?? "")/resend"
        #expect(try await fixture.send(.post, path).status == 200)
        let over = try await fixture.send(.post, path)
        #expect(over.status == 429 && over.text.contains("invites_per_recipient_day"))
        let again = try await Self.invite(fixture, "ann@ex.com", more: #","resend":true"#)
        #expect(again.status == 429, "\(again.text)")
        #expect(try await fixture.send(.post, path, #"{"delivery":"link"}"#).status == 200)
        #expect(try await Self.invite(fixture, "bob@ex.com", more: "").status == 201)
        fixture.clock.advance(seconds: 86_401)
        #expect(try await fixture.send(.post, path).status == 200)
    }
}
