import API
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Links that set a password without mail, and changes of a user's address.
@Suite(.cleansUp) struct AccountCareTests {
    private static let password = "correct horse battery staple"
    private static let newPassword = "another horse has eaten it"
    private static let users = "/v1/tenants/acme/users"

    private struct Fixture {
        let service: TestService
        let tenant: TenantRow
        let sink: SMTPSink
        let clock: TestClock
        let user: UserRow
        /// A key of the platform, which outlives console sessions.
        let key: String

        var path: String { "\(AccountCareTests.users)/\(user.id)" }

        func send(_ method: HTTP.Method, _ path: String, _ json: String? = nil) async throws
            -> TestAnswer
        {
            try await service.send(method, path, json: json, as: .bearer(key))
        }

        /// Mails that are due go out.
        func carry() async throws -> [SMTPSink.Mail] {
            let mailSender = try #require(service.composition.mailSender)
            while try await mailSender.round() > 0 {}
            return sink.mails
        }

        func token(_ mail: SMTPSink.Mail) throws -> String {
            let text = try #require(mail.parts.first)
            let after = try #require(text.split(separator: "#token=").dropFirst().first)
            return String(after.prefix { !$0.isWhitespace })
        }

        func confirm(_ token: String) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/email-changes/confirm", json: #"{"token":"\#(token)"}"#)
        }

