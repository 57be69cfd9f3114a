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

/// No key, by whatever calls, gives a right that it has not: over random scopes and bounds, with an
/// oracle of its own.
@Suite(.serialized, .cleansUp) struct KeyReachTests {
    /// All that a key may have but what leads to an admin by design.
    private static let scopes = [
        "tenants:read", "tenants:write", "users:read", "users:write", "invites:read",
        "invites:write", "api-keys:read", "api-keys:write", "cors:read", "cors:write",
        "policy:read", "providers:read", "clients:read", "audit:read", "operators:read",
        "keys:verify", "hooks:signup",
    ]
    /// What leads to an admin by design.
    private static let leading = [
        "providers:write", "clients:write", "policy:write", "operators:write",
    ]
    /// What an admin of a tenant may change, as scopes.
    private static let ofAdmin = ["users:write", "invites:write", "api-keys:write", "hooks:signup"]
    private static let page = "https://page.example"

    /// A random key, and what it may give by the written rule.
    private struct Key {
        var scopes: Set<String>
        var isBound = false
        var isPlatform = false
        var owner: UserRole?
        var ownerID: UUID?
        var secret = ""

        func covers(_ role: UserRole) -> Bool {
            if let owner, role > owner { return false }
            return switch role {
            case .member: true
            case .manager: scopes.contains("invites:write")
            case .admin: !isBound && scopes.isSuperset(of: KeyReachTests.ofAdmin)
            }
        }

        /// Whether it may move whose word counts, which leads to an admin.
        var leads: Bool { !scopes.isDisjoint(with: KeyReachTests.leading) }

        /// Whether a key of these scopes and bounds is no more than this one.
        func reaches(_ other: Stored) -> Bool {
            guard other.isBound || !isBound else { return false }
            return other.scopes.allSatisfy {
                scopes.contains($0)
                    || ManagementScope(named: $0) == nil && isPlatform && covers(.admin)
            }
        }
    }

    /// A key of the table, as far as it says what its holder may do.
    private struct Stored {
        var hash: [UInt8]
        var scopes: [String]
        var isBound: Bool

        /// Whether there was no such key, another secret of it, or one that could do less.
        func isMore(than old: Stored?) -> Bool {
            guard let old else { return true }
            return old.hash != hash || !Set(scopes).isSubset(of: old.scopes)
                || old.isBound && !isBound
        }
    }

    /// One user of a role and a state, with all that a call may name.
    private struct Person {
        var id: UUID
        var role: UserRole
        var state: String
    }

    private struct Place {
        let fixture: BulkFixture
        var people: [Person] = []
        var invites: [UserRole: String] = [:]
        /// A provider that vouches for `a.example`, and one whose word counts for no address.
        /// What a call may name.
        var keyIDs: [String] = []
        var vouching = ""
        var silent = ""
        var tenant: UUID { fixture.base.tenant.id }
        private static let states = ["active", "suspended", "deleted", "pending"]

