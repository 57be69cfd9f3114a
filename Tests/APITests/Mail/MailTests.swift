import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Mails of the product to a real SMTP listener.
@Suite(.cleansUp) struct MailTests {
    private struct Fixture {
        let service: TestService
        let sink: SMTPSink
        let log: CapturedLog

        var mails: [SMTPSink.Mail] { sink.mails }

        /// Carries all that is due, requests that turn into letters too.
        func carry() async throws {
            try await service.composition.resetAnswers.round()
            let mailSender = try #require(service.composition.mailSender)
            while try await mailSender.round() > 0 {}
        }

        func send(
            _ path: String, _ json: String, as who: TestService.Credential = .platformOwner,
            fields: [Field] = []
        ) async throws -> TestAnswer {
            try await service.send(.post, path, json: json, as: who, fields: fields)
        }

        /// The token of the link in a mail.
        func token(_ mail: SMTPSink.Mail) throws -> String {
            let text = try #require(mail.parts.first)
            let after = try #require(text.split(separator: "#token=").dropFirst().first)
            return String(after.prefix { !$0.isWhitespace })
        }
    }

    private static func make(
        clock: @escaping @Sendable () -> Timestamp = TestClock.slow()
    ) async throws -> Fixture {
        let sink = SMTPSink()
        let log = CapturedLog()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            logger: log.logger, clock: clock)
        try await service.makeTenant("acme")
        return Fixture(service: service, sink: sink, log: log)
    }

    @Test func `an invite goes by mail, and no response shows its token`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.send(
            "/v1/tenants/acme/invites",
            #"{"email":"ann@example.com","message":"Hi <b>Ann</b>\nBcc: x@y.example"}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["delivery"]?.string == "mail")
        #expect(made.json["token"] == nil)
        #expect(made.json["accept_url"] == nil)
        try await fixture.carry()
        #expect(fixture.mails.count == 1)
        let mail = try #require(fixture.mails.first)
        #expect(mail.to == ["<ann@example.com>"])
        #expect(mail.header("Subject") == "You are invited to acme")
        #expect(mail.header("Bcc") == nil)
        #expect(mail.parts[1].contains("Hi &lt;b&gt;Ann&lt;/b&gt;<br>"))
        let token = try fixture.token(mail)
        #expect(mail.parts[0].contains("http://gatehouse.test/invite#token=\(token)"))
        // A mail program may cut the link: the code stands beneath it, in both parts.
        let lines = mail.parts[0].split(whereSeparator: \.isNewline)
        let lead = try #require(lines.firstIndex(of: "If the page asks for a code, this is it:"))
        #expect(lines[lead - 1].hasSuffix("/invite#token=\(token)") && lines[lead + 1] == token)
        #expect(mail.parts[1].contains("this is it:<br><code>\(token)</code></p>"))
        let accepted = try await fixture.send(
            "/v1/invites/accept",
            #"{"token":"\#(token)","password":"correct horse battery staple"}"#, as: .anonymous)
        #expect(accepted.status == 200, "\(accepted.text)")
        #expect(!fixture.log.text.contains(token))
    }

    @Test func `the token lies nowhere in the database in clear, and goes once it is sent`()
        async throws
    {
        let fixture = try await Self.make()
        _ = try await fixture.send("/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        let app = fixture.service.storage.app
        func mail() async throws -> [UInt8]? {
            try await app.read("SELECT letter FROM mail")[0].get(0, as: [UInt8]?.self)
        }
        let sealed = try #require(try await mail())
        try await fixture.carry()
        let token = try fixture.token(try #require(fixture.mails.first))
        #expect(!String(decoding: sealed, as: UTF8.self).contains(token))
        #expect(!String(decoding: sealed, as: UTF8.self).contains("ann@"))
        #expect(try await mail() == nil)
    }

    @Test func `a resend mails a new link and drops the one that had not left`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.send(
            "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        let id = try #require(made.json["id"]?.string)
        let again = try await fixture.send("/v1/tenants/acme/invites/\(id)/resend", "{}")
        #expect(again.status == 200, "\(again.text)")
        #expect(again.json["sent_count"]?.int == 2)
        #expect(again.json["token"] == nil)
        try await fixture.carry()
        #expect(fixture.mails.count == 1)
        let link = try await fixture.send(
            "/v1/tenants/acme/invites/\(id)/resend", #"{"delivery":"link"}"#)
        #expect(link.json["token"]?.string != nil)
        #expect(link.json["delivery"]?.string == "link")
        let preview = try await fixture.send(
            "/v1/invites/preview",
            #"{"token":"\#(try fixture.token(fixture.mails[0]))"}"#, as: .anonymous)
        #expect(preview.status == 404)
    }

    @Test func `a revoked invite that waits is not mailed`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.send(
            "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        let id = try #require(made.json["id"]?.string)
        _ = try await fixture.send("/v1/tenants/acme/invites/\(id)/revoke", "{}")
        try await fixture.carry()
        #expect(fixture.mails.isEmpty)
    }

    @Test func `many replicas send each mail once`() async throws {
        let fixture = try await Self.make()
        let list = (0..<40).map { #"{"email":"p\#($0)@example.com"}"# }
            .joined(separator: ",")
        let made = try await fixture.send(
            "/v1/tenants/acme/invites", #"{"invites":[\#(list)]}"#)
        #expect(made.status == 200)
        #expect(!made.text.contains("#token="))
        let mailSender = try #require(fixture.service.composition.mailSender)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { while try await mailSender.round() > 0 {} }
            }
            try await group.waitForAll()
        }
        #expect(fixture.mails.count == 40)
        #expect(Set(fixture.mails.flatMap(\.to)).count == 40)
    }

    @Test func `a mail is tried again later, and given up where the server says never`()
        async throws
    {
        let fixture = try await Self.make()
        fixture.sink.refuse("451 4.7.1 later")
        _ = try await fixture.send("/v1/tenants/acme/invites", #"{"email":"a@example.com"}"#)
        try await fixture.carry()
        let app = fixture.service.storage.app
        func state() async throws -> (Bool, Int, String?) {
            let row = try await app.read(
                "SELECT next_at IS NOT NULL, attempts, failure FROM mail")[0]
            return (try row.get(0), try row.get(1), try row.get(2))
        }
        var (waits, attempts, failure) = try await state()
        #expect(waits)
        #expect(attempts == 1)
        #expect(failure?.contains("451 4.7.1 later") == true)
        fixture.sink.refuse("550 5.1.1 nobody")
        _ = try await app.query("UPDATE mail SET next_at = now() - interval '1 hour'")
        try await fixture.carry()
        (waits, attempts, failure) = try await state()
        #expect(!waits)
        #expect(attempts == 2)
        #expect(failure?.contains("550 5.1.1 nobody") == true)
        #expect(fixture.log.text.contains("550 5.1.1 nobody"))
        #expect(!fixture.log.text.contains("a@example.com"))
    }

    @Test func `an operator's link goes by mail and signs in once`() async throws {
        let fixture = try await Self.make()
        let made = try await fixture.send(
            "/v1/operators",
            #"{"email":"op@example.com","role":"auditor","scope":{"platform":true}}"#)
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["sign_in_url"]?.isNull == true)
        try await fixture.carry()
        let token = try fixture.token(try #require(fixture.mails.first))
        let signedIn = try await fixture.send(
            "/v1/session", #"{"token":"\#(token)"}"#, as: .anonymous)
        #expect(signedIn.status == 201, "\(signedIn.text)")
        let shown = try await fixture.send(
            "/v1/operators",
            #"{"email":"o2@example.com","role":"auditor","delivery":"link","scope":{"platform":true}}"#
        )
        #expect(shown.json["sign_in_url"]?.string != nil)
    }

    @Test func `an operator sets a new password by mail, once, and every session ends`()
        async throws
    {
        let fixture = try await Self.make()
        let session = try await fixture.service.session(role: .owner, tenant: nil)
        for email in ["nobody@example.com", "owner-platform@operators.example"] {
            let answer = try await fixture.send(
                "/v1/password-resets", #"{"email":"\#(email)"}"#, as: .anonymous)
            #expect(answer.status == 202)
            #expect(answer.bytes.isEmpty)
        }
        try await fixture.carry()
        #expect(fixture.mails.count == 1)
        let token = try fixture.token(try #require(fixture.mails.first))
        // It resets, and starts no session.
        let asLink = try await fixture.send(
            "/v1/session", #"{"token":"\#(token)"}"#, as: .anonymous)
        #expect(asLink.status == 401)
        let short = try await fixture.send(
            "/v1/password-resets/confirm", #"{"token":"\#(token)","password":"short"}"#,
            as: .anonymous)
        #expect(short.status == 422)
        let body = #"{"token":"\#(token)","password":"violet anchor meadow seventeen"}"#
        let done = try await fixture.send(
            "/v1/password-resets/confirm", body, as: .anonymous)
        #expect(done.status == 204, "\(done.text)")
        let again = try await fixture.send(
            "/v1/password-resets/confirm", body, as: .anonymous)
        #expect(again.status == 404)
        let old = try await fixture.service.send(.get, "/v1/me", as: .session(session))
        #expect(old.status == 401)
        let fresh = try await fixture.send(
            "/v1/session",
            #"{"email":"owner-platform@operators.example","#
                + #""password":"violet anchor meadow seventeen"}"#, as: .anonymous)
        #expect(fresh.status == 201, "\(fresh.text)")
        #expect(!fixture.log.text.contains(token))
    }

    @Test func `a user with a password gets a link of the tenant, others get none`() async throws {
        let fixture = try await Self.make()
        _ = try await fixture.send("/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        try await fixture.carry()
        let invite = try fixture.token(try #require(fixture.mails.first))
        _ = try await fixture.send(
            "/v1/invites/accept",
            #"{"token":"\#(invite)","password":"correct horse battery staple"}"#,
            as: .anonymous)
        _ = try await fixture.send("/v1/tenants/acme/users", #"{"email":"bob@example.com"}"#)
        for body in [
            #"{"email":"bob@example.com","tenant":"acme"}"#,
            #"{"email":"ann@example.com","tenant":"nowhere"}"#,
            #"{"email":"ann@example.com"}"#,
            #"{"email":"Ann@Example.com","tenant":"acme"}"#,
        ] {
            let answer = try await fixture.send("/v1/password-resets", body, as: .anonymous)
            #expect(answer.status == 202, "\(body)")
        }
        try await fixture.carry()
        #expect(fixture.mails.count == 2)
        let token = try fixture.token(try #require(fixture.mails.last))
        #expect(token.utf8.count == 49)
        let done = try await fixture.send(
            "/v1/password-resets/confirm",
            #"{"token":"\#(token)","password":"violet anchor meadow seventeen"}"#,
            as: .anonymous)
        #expect(done.status == 204, "\(done.text)")
        let audit = try await fixture.service.send(
            .get, "/v1/tenants/acme/audit-events", as: .platformOwner)
        #expect(audit.text.contains("user.password_reset"))
        #expect(!audit.text.contains(token))
    }

    @Test func `a link from before a password was changed or taken away is dead`() async throws {
        let fixture = try await Self.make()
        let service = fixture.service
        let tenant = try #require(try await service.storage.tenant("acme"))
        let ann = try await service.makeUser(
            "ann@example.com", name: "Ann", password: "correct horse battery", in: tenant)
        func link() async throws -> String {
            let before = fixture.mails.count
            _ = try await fixture.send(
                "/v1/password-resets", #"{"email":"ann@example.com","tenant":"acme"}"#,
                as: .anonymous)
            try await fixture.carry()
            #expect(fixture.mails.count == before + 1)
            return try fixture.token(try #require(fixture.mails.last))
        }
        func confirm(_ token: String) async throws -> Int {
            try await fixture.send(
                "/v1/password-resets/confirm",
                #"{"token":"\#(token)","password":"violet anchor meadow seventeen"}"#,
                as: .anonymous
            ).status
        }
        let old = try await link()
        let scope = service.storage.scope(tenant.id)
        _ = try await scope.change(by: .system) { change in
            try await change.setPassword(
                "another", of: ann.id, keeping: .none, mustChange: true)
        }
        #expect(try await confirm(old) == 404)
        let taken = try await link()
        _ = try await scope.write(
            """
            UPDATE users SET password_hash = NULL
            WHERE tenant_id = \(tenant.id) AND id = \(ann.id)
            """)
        #expect(try await confirm(taken) == 404)
        _ = try await scope.change(by: .system) { change in
            try await change.setPassword(
                "another", of: ann.id, keeping: .none, mustChange: true)
        }
        #expect(try await confirm(link()) == 204)
        let rows = try await scope.read(
            "SELECT must_change_password FROM users WHERE id = \(ann.id)")
        #expect(try rows[0].get(0) == false)
    }

    @Test func `one client can request at most sixty links in a minute`() async throws {
        let clock = TestClock()
        let fixture = try await Self.make(clock: { clock.now })
        var last: TestAnswer?
        for number in 0...60 {
            last = try await fixture.send(
                "/v1/password-resets", #"{"email":"p\#(number)@example.com"}"#, as: .anonymous)
            #expect((last?.status == 202) == (number < 60))
        }
        #expect(last?.status == 429 && last?.first("retry-after") != nil)
    }

    @Test func `one address gets four resets an hour`() async throws {
        let fixture = try await Self.make()
        _ = try await fixture.service.session(role: .owner, tenant: nil)
        for _ in 0..<8 {
            let answer = try await fixture.send(
                "/v1/password-resets", #"{"email":"owner-platform@operators.example"}"#,
                as: .anonymous)
            #expect(answer.status == 202)
            try await fixture.carry()
        }
        #expect(fixture.mails.count == 4)
    }
}
