import API
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

/// One tenant's list and strangers' requests hold up no other mail, and no mailbox is flooded.
@Suite(.cleansUp) struct MailFairnessTests {
    private static func make() async throws -> (TestService, SMTPSink) {
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))))
        try await service.makeTenant("acme")
        try await service.makeTenant("other")
        return (service, sink)
    }

    private static func invite(
        _ service: TestService, _ slug: String, _ emails: [String]
    ) async throws -> TestAnswer {
        let lines = emails.map { #"{"email":"\#($0)"}"# }.joined(separator: ",")
        return try await service.send(
            .post, "/v1/tenants/\(slug)/invites", json: #"{"invites":[\#(lines)]}"#,
            as: .platformOwner)
    }

    private static func askForReset(_ service: TestService, _ email: String, _ address: String)
        async throws -> Int
    {
        try await service.send(
            .post, "/v1/password-resets", json: #"{"email":"\#(email)"}"#, from: address
        ).status
    }

    @Test func `a tenant's many mails queue behind the first mail of every other tenant`()
        async throws
    {
        let (service, sink) = try await Self.make()
        let list = (0..<300).map { "p\($0)@example.com" }
        #expect(try await Self.invite(service, "acme", list).status == 200)
        #expect(try await Self.invite(service, "other", ["late@example.com"]).status == 200)
        _ = try await service.session(role: .owner, tenant: nil)
        let operators = "owner-platform@operators.example"
        #expect(try await Self.askForReset(service, operators, "192.0.2.1") == 202)
        try await service.composition.resetAnswers.round()
        var order: [String] = []
        while order.count < 20 {
            order += try await service.storage.takeDueMail().map(\.mail.to)
        }
        // acme's first, then one of each of the others, whose turn comes before acme's second.
        #expect(Set(order.prefix(3)) == ["p0@example.com", "late@example.com", operators])
    }

    @Test func `all due mails are sent in one round, tenants taking turns`() async throws {
        let (service, sink) = try await Self.make()
        for slug in ["acme", "other"] {
            let list = (0..<60).map { "\(slug)\($0)@example.com" }
            #expect(try await Self.invite(service, slug, list).status == 200)
        }
        let mailSender = try #require(service.composition.mailSender)
        #expect(try await mailSender.round() == 120)
        #expect(sink.mails.count == 120)
        #expect(Set(sink.mails.flatMap(\.to)).count == 120)
        // Several connections at once: the order holds up to what is under way on each.
        let half = sink.mails.prefix(60).flatMap(\.to).filter { $0.hasPrefix("<other") }
        #expect((15...45).contains(half.count), "\(half.count)")
        #expect(try await mailSender.round() == 0)
    }

    @Test func `requests of strangers take no place among the mails, and are answered at once`()
        async throws
    {
        let (service, sink) = try await Self.make()
        _ = try await service.session(role: .owner, tenant: nil)
        for number in 0..<600 {
            let status = try await Self.askForReset(
                service, "p\(number)@example.com", "192.0.2.\(number / 60)")
            #expect(status == 202)
        }
        let mails = try await service.storage.platform.read("SELECT count(*) FROM mail")
        #expect(try mails[0].get(0, as: Int.self) == 0)
        #expect(
            try await Self.askForReset(
                service, "owner-platform@operators.example", "192.0.2.99") == 202)
        #expect(try await service.composition.resetAnswers.round() == 601)
        try await service.composition.mailSender?.round()
        #expect(sink.mails.flatMap(\.to) == ["<owner-platform@operators.example>"])
        // The addresses are not kept.
        let kept = try await service.storage.app.read(
            "SELECT count(*) FROM reset_asks WHERE email_key IS NOT NULL OR next_at IS NOT NULL"
        )
        #expect(try kept[0].get(0, as: Int.self) == 0)
    }

    @Test func `a failed reset request does not delay the others, and is answered later`()
        async throws
    {
        let (service, sink) = try await Self.make()
        let acme = try #require(try await service.storage.tenant("acme"))
        for number in 0..<5 {
            _ = try await service.makeUser(
                "good\(number)@example.com", name: "Good", password: "correct horse battery",
                in: acme)
        }
        func ask(_ email: String) async throws {
            let answer = try await service.send(
                .post, "/v1/password-resets", json: #"{"email":"\#(email)","tenant":"acme"}"#)
            #expect(answer.status == 202, "\(answer.text)")
        }
        for number in 0..<20 { try await ask("bad\(number)@example.com") }
        for number in 0..<5 { try await ask("good\(number)@example.com") }
        let administrator = service.database.client(as: service.database.administrator)
        for statement: SQL in [
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE 'not this one'; END $$
            """,
            """
            CREATE TRIGGER fail BEFORE UPDATE ON reset_asks FOR EACH ROW
            WHEN (OLD.email_key LIKE 'bad%' AND NEW.next_at IS NULL) EXECUTE FUNCTION fail()
            """,
        ] { _ = try await administrator.query(statement) }
        await #expect(throws: (any Error).self) {
            try await service.composition.resetAnswers.round()
        }
        try await service.composition.mailSender?.round()
        let told = (0..<5).map { "<good\($0)@example.com>" }
        #expect(sink.mails.flatMap(\.to).sorted() == told)
        _ = try await administrator.query("DROP TRIGGER fail ON reset_asks")
        _ = try await service.storage.app.query(
            "UPDATE reset_asks SET next_at = created_at WHERE next_at IS NOT NULL")
        #expect(try await service.composition.resetAnswers.round() == 20)
    }

    @Test func `requests beyond the queue get 429, whatever the address`()
        async throws
    {
        let (service, _) = try await Self.make()
        _ = try await service.storage.app.query(
            """
            INSERT INTO reset_asks (id, tenant_id, about, email_key, next_at, created_at)
            SELECT gen_random_uuid(), '\(raw: UUID.platform.description)', '\\x00', 'x',
                now() - interval '1 hour', now()
            FROM generate_series(1, \(Database.waitingResetAsks))
            """)
        let answer = try await service.send(
            .post, "/v1/password-resets", json: #"{"email":"a@example.com"}"#)
        #expect(answer.status == 429 && answer.first("retry-after") == "60", "\(answer.text)")
        #expect(try await service.composition.resetAnswers.round() == Database.waitingResetAsks)
        #expect(try await Self.askForReset(service, "a@example.com", "192.0.2.1") == 202)
    }

    @Test func `an address gets four asks an hour of a tenant; further ones are shown as refused`()
        async throws
    {
        let (service, sink) = try await Self.make()
        let made = try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        let path = "/v1/tenants/acme/invites/\(made["id"]?.string ?? "")"
        func resend(_ body: String = "{}") async throws -> TestAnswer {
            try await service.send(.post, "\(path)/resend", json: body, as: .platformOwner)
        }
        for _ in 0..<3 { #expect(try await resend().json["delivery_status"]?.string == "queued") }
        let refused = try await resend()
        #expect(refused.status == 200, "\(refused.text)")
        #expect(refused.json["delivery_status"]?.string == "refused")
        #expect(refused.json["delivery_detail"]?.string == "too many mails to this address")
        let listed = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json:
                #"{"invites":[{"email":"ann@example.com","resend":true},{"email":"b@example.com"}]}"#,
            as: .platformOwner)
        let results = listed.json["results"]?.array?.compactMap { $0["result"]?.string }
        #expect(results?.last == "created" && results?.first != "refused", "\(listed.text)")
        // Another kind is held against the same count, whoever asks; a link is shown, not mailed.
        let acme = try #require(try await service.storage.tenant("acme"))
        for number in 0..<6 {
            let eve = try await service.makeUser(
                "eve\(number)@acme.example", name: "Eve", password: "correct horse battery",
                in: acme)
            let change = try await service.send(
                .post, "/v1/tenants/acme/users/\(eve.id)/email-change",
                json: #"{"email":"target@example.com"}"#, as: .platformOwner)
            #expect(change.status < 300, "\(change.text)")
        }
        #expect(try await resend(#"{"delivery":"link"}"#).status == 200)
        try await service.composition.mailSender?.round()
        #expect(
            sink.mails.flatMap(\.to).sorted()
                == ["<b@example.com>"] + Array(repeating: "<target@example.com>", count: 4))
        _ = try await service.storage.app.query(
            "UPDATE mail SET created_at = now() - interval '2 hours'")
        #expect(try await resend().json["delivery_status"]?.string == "queued")
    }

    @Test func `eight asks fill an address, and leave its notice and its reset unharmed`()
        async throws
    {
        let (service, sink) = try await Self.make()
        let acme = try #require(try await service.storage.tenant("acme"))
        let ann = try await service.makeUser(
            "ann@example.com", name: "Ann", password: "correct horse battery", in: acme)
        var statuses: [String] = []
        for number in 0..<5 {
            let slug = "t\(number)"
            try await service.makeTenant(slug)
            for more in ["", ",\"resend\":true"] {
                let made = try await service.send(
                    .post, "/v1/tenants/\(slug)/invites",
                    json: #"{"email":"ann@example.com"\#(more)}"#,
                    as: .platformOwner)
                statuses.append(made.json["delivery_status"]?.string ?? made.text)
            }
            try await service.composition.mailSender?.round()
        }
        #expect(statuses == Array(repeating: "queued", count: 8) + ["refused", "refused"])
        let before = sink.mails.count
        try await service.storage.scope(acme.id).change(by: .system) { change in
            try await change.tellOfSignIn(
                at: "google", ann.id, "ann@example.com")
        }
        #expect(try await Self.reset(service, "ann@example.com") == 202)
        try await service.composition.resetAnswers.round()
        try await service.composition.mailSender?.round()
        #expect(
            Set(sink.mails.dropFirst(before).compactMap { $0.header("Subject") }) == [
                "A sign-in was added to your account at acme", "Set a new password for acme",
            ])
    }

    private static func reset(_ service: TestService, _ email: String) async throws -> Int {
        try await service.send(
            .post, "/v1/password-resets", json: #"{"email":"\#(email)","tenant":"acme"}"#
        ).status
    }

    @Test func `the fourth notice of an hour waits for those that follow, and none is lost`()
        async throws
    {
        let clock = TestClock()
        let sink = SMTPSink()
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: { clock.now })
        try await service.makeTenant("acme")
        let acme = try #require(try await service.storage.tenant("acme"))
        let ann = try await service.makeUser(
            "ann@example.com", name: "Ann", password: "correct horse battery", in: acme)
        for number in 1...30 {
            try await service.storage.scope(acme.id).change(by: .system) { change in
                try await change.tellOfSignIn(
                    at: "way \(number).", ann.id, "ann@example.com")
            }
        }
        try await service.composition.mailSender?.round()
        #expect(sink.mails.count == 3)
        clock.advance(seconds: 600)
        try await service.composition.mailSender?.round()
        #expect(sink.mails.count == 4)
        let folded = try #require(sink.mails.last)
        #expect(folded.header("Subject") == "27 notices about your account at acme")
        for part in folded.parts {
            #expect(part.contains("way 4.") && part.contains("way 23."), "\(part)")
            #expect(part.contains("And 7 more"))
        }
    }

    @Test func `one address gets four resets an hour of all tenants, and keeps the last link`()
        async throws
    {
        let (service, sink) = try await Self.make()
        let acme = try #require(try await service.storage.tenant("acme"))
        _ = try await service.makeUser(
            "ann@example.com", name: "Ann", password: "correct horse battery", in: acme)
        for _ in 0..<6 {
            #expect(try await Self.reset(service, "ann@example.com") == 202)
            try await service.composition.resetAnswers.round()
            try await service.composition.mailSender?.round()
        }
        #expect(sink.mails.count == 4)
        let live = try await service.storage.app.tenantTransaction(acme.id) {
            try await $0.query("SELECT 1 FROM password_resets WHERE used_at IS NULL").count
        }
        #expect(live == 1)
    }

    @Test func `a tenant that has sent its mails of the hour is refused, others are not`()
        async throws
    {
        let (service, _) = try await Self.make()
        let acme = try #require(try await service.storage.tenant("acme"))
        try await service.storage.scope(acme.id).change(by: .system) { change in
            _ = try await change.query(
                """
                INSERT INTO mail (id, tenant_id, kind, about, created_at)
                SELECT md5(n::text)::uuid, anchor.id, 'invite', md5(n::text)::uuid, \(change.now)
                FROM \(SQL.anchor(of: acme.id)), generate_series(1, \(MailLimit.ofTenant - 1)::bigint) AS n
                WHERE anchor.id = \(acme.id)
                """)
        }
        let list = try await Self.invite(service, "acme", ["a@example.com", "b@example.com"])
        let results = list.json["results"]?.array?.compactMap { $0["result"]?.string }
        #expect(results == ["created", "refused"], "\(list.text)")
        #expect(try await Self.invite(service, "other", ["a@example.com"]).status == 200)
    }

    @Test func `names that turn text around or hold control characters are refused and never sent`()
        async throws
    {
        let (service, sink) = try await Self.make()
        for bad in ["ev\\u202eil\\u2066s", "a\\u0007b", "a\\u200fb", "a\\u2028b", "\\u0085"] {
            let tenant = try await service.send(
                .post, "/v1/tenants", json: #"{"slug":"bad","name":"\#(bad)"}"#,
                as: .platformOwner)
            let user = try await service.send(
                .post, "/v1/tenants/acme/users",
                json: #"{"email":"a@example.com","name":"\#(bad)"}"#, as: .platformOwner)
            #expect(tenant.status == 422 && user.status == 422, "\(bad)")
            #expect(tenant.json["errors"]?.array?.first?["pointer"]?.string == "/name")
        }
        let fine = try await service.send(
            .post, "/v1/tenants", json: #"{"slug":"fine","name":"شركة 日本 Müller & Söhne 👩‍💻"}"#,
            as: .platformOwner)
        #expect(fine.status == 201, "\(fine.text)")
        // One that stands in the database from elsewhere loses them on its way.
        let acme = try #require(try await service.storage.tenant("acme"))
        _ = try await service.storage.scope(acme.id).write(
            "UPDATE tenants SET name = \("Pay\u{202E}lap") WHERE id = \(acme.id)")
        #expect(try await Self.invite(service, "acme", ["c@example.com"]).status == 200)
        try await service.composition.mailSender?.round()
        let mail = try #require(sink.mails.first)
        #expect(mail.header("From")?.contains("Pay lap via Gatehouse") == true)
        #expect(!mail.parts.joined().contains("\u{202E}"))
        // A long one is cut for the mail.
        let long = String(repeating: "n", count: 200)
        _ = try await service.storage.scope(acme.id).write(
            "UPDATE tenants SET name = \(long) WHERE id = \(acme.id)")
        #expect(try await Self.invite(service, "acme", ["d@example.com"]).status == 200)
        try await service.composition.mailSender?.round()
        let body = try #require(sink.mails.last).parts.joined()
        #expect(body.contains(long.prefix(99) + "…") && !body.contains(long.prefix(100)))
    }
}