        /// The token that was mailed to the new address.
        func asked(_ email: String = "ann.new@ex.com") async throws -> String {
            let answer = try await send(
                .post, "\(path)/email-change", #"{"email":"\#(email)"}"#)
            #expect(answer.status == 202, "\(answer.text)")
            let mail = try await carry().last {
                $0.to == ["<\(email)>"] && $0.parts.first?.contains("#token=") == true
            }
            return try token(try #require(mail))
        }
    }

    private static func make() async throws -> Fixture {
        let (sink, clock) = (SMTPSink(), TestClock())
        let service = try await TestService.make(
            externalServices: ExternalServices(
                mail: .init(url: sink.url, from: try EmailAddress("gate@mail.example"))),
            clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        let user = try await service.makeUser(
            "ann@ex.com", name: "Ann", password: password, in: tenant)
        let key = try await service.manage(
            .post, "/v1/api-keys",
            #"{"name":"k","scopes":["users:read","users:write","invites:write","hooks:signup"]}"#
        )
        return Fixture(
            service: service, tenant: tenant, sink: sink, clock: clock, user: user,
            key: try #require(key["key"]?.string))
    }

    @Test func `an operator's link sets a first password once, without mail`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let user = try await service.makeUser(
            "ann@ex.com", name: "Ann", password: Self.password, in: tenant)
        try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                "UPDATE users SET password_hash = NULL WHERE tenant_id = \(tenant.id)")
            try await change.query(
                """
                INSERT INTO sessions (tenant_id, id, user_id, client, token_hash, created_at,
                    last_seen_at, expires_at)
                VALUES (\(tenant.id), \(UUID.random()), \(user.id), 'immich', 'x',
                    \(change.now), \(change.now), \(change.now.adding(seconds: 600)))
                """)
        }
        let path = "\(Self.users)/\(user.id)/password-link"
        let first = try await service.send(.post, path, as: .tenantAdmin(tenant))
        #expect(first.status == 201, "\(first.text)")
        #expect(first.first("cache-control") == "no-store")
        let second = try await service.send(.post, path, as: .tenantAdmin(tenant))
        let states: SQL =
            "SELECT must_change_password FROM users WHERE tenant_id = \(tenant.id)"
        let scope = service.storage.scope(tenant.id)
        #expect(try await scope.read(states)[0].get(0, as: Bool.self))
        var statuses: [Int] = []
        for link in [first, second, second] {
            let url = try #require(link.json["url"]?.string)
            let parts = url.components(of: "/reset#token=")
            #expect(parts.first == "http://gatehouse.test")
            let set = try await service.send(
                .post, "/v1/password-resets/confirm",
                json: #"{"token":"\#(parts.last ?? "")","password":"\#(Self.newPassword)"}"#)
            statuses.append(set.status)
        }
        // Pressed more than once at the same time.
        let raced = try await service.send(.post, path, as: .tenantAdmin(tenant))
        let token = raced.json["url"]?.string?.split(separator: "=").last ?? ""
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    try await service.send(
                        .post, "/v1/password-resets/confirm",
                        json: #"{"token":"\#(token)","password":"\#(Self.newPassword)"}"#
                    ).status
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.sorted() == [204, 404, 404, 404, 404, 404])
        // A link of before a suspension is dead after it.
        let held = try await service.send(.post, path, as: .tenantAdmin(tenant))
        for verb in ["suspend", "resume"] {
            _ = try await service.send(
                .post, "\(Self.users)/\(user.id)/\(verb)", as: .tenantAdmin(tenant))
        }
        let late = held.json["url"]?.string?.split(separator: "=").last ?? ""
        let dead = try await service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(late)","password":"\#(Self.newPassword)"}"#)
        #expect(dead.status == 404, "\(dead.text)")
        let again = try await service.send(.post, path, as: .tenantAdmin(tenant))
        let last = again.json["url"]?.string?.split(separator: "=").last ?? ""
        let set = try await service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(last)","password":"\#(Self.newPassword)"}"#)
        #expect(set.status == 204, "\(set.text)")
        // The older link died with the newer one, which works once.
        #expect(statuses == [404, 204, 404])
        #expect(try await !scope.read(states)[0].get(0, as: Bool.self))
        let sessions = try await scope.read(
            "SELECT 1 FROM sessions WHERE tenant_id = \(tenant.id)")
        #expect(sessions.isEmpty)
        let pending = try await service.manage(.post, Self.users, #"{"email":"bo@ex.com"}"#)
        let waits = try await service.send(
            .post, "\(Self.users)/\(pending["id"]?.string ?? "")/password-link",
            as: .tenantAdmin(tenant))
        #expect(waits.status == 409, "\(waits.text)")
    }

    @Test func `an operator's link works for half an hour`() async throws {
        let fixture = try await Self.make()
        let link = try await fixture.send(.post, "\(fixture.path)/password-link")
        let url = try #require(link.json["url"]?.string)
        fixture.clock.advance(seconds: 1800)
        let late = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(url.components(of: "#token=").last ?? "")","#
                + #""password":"\#(Self.newPassword)"}"#)
        #expect(late.status == 404)
    }

    @Test(arguments: [("suspend", "resume"), ("delete", "restore")])
    func `a link from before a user was shut out does not work after the user is back`(
        _ act: String, _ back: String
    ) async throws {
        let fixture = try await Self.make()
        let link = try await fixture.send(.post, "\(fixture.path)/password-link")
        let token = link.json["url"]?.string?.components(of: "#token=").last ?? ""
        let grant = try await fixture.send(.post, "\(fixture.path)/link-grants")
        let hash = TenantToken.hash(grant.json["token"]?.string ?? "")
        let scope = fixture.service.storage.scope(fixture.tenant.id)
        #expect(try await scope.grantedUser(hash) != nil)
        let out =
            act == "delete"
            ? try await fixture.send(.delete, fixture.path)
            : try await fixture.send(.post, "\(fixture.path)/\(act)")
        #expect((200..<300).contains(out.status), "\(out.text)")
        let again = try await fixture.send(.post, "\(fixture.path)/\(back)")
        #expect((200..<300).contains(again.status), "\(again.text)")
        let late = try await fixture.service.send(
            .post, "/v1/password-resets/confirm",
            json: #"{"token":"\#(token)","password":"\#(Self.newPassword)"}"#)
        #expect(late.status == 404, "\(late.text)")
        #expect(try await scope.grantedUser(hash) == nil)
    }

    @Test func `a new address counts once it is confirmed, and the old one gets a mail`()
        async throws
    {
        let fixture = try await Self.make()
        let token = try await fixture.asked()
        let before = try await fixture.send(.get, fixture.path)
        #expect(before.json["email"]?.string == "ann@ex.com")
        #expect(try await fixture.confirm("nonsense").status == 404)
        let confirmed = try await fixture.confirm(token)
        #expect(confirmed.status == 200, "\(confirmed.text)")
        let after = try await fixture.send(.get, fixture.path)
        #expect(after.json["email"]?.string == "ann.new@ex.com")
        #expect(after.first("etag") != before.first("etag"))
        let found = try await fixture.send(.get, "\(Self.users)?q=ann.new")
        #expect(found.json["items"]?.array?.count == 1)
        #expect(try await fixture.confirm(token).status == 404)
        let mail = try #require(try await fixture.carry().last)
        #expect(mail.to == ["<ann@ex.com>"])
        #expect(mail.parts.first?.contains("ann.new@ex.com") == true)
        #expect(mail.parts.first?.contains("#token=") == false)
    }

    @Test func `no other user can take the old address for 30 days`() async throws {
        let fixture = try await Self.make()
        _ = try await fixture.confirm(fixture.asked())
        for path in [Self.users, "/v1/tenants/acme/invites"] {
            let taken = try await fixture.send(.post, path, #"{"email":"Ann@ex.com"}"#)
            #expect(taken.status == 409 && taken.json["code"]?.string == "email_taken")
            #expect(taken.json["conflicting_id"]?.string == fixture.user.id.description)
        }
        try await fixture.service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"G","client_id":"web"}"#)
        let attempt =
            #"{"provider":"google","subject":"1","email":"ann@ex.com","#
            + #""email_verified":true,"tenant":"acme"}"#
        let newcomer = try await fixture.send(.post, "/v1/hooks/pre-signup", attempt)
        #expect(
            newcomer.json["reason"]?.string == "identity_link_required", "\(newcomer.text)")
        // The person may have it back.
        let back = try await fixture.asked("ann@ex.com")
        #expect(try await fixture.confirm(back).status == 200)
    }

    @Test func `only one address change waits at a time, and a possible attack ends it`()
        async throws
    {
        let fixture = try await Self.make()
        let first = try await fixture.asked("one@ex.com")
        let second = try await fixture.asked("two@ex.com")
        #expect(try await fixture.confirm(first).status == 404)
        fixture.clock.advance(seconds: 1800)
        #expect(try await fixture.confirm(second).status == 404)
        let path = fixture.path
        let identity =
            #"{"provider":"google","issuer":"https://g.example","subject":"7"}"#
        let ends: [(HTTP.Method, String, String?)] = [
            (.delete, "\(path)/email-change", nil), (.delete, "\(path)/sessions", nil),
            (.post, "\(path)/identities", identity), (.post, "\(path)/password-link", nil),
        ]
        for (method, end, json) in ends {
            let token = try await fixture.asked()
            let ended = try await fixture.send(method, end, json)
            #expect(ended.status < 300, "\(ended.text)")
            #expect(try await fixture.confirm(token).status == 404, "\(end)")
        }
        let again = try await fixture.send(.delete, "\(path)/email-change")
        #expect(again.status == 204)
    }

    @Test func `another user's address is refused on request and on confirmation`()
        async throws
    {
        let fixture = try await Self.make()
        let other = try await fixture.send(.post, Self.users, #"{"email":"bo@ex.com"}"#)
        let taken = try await fixture.send(
            .post, "\(fixture.path)/email-change", #"{"email":"BO@ex.com"}"#)
        #expect(taken.status == 409 && taken.json["code"]?.string == "email_taken")
        #expect(taken.json["conflicting_id"] == other.json["id"])
        let token = try await fixture.asked("cy@ex.com")
        _ = try await fixture.send(.post, Self.users, #"{"email":"cy@ex.com"}"#)
        #expect(try await fixture.confirm(token).status == 409)
        let same = try await fixture.send(
            .post, "\(fixture.path)/email-change", #"{"email":"ann@ex.com"}"#)
        #expect(same.status == 422)
    }

    @Test func `a mail tells the user of every sign-in that is added`() async throws {
        let fixture = try await Self.make()
        let linked = try await fixture.send(
            .post, "\(fixture.path)/identities",
            #"{"provider":"google","issuer":"https://accounts.google.com","subject":"7"}"#)
        #expect(linked.status == 201)
        try await fixture.service.manage(
            .post, "/v1/providers", #"{"kind":"google","name":"G","client_id":"web"}"#)
        let grant = try await fixture.send(.post, "\(fixture.path)/link-grants")
        let token = try #require(grant.json["token"]?.string)
        let used = try await fixture.send(
            .post, "/v1/hooks/pre-signup",
            #"{"provider":"google","subject":"8","email":"ann@ex.com","email_verified":true,"#
                + #""tenant":"acme","link_grant":"\#(token)"}"#)
        #expect(used.json["outcome"]?.string == "linked", "\(used.text)")
        let mails = try await fixture.carry()
        #expect(mails.map(\.to) == [["<ann@ex.com>"], ["<ann@ex.com>"]])
        #expect(mails.allSatisfy { $0.header("Subject")?.contains("sign-in") == true })
    }
}

extension String {
    /// What stands before and behind a text that is in it once.
    fileprivate func components(of text: String) -> [String] {
        guard let place = firstRange(of: text) else { return [self] }
        return [String(self[..<place.lowerBound]), String(self[place.upperBound...])]
    }
}
