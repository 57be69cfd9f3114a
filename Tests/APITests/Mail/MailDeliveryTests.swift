import Domain
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// What an invite tells of its mail, from a real SMTP listener and from what comes back.
@Suite(.cleansUp) struct MailDeliveryTests {
    private typealias Fixture = MailDeliveryFixture
    private static let invites = Fixture.invites

    private func actions(_ fixture: Fixture) async throws -> [String] {
        let answer = try await fixture.send(
            .get, "/v1/tenants/acme/audit-events?action=invite.")
        return (answer.json["items"]?.array ?? []).compactMap { $0["action"]?.string }
            .filter { $0.hasPrefix("invite.mail_") }
    }

    @Test func `an invite's mail is queued, then sent, with a return address of its own`()
        async throws
    {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        #expect(try await fixture.told(id) == ["sent"])
        let mail = try #require(fixture.sink.mails.first)
        #expect(mail.header("From")?.hasSuffix("<gate@mail.example>") == true)
        let path = try fixture.returnPath()
        #expect(path.utf8.count <= 64 + 1 + "mail.example".utf8.count)
        #expect(path.hasPrefix("bounce+") && path.hasSuffix("@mail.example"))
        _ = try await fixture.invite("bob@example.com")
        try await fixture.carry()
        #expect(try fixture.returnPath() != path)
        let shown = try await fixture.send(.get, "\(Self.invites)/\(id)").text
        #expect(!shown.contains("bounce+"))
    }

    @Test func `an invite by link has no state of a mail`() async throws {
        let fixture = try await Fixture.make()
        let made = try await fixture.send(
            .post, Self.invites, #"{"email":"ann@example.com","delivery":"link"}"#)
        #expect(made.json["delivery_status"] == .null && made.json["delivery_detail"] == .null)
    }

    @Test func `a refusal has the mail server's message, without control characters`()
        async throws
    {
        let fixture = try await Fixture.make()
        fixture.sink.refuse("451 4.7.1 later")
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        #expect(try await fixture.told(id) == ["queued"])
        fixture.sink.refuse("550-5.1.1 no\u{1B}[31m\r\n550 5.1.1 such user")
        try await fixture.service.storage.app.query(
            "UPDATE mail SET next_at = now() - interval '1 hour'")
        try await fixture.carry()
        #expect(
            try await fixture.told(id) == ["refused", #"550-5.1.1 no\u{1B}[31m 5.1.1 such user"#])
        #expect(try await actions(fixture) == ["invite.mail_refused"])
    }

    @Test func `a report to the return address marks the mail as bounced`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        let before = try await fixture.send(.get, "\(Self.invites)/\(id)")
        let report = Fixture.report(to: try fixture.returnPath().uppercased())
        #expect(try await fixture.result(report) == "bounced")
        #expect(try await fixture.told(id) == ["bounced", "550 5.1.1 no such user"])
        let after = try await fixture.send(.get, "\(Self.invites)/\(id)")
        #expect(after.first("etag") != before.first("etag"))
        #expect(after.json["updated_at"] == before.json["updated_at"])
        #expect(try await fixture.result(report) == "outdated")
        #expect(try await actions(fixture) == ["invite.mail_bounced"])
    }

    @Test func `a delayed mail stays sent, with the message, and may still fail`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        let path = try fixture.returnPath()
        let delay = Fixture.report(
            to: path, action: "delayed", status: "4.4.1", words: "451 greylisted")
        #expect(try await fixture.result(delay) == "delayed")
        #expect(try await fixture.told(id) == ["sent", "451 greylisted"])
        #expect(try await actions(fixture).isEmpty)
        #expect(try await fixture.result(Fixture.report(to: path)) == "bounced")
        #expect(try await fixture.told(id).first == "bounced")
        #expect(try await fixture.result(delay) == "outdated")
    }

    @Test func `a mail that comes back before its sending is noted stays told so`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        let due = try await fixture.service.storage.takeDueMail()
        let mail = try #require(due.first)
        let address = ReturnToken.address(
            try #require(mail.returnToken), at: try EmailAddress("gate@mail.example").domain)
        #expect(try await fixture.result(Fixture.report(to: address)) == "bounced")
        try await fixture.service.storage.endMail(mail, failure: nil, words: nil)
        #expect(try await fixture.told(id).first == "bounced")
    }

