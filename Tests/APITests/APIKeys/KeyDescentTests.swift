import Domain
import HTTP
import JSON
import Postgres
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// A key is revoked together with all that it made.
@Suite(.cleansUp) struct KeyDescentTests {
    private static let path = "/v1/tenants/acme/api-keys"
    private static let making = #""api-keys:write","api-keys:read","smtp""#
    /// The platform has no catalogue.
    private static let granting =
        #""api-keys:write","api-keys:read","users:write","invites:write","hooks:signup""#

    private func revoke(
        _ service: TestService, _ key: MadeKey, at path: String = path,
        as who: TestService.Credential = .platformOwner, madeBy: Bool = true
    ) async throws -> TestAnswer {
        try await service.send(
            .post, "\(path)/\(key.id)/revoke",
            json: #"{"reason":"leaked","made_by":\#(madeBy)}"#, as: who)
    }

    @Test func `all that a key made end with it, at any depth, on every replica`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.making)
        let child = try await service.makeKey(Self.making, as: root.credential)
        let heir = try await service.makeKey(#""smtp""#, as: child.credential)
        let other = try await service.makeKey(Self.making)
        let stranger = try await service.makeKey(#""smtp""#, as: other.credential)
        let replica = try service.replica()
        for key in [root, child, heir, stranger] {
            #expect(try await service.verdict(key.secret) == "valid")
            let there = try await service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect(there.status == 200)
        }
        let answer = try await revoke(service, root)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["status"]?.string == "revoked")
        for key in [root, child, heir] {
            #expect(try await service.verdict(key.secret) == "revoked")
            let there = try await service.send(
                .get, "/v1/me", as: key.credential, to: replica)
            #expect(there.status == 401)
            let row = try await service.send(
                .get, "\(Self.path)/\(key.id)", as: .platformOwner)
            #expect(row.json["revocation_reason"]?.string == "leaked")
        }
        for key in [other, stranger] {
            #expect(try await service.verdict(key.secret) == "valid")
        }
        let events = try await service.send(
            .get, "/v1/tenants/acme/audit-events?action=api_key.revoked", as: .platformOwner)
        #expect(events.json["items"]?.array?.count == 3)
        let again = try await revoke(service, root)
        #expect(again.json["revoked_at"] == answer.json["revoked_at"])
        #expect(again.first("etag") == answer.first("etag"))
    }