        static func make() async throws -> Place {
            let fixture = try await BulkFixture.make()
            var place = Place(fixture: fixture)
            for role in UserRole.allCases {
                for state in Self.states {
                    let id = try await fixture.user("\(role)-\(state)@a.example", role)
                    if state == "deleted" {
                        _ = try await fixture.base.send(.delete, "/\(id)")
                    } else if state != "active" {
                        try await place.run(
                            "UPDATE users SET status = \(state) WHERE tenant_id = \(place.tenant) AND id = \(id)"
                        )
                    }
                    place.people.append(Person(id: id, role: role, state: state))
                }
                let invite = try await fixture.service.manage(
                    .post, "/v1/tenants/acme/invites",
                    #"{"email":"guest-\#(role)@a.example","role":"\#(role)","delivery":"link"}"#)
                place.invites[role] = invite["id"]?.string
            }
            place.vouching = try await place.provider(
                "eu_vouching", #""authoritative","domains":["a.example"]"#)
            place.silent = try await place.provider("eu_silent", #""none""#)
            return place
        }

        private func provider(_ pool: String, _ trust: String) async throws -> String {
            let made = try await fixture.service.manage(
                .post, "/v1/providers",
                #"{"kind":"cognito","name":"P","issuer":"\#(pool)","email_trust":\#(trust)}"#)
            return try #require(made["id"]?.string)
        }

        /// The live keys of the tenant and of the platform.
        func keys() async throws -> [UUID: Stored] {
            var found: [UUID: Stored] = [:]
            for place in [tenant, .platform] {
                let rows = try await fixture.service.storage.scope(place).read(
                    """
                    /* test */ SELECT id, hash, scopes, allowed_ips <> '{}' OR allowed_origins <> '{}'
                        OR rate_limit IS NOT NULL
                    FROM api_keys WHERE tenant_id = \(place) AND revoked_at IS NULL
                    """)
                for row in rows {
                    found[try row.get(0)] = Stored(
                        hash: try row.get(1), scopes: try row.get(2), isBound: try row.get(3))
                }
            }
            return found
        }

        func run(_ sql: SQL) async throws {
            try await fixture.service.storage.scope(tenant).change(by: .system) {
                _ = try await $0.query(sql)
            }
        }

        /// Each live user, pending invite, link and sign-in with its role, as text; a thing of a role
        /// that a key does not cover may only vanish from it.
        func control() async throws -> [String: UserRole] {
            let rows = try await fixture.service.storage.scope(tenant).read(
                """
                /* test */ SELECT 'user ' || id || ' ' || email_key || coalesce(password_hash, ''),
                    role FROM users WHERE tenant_id = \(tenant) AND status IN ('active', 'pending')
                UNION ALL SELECT 'invite ' || encode(token_hash, 'hex'), role FROM invites
                    WHERE tenant_id = \(tenant) AND status = 'pending'
                UNION ALL SELECT 'sign-in ' || i.id, u.role FROM identities i JOIN users u
                    ON u.tenant_id = \(tenant) AND u.id = i.user_id WHERE i.tenant_id = \(tenant)
                UNION ALL SELECT 'grant ' || g.id, u.role FROM link_grants g JOIN users u
                    ON u.tenant_id = \(tenant) AND u.id = g.user_id WHERE g.tenant_id = \(tenant)
                UNION ALL SELECT 'reset ' || g.id, u.role FROM password_resets g JOIN users u
                    ON u.tenant_id = \(tenant) AND u.id = g.user_id WHERE g.tenant_id = \(tenant)
                UNION ALL SELECT 'key ' || k.id || k.scopes::text || k.hash::text || 'of '
                    || k.owner_user_id, u.role
                    FROM api_keys k JOIN users u ON u.tenant_id = \(tenant)
                    AND u.id = k.owner_user_id WHERE k.tenant_id = \(tenant)
                    AND k.revoked_at IS NULL
                """)
            var found: [String: UserRole] = [:]
            for row in rows { found[try row.get(0)] = try row.get(1) }
            return found
        }
    }

    private static func make(
        _ place: Place, _ random: inout SeededNumbers
    ) async throws -> Key {
        let isWide = Int.random(in: 0..<4, using: &random) == 0
        var picked =
            isWide
            ? scopes
            : scopes.filter { _ in Int.random(in: 0..<5, using: &random) < 2 }
        if Int.random(in: 0..<6, using: &random) == 0 {
            picked += leading.filter { _ in Bool.random(using: &random) }
        }
        var key = Key(scopes: Set(picked))
        key.isPlatform = Int.random(in: 0..<4, using: &random) == 0
        if !key.isPlatform { picked.append("smtp") }
        var more = ""
        switch Int.random(in: 0..<8, using: &random) {
        case 0 where !key.leads: more = #","allowed_ips":["0.0.0.0/0","::/0"]"#
        case 1 where !key.leads: more = #","allowed_origins":["\#(page)"]"#
        case 2 where !key.leads: more = #","rate_limit":{"per_minute":100000}"#
        case 3: more = #","expires_at":"\#(place.fixture.clock.now.adding(seconds: 7200))""#
        default: break
        }
        key.isBound = !more.isEmpty && !more.utf8.starts(with: #","expires_at"#.utf8)
        if !key.isPlatform, Int.random(in: 0..<3, using: &random) == 0 {
            let person = place.people.filter { $0.state == "active" }.randomElement(using: &random)
            // An earlier key may have given another role.
            let rows = try await place.fixture.service.storage.scope(place.tenant).read(
                """
                /* test */ SELECT role FROM users WHERE tenant_id = \(place.tenant)
                    AND id = \(person?.id) AND status = 'active'
                """)
            if let row = rows.first {
                (key.owner, key.ownerID) = (try row.get(0), person?.id)
                more += #","owner":{"type":"user","id":"\#(person?.id.description ?? "")"}"#
            }
        }
        key.scopes = Set(picked)
        let list = picked.map { "\"\($0)\"" }.joined(separator: ",")
        key.secret = try await place.fixture.service.makeKey(
            list, more, at: key.isPlatform ? "/v1/api-keys" : "/v1/tenants/acme/api-keys"
        ).secret
        return key
    }

    /// A sequence of calls: what the key has, and what it got on the way.
    private struct Run {
        let root: Key
        /// Secrets: its own, and of the keys that it made.
        var held: [String]
        /// Of invites, join links, link grants and password links.
        var tokens: [String] = ["none"]
        var merge = UUID.random().description
        var job = UUID.random().description
        var told: [String] = []

        init(_ root: Key) {
            self.root = root
            held = [root.secret]
        }

        /// Keeps what an answer gives.
        mutating func take(_ answer: TestAnswer, of call: Made) {
            told.append("\(call.method) \(call.path) \(call.body ?? "") -> \(answer.status)")
            guard answer.status < 300 else { return }
            if let key = answer.json["key"]?.string { held.append(key) }
            if let token = answer.json["token"]?.string { tokens.append(token) }
            for mark in ["#token=", "#grant="] {
                for part in answer.text.split(separator: mark).dropFirst() {
                    tokens.append(String(part.prefix { $0 != "\"" }))
                }
            }
            guard let id = answer.json["id"]?.string else { return }
            if call.path.hasSuffix("/merges") { merge = id }
            if call.path.contains("/imports") { job = id }
        }
    }

    private struct Made {
        var method: HTTP.Method
        var path: String
        var body: String?
        /// Whether a provider's word that reaches the address speaks.
        var isVouched = false

        init(_ method: HTTP.Method, _ path: String, _ body: String? = nil, isVouched: Bool = false)
        {
            self.method = method
            self.path = path.utf8.starts(with: "/v1/".utf8) ? path : "/v1/tenants/acme" + path
            self.body = body
            self.isVouched = isVouched
        }
    }

    /// Each call that gives or moves control.
    private static func call(
        _ place: Place, _ run: Run, _ random: inout SeededNumbers
    ) -> Made {
        let person = place.people.randomElement(using: &random) ?? place.people[0]
        let other = place.people.randomElement(using: &random) ?? person
        let role = UserRole.allCases.randomElement(using: &random) ?? .member
        let fresh = "\(UInt64.random(in: 0...UInt64.max, using: &random))"
        let token = run.tokens.randomElement(using: &random) ?? ""
        let all =
            ofUsers(place, person, other, role, fresh) + ofInvites(place, person, role, fresh)
            + ofKeys(place, run, person, &random) + ofHooks(place, person, token, fresh) + [
                Made(.post, "/users/merges/\(run.merge)/undo"),
                Made(.post, "/jobs/\(run.job)/undo"),
                Made(
                    .post, "/v1/invites/accept",
                    #"{"token":"\#(token)","password":"correct horse battery"}"#),
                Made(
                    .post, "/v1/password-resets/confirm",
                    #"{"token":"\#(token)","password":"correct horse battery"}"#),
            ]
        return all.randomElement(using: &random) ?? all[0]
    }

    private static func ofUsers(
        _ place: Place, _ person: Person, _ other: Person, _ role: UserRole, _ fresh: String
    ) -> [Made] {
        let users = "/users/\(person.id)"
        let email = "\(person.role)-\(person.state)@a.example"
        func act(_ action: String) -> Made {
            Made(.post, "/users/actions", #"{"action":"\#(action)","ids":["\#(person.id)"]}"#)
        }
        return [
            Made(.post, "/users", #"{"email":"n\#(fresh)@a.example","role":"\#(role)"}"#),
            Made(.patch, users, #"{"role":"\#(role)"}"#),
            Made(
                .post, "/users/actions",
                #"{"action":"set_role","role":"\#(role)","ids":["\#(person.id)"]}"#),
            act("resume"), act("approve"), Made(.post, users + "/resume"),
            Made(.post, users + "/restore"), Made(.post, users + "/approve", "{}"),
            Made(.post, users + "/link-grants"), Made(.post, users + "/password-link", "{}"),
            Made(.post, users + "/email-change", #"{"email":"n\#(fresh)@b.example"}"#),
            Made(
                .post, users + "/identities",
                #"{"provider":"google","issuer":"https://accounts.google.com","subject":"\#(fresh)"}"#
            ),
            Made(.post, "/users/merges", #"{"winner":"\#(person.id)","loser":"\#(other.id)"}"#),
            Made(
                .post, "/imports?format=ndjson&on_conflict=update",
                #"{"email":"\#(email)","role":"\#(role)"}"#),
            Made(
                .post, "/imports?format=ndjson",
                #"{"email":"n\#(fresh)@a.example","role":"\#(role)"}"#),
        ]
    }

    private static func ofInvites(
        _ place: Place, _ person: Person, _ role: UserRole, _ fresh: String
    ) -> [Made] {
        let invite = place.invites[role] ?? ""
        return [
            Made(
                .post, "/invites",
                #"{"email":"n\#(fresh)@a.example","role":"\#(role)","delivery":"link"}"#),
            Made(
                .post, "/invites",
                #"{"email":"guest-\#(role)@a.example","resend":true,"delivery":"link"}"#),
            Made(
                .post, "/invites",
                #"{"invites":[{"email":"guest-\#(role)@a.example","resend":true,"delivery":"link"}]}"#
            ),
            Made(
                .post, "/invites",
                #"{"email":"\#(person.role)-pending@a.example","role":"\#(role)","delivery":"link"}"#
            ),
            Made(.post, "/invites/\(invite)/resend", #"{"delivery":"link"}"#),
            Made(.patch, "/invites/\(invite)", #"{"role":"admin"}"#),
            Made(.post, "/join-links", "{}"),
        ]
    }

    private static func ofKeys(
        _ place: Place, _ run: Run, _ person: Person, _ random: inout SeededNumbers
    ) -> [Made] {
        func list(_ scopes: some Sequence<String>) -> String {
            scopes.map { "\"\($0)\"" }.joined(separator: ",")
        }
        let named = #""owner":{"type":"user","id":"\#(person.id)"}"#
        let some = list(run.root.scopes.sorted().filter { _ in Bool.random(using: &random) })
        let one = (scopes + leading).randomElement(using: &random) ?? ""
        let id = place.keyIDs.randomElement(using: &random) ?? ""
        return [
            Made(.post, "/api-keys", #"{"name":"k","scopes":[\#(some)]}"#),
            Made(.post, "/v1/api-keys", #"{"name":"k","scopes":[\#(some)]}"#),
            Made(.post, "/api-keys", #"{"name":"k","scopes":["\#(one)"]}"#),
            Made(.post, "/v1/api-keys", #"{"name":"k","scopes":["\#(one)"]}"#),
            Made(.post, "/api-keys", #"{"name":"k","scopes":["users:write"],\#(named)}"#),
            Made(.post, "/api-keys", #"{"name":"k","scopes":["smtp"],\#(named)}"#),
            Made(.post, "/api-keys/\(id)/rotate", "{}"),
            Made(.post, "/api-keys/\(id)/rollback"),
            Made(.patch, "/api-keys/\(id)", #"{"scopes":["\#(one)"],"allowed_ips":[]}"#),
            Made(
                .post, "/v1/operators",
                #"{"email":"o@a.example","role":"admin","delivery":"link","scope":{"tenant":"acme"}}"#
            ),
        ]
    }

    private static func ofHooks(
        _ place: Place, _ person: Person, _ token: String, _ fresh: String
    ) -> [Made] {
        let email = "\(person.role)-\(person.state)@a.example"
        return [place.vouching, place.silent].flatMap { provider in
            ["", #","invite_token":"\#(token)""#, #","link_grant":"\#(token)""#].map { more in
                Made(
                    .post, "/v1/hooks/pre-signup",
                    #"{"provider":"\#(provider)","subject":"\#(fresh)","email":"\#(email)","#
                        + #""email_verified":true,"tenant":"acme"\#(more)}"#,
                    isVouched: sameBytes(provider, place.vouching))
            }
        }
    }

    @Test func `no five calls of a key give what it does not cover`() async throws {
        var place = try await Place.make()
        try await place.fixture.service.manage(
            .post, "/v1/tenants/acme/cors-origins", #"{"origin":"\#(Self.page)"}"#)
        var random = SeededNumbers(seed: 42)
        var (done, refused, further) = (0, 0, 0)
        for round in 0..<150 {
            let key = try await Self.make(place, &random)
            var run = Run(key)
            for _ in 0..<5 {
                let (before, keys) = (try await place.control(), try await place.keys())
                place.keyIDs = keys.keys.map(\.description).sorted()
                let call = Self.call(place, run, &random)
                let secret = run.held.randomElement(using: &random) ?? key.secret
                if secret != key.secret { further += 1 }
                var fields = [Field("origin", Self.page)]
                if call.path.contains("/imports") {
                    fields.append(Field("content-type", "application/x-ndjson"))
                }
                let answer = try await place.fixture.service.send(
                    call.method, call.path, json: call.body, as: .bearer(secret), fields: fields)
                if answer.status == 202 { try await place.fixture.service.composition.jobs.round() }
                run.take(answer, of: call)
                #expect(answer.status < 500, "\(run.told) \(answer.text)")
                if answer.status < 300 { done += 1 } else { refused += 1 }
                let says =
                    "round \(round): \(key.scopes.sorted()) bound \(key.isBound) platform \(key.isPlatform) \(run.told)"
                // By design, where the provider's word or the key's own scope leads to an admin.
                if key.leads || call.isVouched && key.scopes.contains("hooks:signup") { continue }
                for (thing, role) in try await place.control() where before[thing] != role {
                    if let id = key.ownerID, thing.contains("of \(id)") { continue }
                    #expect(key.covers(role), "\(thing) as \(role): \(says)")
                    if let was = before[thing] {
                        #expect(key.covers(was), "\(thing) was \(was): \(says)")
                    }
                }
                for (id, stored) in try await place.keys() where stored.isMore(than: keys[id]) {
                    #expect(key.reaches(stored), "key \(id) \(stored.scopes): \(says)")
                }
            }
        }
        print("\(done) done, \(refused) refused, \(further) by keys made on the way")
        #expect(done > 60 && refused > 150 && further > 20, "\(done) \(refused) \(further)")
    }

    @Test func `an action that only takes away needs just its scope`() async throws {
        let place = try await Place.make()
        let service = place.fixture.service
        func key(_ scopes: String) async throws -> TestService.Credential {
            try await service.makeKey(scopes, #","allowed_ips":["0.0.0.0/0","::/0"]"#).credential
        }
        let admin = try #require(place.people.first { $0.role == .admin && $0.state == "active" })
        let path = "/v1/tenants/acme/users/\(admin.id)"
        let users = try await key(#""users:write""#)
        for (method, verb) in [
            (HTTP.Method.post, "/suspend"), (.delete, "/sessions"), (.delete, ""),
        ] {
            let answer = try await service.send(method, path + verb, as: users)
            #expect((200..<300).contains(answer.status), "\(verb) \(answer.text)")
        }
        let keys = try await key(#""api-keys:write""#)
        let ended = try await service.send(
            .post, "/v1/tenants/acme/api-keys/revoke",
            json: #"{"owner_user_id":"\#(admin.id)","reason":"incident"}"#, as: keys)
        #expect(ended.status == 200, "\(ended.text)")
        let invite = place.invites[.admin] ?? ""
        let revoked = try await service.send(
            .post, "/v1/tenants/acme/invites/\(invite)/revoke",
            as: try await key(#""invites:write""#))
        #expect(revoked.status == 200, "\(revoked.text)")
    }

    @Test func `a refusal names the scopes that are missing`() async throws {
        let place = try await Place.make()
        let service = place.fixture.service
        let narrow = try await service.makeKey(#""users:write","users:read""#).credential
        let refused = try await service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"x@a.example","role":"admin"}"#,
            as: narrow)
        #expect(refused.status == 403)
        for scope in ["invites:write", "api-keys:write", "hooks:signup"] {
            #expect(refused.text.contains(scope), "\(refused.text)")
        }
        let platform = try await service.makeKey(#""users:write""#, at: "/v1/api-keys").credential
        let alike = try await service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"x@a.example","role":"admin"}"#,
            as: platform)
        #expect(alike.status == 403 && alike.text.contains("invites:write"), "\(alike.text)")
    }

    @Test func `what a key makes ends with the key, and says so`() async throws {
        let place = try await Place.make()
        let service = place.fixture.service
        let end = place.fixture.clock.now.adding(seconds: 900)
        let list = (Self.ofAdmin + ["users:read", "invites:read"]).map { "\"\($0)\"" }
            .joined(separator: ",")
        let key = try await service.makeKey(list, #","expires_at":"\#(end)""#).credential
        let admin = place.people.first { $0.role == .admin && $0.state == "active" }
        let user = "/users/\(admin?.id.description ?? "")"
        let far = end.adding(seconds: 86_400)
        for (path, body) in [
            (
                "/invites",
                #"{"email":"x@a.example","role":"admin","delivery":"link","expires_at":"\#(far)"}"#
            ),
            ("/invites", #"{"email":"y@a.example","delivery":"link"}"#),
            ("/join-links", "{}"), (user + "/link-grants", "{}"), (user + "/password-link", "{}"),
        ] {
            let made = try await service.send(
                .post, "/v1/tenants/acme" + path, json: body, as: key)
            #expect(made.status == 201, "\(path) \(made.text)")
            #expect(made.json["expires_at"]?.string == end.description, "\(path) \(made.text)")
            #expect(made.json["expires_at_reason"]?.string == "maker", "\(path) \(made.text)")
        }
        let short = try await service.send(
            .post, "/v1/tenants/acme/invites",
            json:
                #"{"email":"z@a.example","delivery":"link","expires_at":"\#(end.adding(seconds: -300))"}"#,
            as: key)
        #expect(short.status == 201 && short.json["expires_at_reason"] == nil, "\(short.text)")
    }

    @Test func `a key that leads to an admin is unbound when it is made`() async throws {
        let (service, acme) = try await TestService.makeWithTenant()
        let path = "/v1/tenants/acme/api-keys"
        let owner = TestService.Credential.tenantAdmin(acme)
        let developer = try await service.session(role: .developer, tenant: acme.id)
        let bounds = [
            #""allowed_ips":["10.0.0.0/8"]"#, #""allowed_origins":["https://x.example"]"#,
            #""rate_limit":{"per_minute":5}"#,
        ]
        for scope in ["providers:write", "clients:write", "policy:write", "operators:write"] {
            for bound in bounds {
                let made = try await service.send(
                    .post, path, json: #"{"name":"k","scopes":["\#(scope)"],\#(bound)}"#,
                    as: .platformOwner)
                #expect(made.status == 422, "\(scope) \(bound) \(made.text)")
                #expect(made.json["errors"]?.array?.first?["pointer"]?.string == "/scopes/0")
            }
            let refused = try await service.send(
                .post, path, json: #"{"name":"k","scopes":["\#(scope)"]}"#, as: .session(developer))
            #expect(refused.status == 403, "\(scope) \(refused.text)")
        }
        let made = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["clients:write"]}"#, as: owner)
        #expect(made.status == 201, "\(made.text)")
        let id = made.json["id"]?.string ?? ""
        let bound = try await service.send(
            .patch, "\(path)/\(id)", json: "{\(bounds[0])}", as: owner)
        #expect(bound.status == 200, "a bound may be added: \(bound.text)")
        let hook = try await service.send(
            .post, path, json: #"{"name":"k","scopes":["hooks:signup"],\#(bounds[0])}"#, as: owner)
        #expect(hook.status == 201, "\(hook.text)")
    }
}
