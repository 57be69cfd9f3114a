import Application
import Domain
import HTTP
import JSON
import Mail
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

    @Test func `a tenant's list stands behind the first mail of every other tenant`() async throws {
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

    @Test func `all that is due leaves in one round, in turns of the tenants`() async throws {
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
            SELECT gen_random_uuid(), '\(raw: UUID.platform.description)', '\\x00', 'x', now(), now()
            FROM generate_series(1, \(Database.waitingResetAsks))
            """)
        let answer = try await service.send(
            .post, "/v1/password-resets", json: #"{"email":"a@example.com"}"#)
        #expect(answer.status == 429 && answer.first("retry-after") == "60", "\(answer.text)")
        #expect(try await service.composition.resetAnswers.round() == Database.waitingResetAsks)
        #expect(try await Self.askForReset(service, "a@example.com", "192.0.2.1") == 202)
    }

    @Test func `an invite is mailed five times an hour, then 429 until the hour is over`()
        async throws
    {
        let (service, _) = try await Self.make()
        let made = try await service.manage(
            .post, "/v1/tenants/acme/invites", #"{"email":"ann@example.com"}"#)
        let path = "/v1/tenants/acme/invites/\(made["id"]?.string ?? "")"
        func resend(_ body: String = "{}") async throws -> TestAnswer {
            try await service.send(.post, "\(path)/resend", json: body, as: .platformOwner)
        }
        for _ in 0..<4 { #expect(try await resend().status == 200) }
        let refused = try await resend()
        #expect(refused.status == 429, "\(refused.text)")
        #expect(refused.json["code"]?.string == "rate_limited")
        #expect(Int(refused.first("retry-after") ?? "") ?? 0 > 3000)
        // The same by another way; what was refused has changed nothing.
        let again = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json: #"{"email":"ann@example.com","resend":true}"#, as: .platformOwner)
        #expect(again.status == 429)
        let listed = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json:
                #"{"invites":[{"email":"ann@example.com","resend":true},{"email":"b@example.com"}]}"#,
            as: .platformOwner)
        let results = listed.json["results"]?.array?.compactMap { $0["result"]?.string }
        #expect(results == ["refused", "created"], "\(listed.text)")
        #expect(listed.json["results"]?.array?[0]["code"]?.string == "rate_limited")
        let shown = try await service.send(.get, path, as: .platformOwner)
        #expect(shown.json["sent_count"]?.int == 5)
        // A link is shown, not mailed; and who only asks for what is there gets it.
        #expect(try await resend(#"{"delivery":"link"}"#).status == 200)
        let same = try await service.send(
            .post, "/v1/tenants/acme/invites", json: #"{"email":"ann@example.com"}"#,
            as: .platformOwner)
        #expect(same.status == 200, "\(same.text)")
        _ = try await service.storage.app.query(
            "UPDATE mail SET created_at = now() - interval '1 hour'")
        #expect(try await resend().status == 200)
    }

    @Test func `an address is mailed ten times an hour by a tenant, by others still`() async throws
    {
        let (service, _) = try await Self.make()
        func again(_ slug: String) async throws -> Int {
            let made = try await service.send(
                .post, "/v1/tenants/\(slug)/invites", json: #"{"email":"ann@example.com"}"#,
                as: .platformOwner)
            guard let id = made.json["id"]?.string else { return made.status }
            let path = "/v1/tenants/\(slug)/invites/\(id)"
            let gone = try await service.send(.post, "\(path)/revoke", as: .platformOwner)
            return gone.status == 200 ? made.status : gone.status
        }
        for _ in 0..<10 {
            let status = try await again("acme")
            #expect(status == 201)
        }
        let (ours, others) = (try await again("acme"), try await again("other"))
        #expect(ours == 429 && others == 201)
    }

    @Test func `an address is mailed fifty times an hour by all tenants together`() async throws {
        let (service, _) = try await Self.make()
        try await service.makeTenant("third")
        let emails = ["ann@example.com", "b@example.com"]
        #expect(try await Self.invite(service, "acme", ["ann@example.com"]).status == 200)
        // As if all but one of the fifty had been sent.
        _ = try await service.storage.app.query(
            """
            INSERT INTO mail (id, tenant_id, kind, about, recipient, created_at)
            SELECT gen_random_uuid(), tenant_id, kind, gen_random_uuid(), recipient, created_at
            FROM mail, generate_series(1, 48)
            """)
        for (slug, expected) in [("other", "created"), ("third", "refused")] {
            let list = try await Self.invite(service, slug, emails)
            let results = list.json["results"]?.array?.compactMap { $0["result"]?.string }
            #expect(results == [expected, "created"], "\(list.text)")
        }
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
        for bad in ["\\u202eevil\\u2066", "a\\u0007b", "a\\u200fb", "a\\u2028b", "\\u0085"] {
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
