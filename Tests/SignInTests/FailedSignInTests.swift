import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Why a sign-in failed before the rules were asked: the operator reads it, the stranger does not.
@Suite(.cleansUp) struct FailedSignInTests {
    private func list(_ fixture: TimeTrackerFixture, _ query: String = "") async throws
        -> TestAnswer
    {
        try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins\(query)", as: .tenantAdmin(fixture.tenant))
    }

    @Test func `the reason of each failure is found by its request, and the answer keeps it`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await TimeTrackerFixture.make(
            settings: #"{"app_url":"https://time.acme.example"}"#, logger: log.logger)
        try await fixture.invite()
        func failed(_ answer: TestAnswer) async throws -> JSONValue {
            let id = answer.first("x-request-id") ?? ""
            let found = try await list(fixture, "?request_id=\(id)")
            #expect(found.json["items"]?.array?.count == 1, "\(found.text)")
            return found.json["items"]?.array?.first ?? .null
        }
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "x@acme.example")
        let token = fixture.provider.mint(clientID: "web", now: Timestamp.systemClock())
            .token(["nonce": "\"another\""])
        fixture.provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        let nonce = try await fixture.exchange(asked.first("state") ?? "")
        #expect(nonce.status == 400 && !nonce.text.contains("nonce"), "\(nonce.text)")
        let line = try await failed(nonce)
        #expect(line["reason"]?.string == "id token: nonce_mismatch")
        #expect(line["client"]?.string == "timetracker")
        #expect(line["operation"]?.string == "POST /auth/token")
        #expect(line["ip"]?.string == "127.0.0.1")
        let unknown = try await fixture.exchange("never-begun")
        #expect(try await failed(unknown)["reason"]?.string == "state_unknown")
        let foreign = try await fixture.login("?redirect_uri=https://evil.example/")
        #expect(try await failed(foreign)["reason"]?.string == "redirect_not_registered")
        let again = try await fixture.begin()
        fixture.provider.set("/token", .init(status: 502, "{}"))
        let away = try await fixture.exchange(again.first("state") ?? "")
        #expect(
            try await failed(away)["reason"]?.string
                == "provider_away: \(fixture.provider.issuer)/token: status 502")
        // The web page's way, whose answer is a redirect.
        let begun = try await fixture.login("")
        fixture.provider.set("/token", .init(status: 400, #"{"error":"invalid_grant"}"#))
        let back = try await fixture.returnToPage(begun)
        #expect(try await failed(back)["reason"]?.string == "token endpoint: invalid_grant")
        // Each stands in the log too, which `dev` shows at the level of its notices.
        #expect(log.lines.count { $0.contains(#""level":"notice""#) } >= 4, "\(log.text)")
        let all = try await list(fixture)
        #expect(all.json["items"]?.array?.count == 5, "\(all.text)")
        #expect(try await list(fixture, "?client=immich").json["items"]?.array?.isEmpty == true)
    }

    @Test func `a refusal by the rules is a decision, not a failed sign-in`() async throws {
        let fixture = try await TimeTrackerFixture.make()
        let asked = try await fixture.begin()
        fixture.grant(asked, email: "stranger@else.example")
        let refused = try await fixture.exchange(asked.first("state") ?? "")
        #expect(refused.status == 403, "\(refused.text)")
        #expect(try await list(fixture).json["items"]?.array?.isEmpty == true)
    }

    /// `reason tries account` of each line, those of no account as `-`.
    private func lines(_ service: TestService, _ path: String) async throws -> [String] {
        let answer = try await service.send(
            .get, path + "/failed-sign-ins?sort=created_at", as: .platformOwner)
        return (answer.json["items"]?.array ?? []).map { line in
            let account = line["user_id"]?.string ?? line["operator_id"]?.string ?? "-"
            let tries = line["tries"]?.int.map { "\($0)" } ?? "none"
            return "\(line["reason"]?.string ?? "") \(tries) \(account)"
        }.sorted()
    }

    @Test func `wrong passwords are one line of each account and minute, and one of all others`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await ImmichFixture.make(clock: clock)
        let (service, user) = (fixture.service, fixture.user.id)
        let path = "/v1/tenants/acme"
        for _ in 0..<3 { #expect(try await fixture.signIn("wrong").status == 401) }
        for name in ["bob", "eve"] {
            _ = try await fixture.send(
                .post, "/api/auth/login",
                #"{"email":"\#(name)@acme.example","password":"wrong"}"#)
        }
        let first = ["wrong_password 2 -", "wrong_password 3 \(user)"]
        #expect(try await lines(service, path) == first)
        // Another replica saw the fourth within the same minute.
        let replica = try service.replica()
        _ = try await service.send(
            .post, "/t/acme/immich/api/auth/login",
            json: #"{"email":"ann@acme.example","password":"wrong"}"#, to: replica)
        #expect(await replica.application.database.writeCounted() == nil)
        let second = ["wrong_password 2 -", "wrong_password 4 \(user)"]
        #expect(try await lines(service, path) == second)
        clock.advance(seconds: 60)
        let token = try await fixture.token()
        _ = try await fixture.send(
            .put, "/api/auth/pin-code", #"{"pinCode":"1234"}"#, token: token)
        #expect(try await lines(service, path).count == 2)
        for wrong in [#"{"pinCode":"9999"}"#, #"{"pinCode":"8888"}"#] {
            let answer = try await fixture.send(
                .post, "/api/auth/pin-code/verify", wrong, token: token)
            #expect(answer.status == 400, "\(answer.text)")
        }
        #expect(try await lines(service, path).contains("wrong_pin 2 \(user)"))
        clock.advance(seconds: 60)
        let changed = try await fixture.send(
            .post, "/api/auth/change-password",
            #"{"password":"wrong","newPassword":"another long password"}"#, token: token)
        #expect(changed.status == 400, "\(changed.text)")
        #expect(try await lines(service, path).count == 4)
        let audit = try await service.send(
            .get, path + "/audit-events?limit=200", as: .platformOwner)
        #expect(!audit.text.contains("wrong_p"), "they stand outside of the audit's order")
        try await service.manage(.delete, path + "/users/\(user)", "{}")
        clock.advance(seconds: 31 * 86_400)
        _ = try await service.storage.sweep { _, _ in }
        let left = try await service.storage.scope(fixture.tenant.id).read(
            """
            /* test */ SELECT count(user_id), count(*) FROM failed_sign_ins
            WHERE tenant_id = \(fixture.tenant.id)
            """)
        #expect(try left.first?.get(0) == 0, "they end with the user")
        #expect(try left.first?.get(1) == 1)
    }

    @Test func `wrong passwords of the console are lines of the operator's place`() async throws {
        let clock = TestClock()
        let (service, tenant) = try await TestService.makeWithTenant(clock: clock)
        let hash = try await service.composition.application.passwords.hash(
            Array("right password".utf8))
        var ids: [UUID] = []
        for (name, place) in [("root", nil), ("boss", tenant.id)] {
            ids.append(
                try await service.storage.createOperator(
                    email: "\(name)@a.example", emailKey: "\(name)@a.example", name: nil,
                    role: .owner, tenant: place, passwordHash: hash, by: .system
                ).id)
        }
        func signIn(_ email: String, _ password: String) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/session", json: #"{"email":"\#(email)","password":"\#(password)"}"#)
        }
        for email in ["root@a.example", "root@a.example", "boss@a.example", "none@a.example"] {
            #expect(try await signIn(email, "wrong").status == 401)
        }
        #expect(try await lines(service, "/v1/tenants/acme") == ["wrong_password 1 \(ids[1])"])
        #expect(
            try await lines(service, "/v1")
                == [
                    "wrong_password 1 -", "wrong_password 1 \(ids[1])",
                    "wrong_password 2 \(ids[0])",
                ].sorted())
        // A step-up is a door as well.
        let session = try await signIn("boss@a.example", "right password")
        let parts = session.first("set-cookie")?.split(separator: ";").first?.split(separator: "=")
        let cookie = parts?.last.map(String.init) ?? ""
        let stepUp = try await service.send(
            .post, "/v1/session/step-up", json: #"{"password":"wrong"}"#, as: .session(cookie))
        #expect(stepUp.status == 401, "\(stepUp.text)")
        #expect(try await lines(service, "/v1/tenants/acme") == ["wrong_password 2 \(ids[1])"])
    }

    @Test func `guesses at many accounts use limited memory, and all are counted`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant(clock: TestClock())
        let log = service.storage.wrongPasswords
        let most = WrongPasswords.accountsOfTenant
        for _ in 0..<most + 50 {
            log.note(
                .operator(.random()), of: tenant.id,
                WrongPasswords.Attempt(
                    client: "console", operation: "POST /v1/session", reason: "wrong_password",
                    requestID: "r", ip: nil, userAgent: nil), at: service.storage.clock())
        }
        #expect(await service.storage.writeCounted() == nil)
        let rows = try await service.storage.scope(tenant.id).read(
            """
            /* test */ SELECT count(*), sum(tries)::bigint, max(tries) FROM failed_sign_ins
            WHERE tenant_id = \(tenant.id)
            """)
        let row = try #require(rows.first)
        #expect(try row.get(0, as: Int.self) == most + 1)
        #expect(try row.get(1, as: Int.self) == most + 50)
        #expect(try row.get(2, as: Int.self) == 50)
    }

    @Test func `the oldest go beyond the most that are kept, those of wrong passwords apart`()
        async throws
    {
        let (service, tenant) = try await TestService.makeWithTenant(clock: TestClock())
        let storage = service.storage
        for tries in [nil, 1] as [Int?] {
            try await service.database.client(as: service.database.administrator).query(
                """
                /* test */ INSERT INTO failed_sign_ins (tenant_id, id, created_at, client, operation,
                    reason, request_id, tries, number)
                SELECT \(tenant.id), gen_random_uuid(), now(), 'x', 'x', 'x', 'x', \(tries)::bigint, n
                FROM generate_series(1, \(FailedSignIn.most)::bigint) AS n
                """)
        }
        func kept() async throws -> [[Int]] {
            let rows = try await storage.scope(tenant.id).read(
                """
                /* test */ SELECT min(number), max(number), count(*) FROM failed_sign_ins
                WHERE tenant_id = \(tenant.id) GROUP BY tries IS NULL ORDER BY tries IS NULL
                """)
            return try rows.map { row in
                [
                    try row.get(0, as: Int.self), try row.get(1, as: Int.self),
                    try row.get(2, as: Int.self),
                ]
            }
        }
        func attempt(_ accounts: [WrongPasswords.Account]) async {
            for account in accounts {
                storage.wrongPasswords.note(
                    account, of: tenant.id,
                    WrongPasswords.Attempt(
                        client: "console", operation: "POST /v1/session", reason: "wrong_password",
                        requestID: "r", ip: nil, userAgent: nil), at: storage.clock())
            }
            #expect(await storage.writeCounted() == nil)
        }
        let most = FailedSignIn.most
        for _ in 0..<2 {
            try await storage.scope(tenant.id).keep(
                FailedSignIn(
                    client: "x", operation: "x", reason: "x", requestID: "x", reference: "x",
                    ip: nil, userAgent: nil, at: storage.clock()))
        }
        #expect(try await kept() == [[1, most, most], [3, most + 2, most]])
        await attempt((0..<5).map { _ in .operator(.random()) })
        #expect(try await kept() == [[6, most + 5, most], [3, most + 2, most]])
        // A minute's row that is there takes no number.
        for _ in 0..<3 { await attempt([.unknown]) }
        await attempt([.unknown, .operator(.random())])
        #expect(try await kept() == [[8, most + 7, most], [3, most + 2, most]])
    }

    @Test func `a link that lets nobody in names a reference, which finds why`() async throws {
        let clock = TestClock()
        let (service, _) = try await TestService.makeWithTenant(clock: clock)
        let path = "/v1/tenants/acme"
        let invite = try await service.manage(
            .post, path + "/invites", #"{"email":"ann@a.example","delivery":"link"}"#)
        try await service.manage(
            .post, path + "/invites/\(invite["id"]?.string ?? "")/revoke", "{}")
        let link = try await service.manage(.post, path + "/join-links", "{}")
        try await service.manage(
            .post, path + "/join-links/\(link["id"]?.string ?? "")/revoke", "{}")
        let joining = link["url"]?.string?.split(separator: "=").last.map(String.init) ?? ""
        let provider = UUID.random()
        for (door, token, reason) in [
            ("invites/preview", invite["token"]?.string ?? "", "invite_revoked"),
            ("invites/sign-in", invite["token"]?.string ?? "", "invite_revoked"),
            ("invites/accept", "unknown", "invite_unknown"),
            ("invites/preview", "unknown", "invite_unknown"),
            ("join-links/preview", joining, "join_revoked"),
            ("join-links/sign-in", joining, "join_revoked"),
            ("join-links/preview", "unknown", "join_unknown"),
        ] {
            let more =
                door.hasSuffix("sign-in")
                ? #","provider":"\#(provider)""#
                : door.hasSuffix("accept") ? #","password":"correct horse battery""# : ""
            let answer = try await service.send(
                .post, "/v1/\(door)", json: #"{"token":"\#(token)"\#(more)}"#)
            #expect(answer.status == 404, "\(door) \(answer.text)")
            let reference = answer.json["reference"]?.string ?? "none"
            #expect(answer.json["detail"]?.string?.contains(reference) == true, "\(answer.text)")
            let place = reason.hasSuffix("unknown") ? "/v1" : path
            let found = try await service.send(
                .get, "\(place)/failed-sign-ins?reference=\(reference)", as: .platformOwner)
            let lines = found.json["items"]?.array ?? []
            #expect(lines.count == 1 && lines.first?["reason"]?.string == reason, "\(found.text)")
        }
    }

    /// What a page tells its reader to name.
    private func reference(_ page: TestAnswer) throws -> String {
        let text = page.text.replacing("(ref ", with: "Reference: ")
        let parts = text.split(separator: "Reference: ", maxSplits: 1)
        return String(try #require(parts.count == 2 ? parts[1].prefix(6) : nil, "\(page.text)"))
    }

    @Test
    func `a page of a failed sign-in has a reference, which the operator and the log have too`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await HostedFixture(logger: log.logger)
        func found(_ reference: String, at path: String = "/v1") async throws -> JSONValue {
            let list = try await fixture.service.send(
                .get, "\(path)/failed-sign-ins?reference=\(reference)", as: .platformOwner)
            #expect(list.json["items"]?.array?.count == 1, "\(list.text)")
            return list.json["items"]?.array?.first ?? .null
        }
        // The page of a tenant, whose provider leads back to the platform's callback.
        let jar = HostedFixture.Jar()
        let page = try await fixture.passThrough(
            0, at: "/t/acme/sign-in", jar, [], ["nonce": "\"another\""])
        expectHostedPage(page, 400, "could not be verified")
        #expect(!page.text.contains("nonce"))
        let named = try reference(page)
        for path in ["/v1", "/v1/tenants/acme"] {
            let line = try await found(named, at: path)
            #expect(line["reason"]?.string == "id token: nonce_mismatch")
            #expect(line["client"]?.string == "hosted")
            #expect(line["operation"]?.string == "GET /sign-in/callback")
        }
        #expect(log.text.contains("sign-in: id token: nonce_mismatch, ref \(named)"))
        // The platform's own page, and one of nobody's.
        let platform = try await fixture.passThrough(
            1, at: "/sign-in", jar, [], ["nonce": "\"another\""])
        let line = try await found(try reference(platform))
        #expect(line["reason"]?.string == "id token: nonce_mismatch")
        #expect(line["tenant_id"]?.isNull == true, "\(line)")
        let unknown = try await fixture.get("/sign-in/callback?code=c&state=nobody", jar)
        #expect(try await found(try reference(unknown))["reason"]?.string == "state_unknown")
        let foreign = try await fixture.post(
            "/t/acme/sign-in", [("provider", fixture.ids[0])], jar,
            fields: [Field("sec-fetch-site", "cross-site")])
        let atTenant = try await found(try reference(foreign), at: "/v1/tenants/acme")
        #expect(atTenant["reason"]?.string == "foreign_form")
        // Who has no provider there, and who is refused by the rules: a decision has that one.
        let none = try await fixture.post("/t/acme/sign-in", [("provider", "x")], jar)
        #expect(try await found(try reference(none))["reason"]?.string == "no_provider")
        let refused = try await fixture.passThrough(0, at: "/t/acme/sign-in", jar)
        let decided = try reference(refused)
        let decision = try await fixture.service.send(
            .get, "/v1/provisioning/decisions?reference=\(decided)", as: .platformOwner)
        #expect(decision.json["items"]?.array?.count == 1, "\(decision.text)")
        #expect(log.text.contains(", ref \(decided)"))
        // Another tenant's operators find neither.
        let other = try await fixture.service.makeTenant("other")
        let hidden = try await fixture.service.send(
            .get, "/v1/failed-sign-ins", as: .tenantAdmin(other))
        #expect(hidden.json["items"]?.array?.isEmpty == true, "\(hidden.text)")
    }

    @Test func `a sign-in that cannot begin at an invite's page has a reference`() async throws {
        let fixture = try await HostedFixture()
        let token = try await fixture.invite()
        await fixture.first.stop()
        let answer = try await fixture.service.send(
            .post, "/v1/invites/sign-in",
            json: #"{"token":"\#(token)","provider":"\#(fixture.ids[0])"}"#,
            fields: HostedFixture.sameOrigin)
        #expect(answer.status == 503, "\(answer.text)")
        let parts = (answer.json["detail"]?.string ?? "").split(separator: "(ref ")
        let named = try #require(parts.count == 2 ? parts[1].prefix(6) : nil, "\(answer.text)")
        let list = try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins?reference=\(named)", as: .platformOwner)
        let line = list.json["items"]?.array?.first
        #expect(line?["reason"]?.string?.hasPrefix("provider_away: ") == true, "\(list.text)")
        #expect(line?["operation"]?.string == "POST /v1/invites/sign-in")
    }

    @Test func `an error that an app's contract prescribes is no fault of this server's`()
        async throws
    {
        let log = CapturedLog()
        let fixture = try await TimeTrackerFixture.make(logger: log.logger)
        let list = try await fixture.service.send(.get, "/v1/providers", as: .platformOwner)
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        _ = try await fixture.service.send(.delete, "/v1/providers/\(id)", as: .platformOwner)
        #expect(try await fixture.login().status == 500)
        let lines = log.lines.filter { $0.contains("sign-in: no_provider") }
        #expect(lines.count == 1, "\(log.text)")
        #expect(lines.allSatisfy { $0.contains(#""level":"notice""#) }, "\(lines)")
        #expect(!log.text.contains(#""level":"error""#))
    }

    @Test func `a minute's log lines of callers without a credential have a limit`()
        async throws
    {
        let clock = TestClock()
        let fixture = try await TimeTrackerFixture.make(clock: clock)
        for number in 0..<(FailedSignIn.mostInAMinute + 5) {
            #expect(try await fixture.exchange("never-begun-\(number)").status == 400)
        }
        let all = try await list(fixture, "?limit=100")
        #expect(all.json["items"]?.array?.count == FailedSignIn.mostInAMinute)
        clock.advance(seconds: 60)
        _ = try await fixture.exchange("never-begun")
        #expect(
            try await list(fixture, "?limit=100").json["items"]?.array?.count
                == FailedSignIn.mostInAMinute + 1)
        // Another tenant's operators see nothing of it.
        let other = try await fixture.service.makeTenant("other")
        let foreign = try await fixture.service.send(
            .get, "/v1/tenants/acme/failed-sign-ins", as: .tenantAdmin(other))
        #expect(foreign.status == 404)
    }
}