    @Test func `a report of an older mail never marks the newer one`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        let old = try fixture.returnPath()
        #expect(try await fixture.result(Fixture.report(to: old)) == "bounced")
        let again = try await fixture.send(.post, "\(Self.invites)/\(id)/resend", "{}")
        #expect(again.json["delivery_status"]?.string == "queued")
        #expect(again.json["delivery_detail"] == .null)
        #expect(try await fixture.result(Fixture.report(to: old)) == "outdated")
        try await fixture.carry()
        #expect(try await fixture.result(Fixture.report(to: old)) == "outdated")
        #expect(try await fixture.told(id) == ["sent"])
        #expect(
            try await fixture.result(Fixture.report(to: try fixture.returnPath())) == "bounced")
        let link = try await fixture.send(
            .post, "\(Self.invites)/\(id)/resend", #"{"delivery":"link"}"#)
        #expect(link.json["delivery_status"] == .null && link.json["delivery_detail"] == .null)
    }

    @Test func `reports about an ended invite are outdated, and its waiting mail is not sent`()
        async throws
    {
        let fixture = try await Fixture.make()
        let sent = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        let path = try fixture.returnPath()
        let waiting = try await fixture.invite("bob@example.com")
        for id in [sent, waiting] {
            let revoked = try await fixture.send(.post, "\(Self.invites)/\(id)/revoke", "{}")
            #expect(revoked.status == 200, "\(revoked.text)")
        }
        #expect(try await fixture.result(Fixture.report(to: path)) == "outdated")
        #expect(try await fixture.told(sent) == ["sent"])
        #expect(try await fixture.told(waiting) == ["none"])
    }

    @Test func `an invite of a person who was removed is not mailed`() async throws {
        let fixture = try await Fixture.make()
        let id = try await fixture.invite("ann@example.com")
        let users = try await fixture.send(.get, "/v1/tenants/acme/users?q=ann@")
        let user = try #require(users.json["items"]?.array?.first?["id"]?.string)
        let gone = try await fixture.send(.delete, "/v1/tenants/acme/users/\(user)")
        #expect(gone.status == 204, "\(gone.text)")
        try await fixture.carry()
        #expect(fixture.sink.mails.isEmpty)
        #expect(try await fixture.told(id) == ["none"])
    }

    @Test func `the list is filtered by delivery status`() async throws {
        let fixture = try await Fixture.make()
        let bounced = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        _ = try await fixture.result(Fixture.report(to: try fixture.returnPath()))
        let sent = try await fixture.invite("bob@example.com")
        try await fixture.carry()
        fixture.sink.refuse("550 5.7.1 no")
        let refused = try await fixture.invite("cid@example.com")
        try await fixture.carry()
        let queued = try await fixture.invite("dan@example.com")
        #expect(try await fixture.listed("delivery_status=refused,bounced") == [refused, bounced])
        #expect(try await fixture.listed("delivery_status=queued") == [queued])
        #expect(
            try await fixture.listed("delivery_status=sent,queued&sort=created_at") == [
                sent, queued,
            ])
        #expect(try await fixture.listed("delivery_status=bounced&status=revoked").isEmpty)
        let bad = try await fixture.send(.get, "\(Self.invites)?delivery_status=lost")
        #expect(bad.status == 422)
    }

    @Test func `all that failed are sent again by one call, and no other`() async throws {
        let fixture = try await Fixture.make()
        let bounced = try await fixture.invite("ann@example.com")
        try await fixture.carry()
        _ = try await fixture.result(Fixture.report(to: try fixture.returnPath()))
        let sent = try await fixture.invite("bob@example.com")
        try await fixture.carry()
        fixture.sink.refuse("550 5.7.1 no")
        let refused = try await fixture.invite("cid@example.com")
        try await fixture.carry()
        fixture.sink.refuse(nil)
        let before = fixture.sink.mails.count
        let answer = try await fixture.send(
            .post, "\(Self.invites)/actions",
            #"{"action":"resend","filter":{"delivery_status":["refused","bounced"]},"expected":2}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let acted = (answer.json["items"]?.array ?? []).compactMap { $0["id"]?.string }
        #expect(Set(acted) == [bounced, refused])
        #expect(try await fixture.listed("delivery_status=queued") == [refused, bounced])
        try await fixture.carry()
        #expect(
            Set(fixture.sink.mails.dropFirst(before).flatMap(\.to))
                == ["<ann@example.com>", "<cid@example.com>"])
        for id in [bounced, sent, refused] {
            #expect(try await fixture.told(id) == ["sent"])
        }
    }

    @Test func `a purge takes an address out of the words, whoever's invite they are of`()
        async throws
    {
        let fixture = try await Fixture.make()
        let user = try await fixture.send(
            .post, "/v1/tenants/acme/users", #"{"email":"Ada@example.com"}"#)
        let id = try #require(user.json["id"]?.string, "\(user.text)")
        let invite = try await fixture.invite("alias@example.com")
        try await fixture.carry()
        _ = try await fixture.result(
            Fixture.report(
                to: try fixture.returnPath(), words: "550 5.1.1 <ADA@example.com> unknown"))
        #expect(try await fixture.told(invite).count == 2)
        let path = "/v1/tenants/acme/users/\(id)?purge=true"
        let asked = try await fixture.service.send(.delete, path, as: .platformOwner)
        let confirm = try #require(asked.json["confirm"]?.string, "\(asked.text)")
        let done = try await fixture.service.send(
            .delete, "\(path)&confirm=\(confirm)", as: .platformOwner)
        #expect(done.status == 204, "\(done.text)")
        #expect(try await fixture.told(invite) == ["bounced"])
    }
}