    @Test func `what a key made is still found when the key was revoked alone before`() async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.making)
        let heir = try await service.makeKey(#""smtp""#, as: root.credential)
        #expect(try await revoke(service, root, madeBy: false).status == 200)
        #expect(try await service.verdict(heir.secret) == "valid")
        #expect(try await revoke(service, root).status == 200)
        #expect(try await service.verdict(heir.secret) == "revoked")
    }

    @Test func `a key of the platform ends with what it made in every tenant`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        try await service.makeTenant("other")
        let root = try await service.makeKey(Self.granting, at: "/v1/api-keys")
        let second = try await service.makeKey(
            Self.granting, at: "/v1/api-keys", as: root.credential)
        let mine = try await service.makeKey(Self.making, as: root.credential)
        let heir = try await service.makeKey(#""smtp""#, as: mine.credential)
        let theirs = try await service.makeKey(
            #""smtp""#, at: "/v1/tenants/other/api-keys", as: second.credential)
        let alone = try await service.makeKey(#""smtp""#)
        let answer = try await revoke(service, root, at: "/v1/api-keys")
        #expect(answer.status == 200, "\(answer.text)")
        for key in [root, second, mine, heir, theirs] {
            #expect(try await service.verdict(key.secret) == "revoked")
        }
        #expect(try await service.verdict(alone.secret) == "valid")
        for tenant in ["acme", "other"] {
            let events = try await service.send(
                .get, "/v1/tenants/\(tenant)/audit-events?action=api_key.revoked",
                as: .platformOwner)
            #expect(events.json["items"]?.array?.isEmpty == false, "\(tenant)")
        }
    }

    @Test func `a call that is running when its key is revoked creates no key`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let key = try await service.makeKey(Self.making)
        let id = try #require(UUID(key.id))
        let scope = service.storage.scope(tenant.id)
        // The revocation holds the key's row and is not committed when the call asks for it.
        async let made = service.send(
            .post, Self.path, json: #"{"name":"k","scopes":["smtp"]}"#, as: key.credential)
        try await scope.change(by: .system) { change in
            let row = try await change.lockAPIKey(id)
            while try await !service.database.waitsForLock() {
                if try await Self.isThere(service) { break }
            }
            _ = try await change.revokeWithMade(
                row, reason: nil, permit: { _ in })
        }
        let answer = try await made
        let list = try await service.send(
            .get, "\(Self.path)?status=active", as: .platformOwner)
        #expect(answer.status == 401 || list.json["items"]?.array?.isEmpty == true)
        #expect(list.json["items"]?.array?.isEmpty == true, "\(list.text)")
    }

    /// Whether the call was quicker than the lock.
    private static func isThere(_ service: TestService) async throws -> Bool {
        let rows = try await service.storage.platform.read("SELECT count(*) FROM api_keys")
        return try rows.first?.get(0, as: Int.self) == 2
    }

    /// What a key makes while it is revoked: the table that is written last, the call, and what is
    /// left of it.
    private struct Race: Sendable {
        var table: SQL
        var path: String
        var body: String
        var left: SQL
    }

    private static let races = [
        Race(
            table: "invites", path: "/v1/tenants/acme/invites",
            body: #"{"email":"ann@a.example","delivery":"link"}"#,
            left: "invites WHERE status = 'pending' AND inviter_type = 'key'"),
        Race(
            table: "invites", path: "/v1/tenants/acme/invites",
            body: #"{"invites":[{"email":"ann@a.example","delivery":"link"}]}"#,
            left: "invites WHERE status = 'pending' AND inviter_type = 'key'"),
        Race(
            table: "join_links", path: "/v1/tenants/acme/join-links", body: "{}",
            left: "join_links WHERE revoked_at IS NULL AND maker_type = 'key'"),
        Race(
            table: "operators", path: "/v1/operators",
            body: #"{"email":"o@a.example","role":"admin","delivery":"link","#
                + #""scope":{"tenant":"acme"}}"#,
            left: "operators WHERE status = 'pending'"),
        Race(
            table: "jobs", path: "/v1/tenants/acme/users/actions",
            body: #"{"action":"end_sessions","ids":[\#(ids)]}"#,
            left: "jobs WHERE status IN ('queued', 'running', 'paused')"),
    ]
    private static let ids = (0..<101).map { _ in "\"\(UUID.random())\"" }.joined(separator: ",")

    @Test(arguments: ["/v1/tenants/acme/api-keys", "/v1/api-keys"])
    func `what a key creates during its revocation ends with it`(
        _ path: String
    ) async throws {
        for race in Self.races {
            let (service, tenant) = try await TestService.makeWithTenant()
            let scopes = RightsFixture.every.filter { $0 != "mail:bounces" }
                .map { "\"\($0)\"" }.joined(separator: ",")
            let key = try await service.makeKey(scopes, at: path)
            let scope = service.storage.scope(tenant.id)
            let isHeld = Mutex(false)
            let isOver = Mutex(false)
            // Nothing is written to the table until the revocation is done, or waits for the call.
            async let gate: Void = scope.change(by: .system) { change in
                _ = try await change.query("LOCK TABLE \(race.table) IN SHARE MODE")
                isHeld.withLock { $0 = true }
                while !isOver.withLock({ $0 }) { _ = try await change.query("SELECT 1") }
            }
            while !isHeld.withLock({ $0 }) { await Task.yield() }
            async let made = service.send(.post, race.path, json: race.body, as: key.credential)
            while try await !service.database.waitsForLock() {}
            async let revoked = revoke(service, key, at: path)
            while try await !service.database.waitsForLock(2) {
                if try await service.verdict(key.secret) == "revoked" { break }
            }
            isOver.withLock { $0 = true }
            try await gate
            #expect(try await revoked.status == 200)
            let answer = try await made
            #expect([200, 201, 202, 401].contains(answer.status), "\(race.path) \(answer.text)")
            let left = try await scope.read("/* test */ SELECT count(*) FROM \(race.left)")
            #expect(try left.first?.get(0) == 0, "\(race.path) \(race.body)")
        }
    }

    @Test func `a join link whose maker may no longer invite is shown as revoked`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let links = "/v1/tenants/acme/join-links"
        let person = try await service.makeUser(
            "ann@acme.example", name: "Ann", role: .manager, password: "correct horse battery",
            in: tenant)
        let owned = #","owner":{"type":"user","id":"\#(person.id)"}"#
        let own = try await service.makeKey(#""invites:write""#)
        let wide = try await service.makeKey(#""invites:write""#, at: "/v1/api-keys")
        let users = try await service.makeKey(#""invites:write""#, owned)
        let narrowed = try await service.makeKey(#""invites:write","users:read""#)
        let session = try await service.session(role: .support, tenant: tenant.id)
        var tokens: [(id: String, token: String)] = []
        let makers: [TestService.Credential] = [
            own.credential, wide.credential, users.credential, narrowed.credential,
            .session(session),
        ]
        for maker in makers {
            let made = try await service.send(.post, links, json: "{}", as: maker)
            #expect(made.status == 201, "\(made.text)")
            let token = made.json["url"]?.string?.split(separator: "=").last
            tokens.append((made.json["id"]?.string ?? "", String(token ?? "")))
        }
        func statuses() async throws -> [String] {
            var found: [String] = []
            let list = try await service.send(.get, links, as: .platformOwner)
            for (id, token) in tokens {
                let item = list.json["items"]?.array?.first { $0["id"]?.string == id }
                let alone = try await service.send(.get, "\(links)/\(id)", as: .platformOwner)
                #expect(alone.json["status"] == item?["status"], "\(alone.text)")
                let page = try await service.send(
                    .post, "/v1/join-links/preview", json: #"{"token":"\#(token)"}"#)
                #expect((page.status == 200) == (item?["status"]?.string == "active"))
                found.append(item?["status"]?.string ?? "")
            }
            return found
        }
        #expect(try await statuses() == Array(repeating: "active", count: makers.count))
        for (key, path) in [(own, Self.path), (wide, "/v1/api-keys")] {
            #expect(try await revoke(service, key, at: path, madeBy: false).status == 200)
        }
        try await service.manage(
            .patch, "/v1/tenants/acme/users/\(person.id)", #"{"role":"member"}"#)
        try await service.manage(
            .patch, "\(Self.path)/\(narrowed.id)", #"{"scopes":["users:read"]}"#)
        let operators = try await service.send(.get, "/v1/operators", as: .platformOwner)
        let support = operators.json["items"]?.array?.first { $0["role"]?.string == "support" }
        try await service.manage(
            .patch, "/v1/operators/\(support?["id"]?.string ?? "")", #"{"role":"auditor"}"#)
        #expect(try await statuses() == Array(repeating: "revoked", count: makers.count))
    }

    @Test func `a caller who may not revoke one of the keys revokes none`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let person = try await service.makeUser(
            "ann@acme.example", name: "Ann", role: .admin, password: "correct horse battery",
            in: tenant)
        let owned = #","owner":{"type":"user","id":"\#(person.id)"}"#
        let root = try await service.makeKey(Self.making, owned)
        let heir = try await service.makeKey(#""smtp""#, as: root.credential)
        try await service.manage(
            .patch, "/v1/tenants/acme/users/\(person.id)", #"{"role":"member"}"#)
        let refused = try await revoke(service, root, as: root.credential)
        #expect(refused.status == 403, "\(refused.text)")
        for key in [root, heir] { #expect(try await service.verdict(key.secret) == "valid") }
    }

    @Test func `what a key made and nobody has taken up ends with it, and the rest is listed`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let tenant = "/v1/tenants/acme"
        for path in [Self.path, "/v1/api-keys"] {
            let root = try await service.makeKey(Self.every, at: path)
            func make(_ path: String, _ body: String) async throws -> JSONValue {
                let answer = try await service.send(
                    .post, path, json: body, as: root.credential)
                #expect([200, 201].contains(answer.status), "\(path) \(answer.text)")
                return answer.json
            }
            let name = UUID.random().description
            let user = try await make(tenant + "/users", #"{"email":"u\#(name)@a.example"}"#)
            let id = user["id"]?.string ?? ""
            _ = try await make(
                tenant + "/invites", #"{"email":"i\#(name)@a.example","delivery":"link"}"#)
            let join = try await make(tenant + "/join-links", "{}")
            _ = try await make(tenant + "/users/\(id)/link-grants", "{}")
            let person = try await make(
                "/v1/operators",
                #"{"email":"o\#(name)@a.example","role":"admin","delivery":"link","scope":{"tenant":"acme"}}"#
            )
            _ = try await make(
                tenant + "/cors-origins", #"{"origin":"https://x\#(name).example"}"#)
            let answer = try await revoke(service, root, at: path)
            #expect(answer.status == 200, "\(answer.text)")
            for kind in ["keys", "invites", "join_links", "link_grants", "operators"] {
                #expect(answer.json["ended"]?[kind]?.int == 1, "\(path) \(kind) \(answer.text)")
            }
            let review = answer.json["review"]?.array ?? []
            let types = Set(review.compactMap { $0["type"]?.string })
            #expect(types.isSuperset(of: ["user", "cors_origin"]), "\(answer.text)")
            let listed = review.first { $0["id"]?.string == id }
            let act = listed?["act"]?["path"]?.string ?? ""
            let done = try await service.send(.post, act, as: .platformOwner)
            #expect(done.status == 200, "\(act) \(done.text)")
            let gone = try await service.send(
                .get, "/v1/operators/\(person["id"]?.string ?? "")", as: .platformOwner)
            #expect(gone.status == 404)
            let link = try await service.send(
                .get, tenant + "/join-links/\(join["id"]?.string ?? "")", as: .platformOwner)
            #expect(link.json["status"]?.string == "revoked", "\(link.text)")
        }
    }

    private static var every: String {
        RightsFixture.every.filter { $0 != "mail:bounces" }.map { "\"\($0)\"" }
            .joined(separator: ",")
    }

    /// What was made by others, and whose secret the key was shown.
    @Test func `a secret of another's making that the key was shown ends or is listed`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        let tenant = "/v1/tenants/acme"
        func make(
            _ path: String, _ body: String, as who: TestService.Credential = .platformOwner
        ) async throws -> JSONValue {
            let answer = try await service.send(.post, path, json: body, as: who)
            #expect([200, 201].contains(answer.status), "\(path) \(answer.text)")
            return answer.json
        }
        let invite = try await make(
            tenant + "/invites", #"{"email":"adm@a.example","role":"admin","delivery":"link"}"#)
        let other = try await make(
            tenant + "/invites", #"{"email":"other@a.example","delivery":"link"}"#)
        let person = try await make(
            "/v1/operators",
            #"{"email":"op@a.example","role":"admin","delivery":"link","scope":{"tenant":"acme"}}"#)
        let target = try await service.makeKey(#""users:read""#)
        let root = try await service.makeKey(Self.every, at: "/v1/api-keys")
        let (id, operatorID) = (invite["id"]?.string ?? "", person["id"]?.string ?? "")
        let shown = try await make(
            tenant + "/invites/\(id)/resend", #"{"delivery":"link"}"#, as: root.credential)
        let link = try await make(
            "/v1/operators/\(operatorID)/link", #"{"delivery":"link"}"#, as: root.credential)
        _ = try await make(Self.path + "/\(target.id)/rotate", "{}", as: root.credential)

        let answer = try await revoke(service, root, at: "/v1/api-keys")
        #expect(answer.json["ended"]?["invites"]?.int == 1, "\(answer.text)")
        #expect(answer.json["ended"]?["operator_links"]?.int == 1, "\(answer.text)")
        let token = shown["token"]?.string ?? ""
        let accepted = try await service.send(
            .post, "/v1/invites/accept",
            json: #"{"token":"\#(token)","password":"correct horse battery staple"}"#)
        #expect([404, 409, 410].contains(accepted.status), "\(accepted.text)")
        let left = try await service.send(
            .get, tenant + "/invites/\(other["id"]?.string ?? "")", as: .platformOwner)
        #expect(left.json["status"]?.string == "pending", "\(left.text)")
        let secret = link["sign_in_url"]?.string?.split(separator: "=").last ?? ""
        let arrived = try await service.send(.post, "/v1/session", json: #"{"token":"\#(secret)"}"#)
        #expect(arrived.status != 201, "\(arrived.text)")
        let listed = answer.json["review"]?.array?.first { $0["type"]?.string == "api_key" }
        #expect(listed?["action"]?.string == "api_key.rotated", "\(answer.text)")
        let act = listed?["act"]?["path"]?.string ?? ""
        #expect(try await service.send(.post, act, json: "{}", as: .platformOwner).status == 200)
    }

    @Test func `an admin whom the key created is listed before all others`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.every)
        func add(_ body: String) async throws {
            let answer = try await service.send(
                .post, "/v1/tenants/acme/users", json: body, as: root.credential)
            #expect(answer.status == 201, "\(answer.text)")
        }
        try await add(#"{"email":"hidden@a.example","role":"admin"}"#)
        for number in 0...EndedWithKey.reviewLimit {
            try await add(#"{"email":"u\#(number)@a.example"}"#)
        }
        let answer = try await revoke(service, root)
        let review = answer.json["review"]?.array ?? []
        #expect(review.count == EndedWithKey.reviewLimit)
        #expect(review.first?["name"]?.string == "hidden@a.example", "\(answer.text)")
        #expect(answer.json["review_total"]?.int == EndedWithKey.reviewLimit + 2)
    }

    @Test func `a thing that the key named anew is listed once`() async throws {
        let (service, tenant) = try await TestService.makeWithTenant()
        let root = try await service.makeKey(Self.every)
        let users = "/v1/tenants/acme/users"
        let made = try await service.send(
            .post, users, json: #"{"email":"ann@a.example"}"#, as: root.credential)
        let id = made.json["id"]?.string ?? ""
        _ = try await service.storage.scope(tenant.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET email = 'bo@a.example', email_key = 'bo@a.example'
                WHERE tenant_id = \(tenant.id)
                """)
        }
        let named = try await service.send(
            .patch, "\(users)/\(id)", json: #"{"name":"Ann"}"#, as: root.credential)
        #expect(named.status == 200, "\(named.text)")
        let answer = try await revoke(service, root)
        let listed = (answer.json["review"]?.array ?? []).filter { $0["id"]?.string == id }
        #expect(listed.map { $0["name"]?.string } == ["bo@a.example"], "\(answer.text)")
        #expect(answer.json["review_total"]?.int == 1)
    }

    @Test func `a link for an operator ends with the key that makes it`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let end = Timestamp.systemClock().adding(seconds: 600)
        let root = try await service.makeKey(
            Self.every, #","expires_at":"\#(end)""#, at: "/v1/api-keys")
        let made = try await service.send(
            .post, "/v1/operators",
            json:
                #"{"email":"op@a.example","role":"admin","delivery":"link","scope":{"tenant":"acme"}}"#,
            as: root.credential)
        #expect(made.status == 201, "\(made.text)")
        let stored = try await service.database.client(as: service.database.administrator).query(
            "SELECT expires_at FROM operator_links ORDER BY created_at DESC LIMIT 1")
        #expect(try #require(stored.first).get(0, as: Timestamp.self) <= end)
        let again = try await service.send(
            .post, "/v1/operators/\(made.json["id"]?.string ?? "")/link",
            json: #"{"delivery":"link"}"#, as: root.credential)
        let until = try #require(again.json["expires_at"]?.string.flatMap { Timestamp($0) })
        #expect(until <= end, "\(again.text)")
    }
}
