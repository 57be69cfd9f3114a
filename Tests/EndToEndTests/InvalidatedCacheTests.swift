import API
import Domain
import Gatehouse
import JSON
import Postgres
import Storage
import TestSupport
import Testing

/// Every way to take something back: what one replica remembers as good is refused there once the
/// call that withdrew it at another has returned.
@Suite(.cleansUp) struct InvalidatedCacheTests {
    private typealias Answer = RunningService.Answer

    private struct Question: Sendable {
        var request: String
        var accepted: @Sendable (Answer) -> Bool
    }

    private struct Prepared {
        var questions: [Question]
        var withdraw: () throws -> Answer
    }

    private struct Case: Sendable {
        var name: String
        /// The audit action that the revocation is written down as.
        var action: String
        var prepare: @Sendable (Place) throws -> Prepared
    }

    /// The tenant of one case, seen from the replica at which things are made and withdrawn.
    private struct Place: Sendable {
        let port: Int
        let auth: String
        let slug: String

        var tenant: String { "/v1/tenants/\(slug)" }
        /// No other case's: the platform lists each origin once.
        var origin: String { "https://app.\(slug).example" }

        func send(_ method: String, _ target: String, _ body: String = "") throws -> Answer {
            var wire = try Wire(port: port)
            let match = method == "PUT" ? ["If-Match: *"] : []
            return try wire.exchange(
                Wire.request(method, target, body: body, fields: [auth] + match))
        }

        @discardableResult
        func make(_ method: String, _ target: String, _ body: String) throws -> JSONValue {
            let answer = try send(method, target, body)
            #expect((200..<300).contains(answer.status), "\(method) \(target) \(answer.body)")
            return try JSONValue(parsing: Array(answer.body.utf8))
        }

        func key(
            _ scope: String = "smtp", _ more: String = ""
        ) throws -> (path: String, secret: String) {
            let made = try make(
                "POST", "\(tenant)/api-keys", #"{"name":"k","scopes":["\#(scope)"]\#(more)}"#)
            let id = try #require(made["id"]?.string)
            return ("\(tenant)/api-keys/\(id)", try #require(made["key"]?.string))
        }

        func user(_ name: String, role: String = "member") throws -> String {
            let made = try make(
                "POST", "\(tenant)/users", #"{"email":"\#(name)@x.example","role":"\#(role)"}"#)
            return try #require(made["id"]?.string)
        }

        func rotate(_ path: String) throws -> String {
            let made = try make("POST", "\(path)/rotate", #"{"grace_seconds":3600}"#)
            return try #require(made["key"]?.string)
        }

        /// Answers the path of the line.
        func list(_ origin: String, at place: String? = nil) throws -> String {
            let path = "\(place ?? tenant)/cors-origins"
            let made = try make("POST", path, #"{"origin":"\#(origin)"}"#)
            let id = try #require(made["id"]?.string)
            return "\(path)/\(id)"
        }

        /// Alone and among many. `terms`: what it is asked for, and from where.
        func verify(
            _ secret: String, _ terms: String = "", seen: String = #""valid":true"#
        ) -> [Question] {
            let one = #"{"key":"\#(secret)"\#(terms)}"#
            return [("", one), ("-batch", #"{"keys":[\#(one)]}"#)].map { more, body in
                Question(
                    request: Wire.request(
                        "POST", "/v1/api-keys/verify" + more, body: body, fields: [auth])
                ) { $0.body.contains(seen) }
            }
        }

        /// A request that the key makes itself.
        func get(_ target: String, by secret: String, _ fields: String...) -> Question {
            Question(
                request: Wire.request(
                    "GET", target, fields: ["Authorization: Bearer \(secret)"] + fields)
            ) { $0.status == 200 }
        }

        func preflight(
            _ target: String? = nil, from origin: String? = nil, method: String = "GET"
        ) -> Question {
            Question(
                request: Wire.request(
                    "OPTIONS", target ?? "\(tenant)/users",
                    fields: [
                        "Origin: \(origin ?? self.origin)",
                        "Access-Control-Request-Method: \(method)",
                    ])
            ) { $0.status == 204 }
        }
    }

    /// What happens to a key itself. `made`: more of its body; `terms`: what it is asked for;
    /// `seen`: what a good verdict says.
    private static func key(
        _ name: String, _ action: String, made: String = "", terms: String = "",
        seen: String = #""valid":true"#, isRotated: Bool = false, isOwn: Bool = true,
        _ withdraw: @escaping @Sendable (Place, _ path: String) throws -> Answer
    ) -> Case {
        Case(name: name, action: action) { place in
            let key = try place.key("users:read", made)
            if isRotated { _ = try place.rotate(key.path) }
            let own = isOwn ? [place.get("\(place.tenant)/users", by: key.secret)] : []
            return Prepared(questions: place.verify(key.secret, terms, seen: seen) + own) {
                try withdraw(place, key.path)
            }
        }
    }

    private static let keyCases: [Case] = [
        key("scopes narrowed", "api_key.updated", terms: #","scopes":["users:read"]"#) {
            try $0.send("PATCH", $1, #"{"scopes":["smtp"]}"#)
        },
        key("addresses narrowed", "api_key.updated", terms: #","ip":"127.0.0.1""#) {
            try $0.send("PATCH", $1, #"{"allowed_ips":["192.0.2.1"]}"#)
        },
        // In its plainest form the question names no address.
        key("addresses given", "api_key.updated") {
            try $0.send("PATCH", $1, #"{"allowed_ips":["192.0.2.1"]}"#)
        },
        key(
            "origins narrowed", "api_key.updated",
            made: #","allowed_origins":["https://one.example","https://two.example"]"#,
            terms: #","origin":"https://one.example""#, isOwn: false
        ) { try $0.send("PATCH", $1, #"{"allowed_origins":["https://two.example"]}"#) },
        // An end in the past is refused when it is set, so the end that the verdict tells is seen.
        key("an end given", "api_key.updated", seen: #""expires_at":null"#, isOwn: false) {
            try $0.send("PATCH", $1, #"{"expires_at":"2099-01-01T00:00:00Z"}"#)
        },
        key("rotated without grace", "api_key.rotated") {
            try $0.send("POST", "\($1)/rotate", "{}")
        },
        key("the old secret cut in its grace", "api_key.cut", isRotated: true) {
            try $0.send("POST", "\($1)/cut")
        },
        Case(name: "a rotation taken back", action: "api_key.rolled_back") { place in
            let path = try place.key().path
            return Prepared(questions: place.verify(try place.rotate(path))) {
                try place.send("POST", "\(path)/rollback")
            }
        },
        key("revoked", "api_key.revoked") { try $0.send("POST", "\($1)/revoke", "{}") },
        Case(name: "revoked with the key that made it", action: "api_key.revoked") { place in
            let maker = try place.key("api-keys:write")
            let heir = try Place(
                port: place.port, auth: "Authorization: Bearer \(maker.secret)", slug: place.slug
            ).key("api-keys:write")
            return Prepared(questions: place.verify(heir.secret)) {
                try place.send(
                    "POST", "\(maker.path)/revoke", #"{"reason":"leaked","made_by":true}"#)
            }
        },
        key("all keys of the tenant revoked", "api_key.revoked") { place, _ in
            try place.send("POST", "\(place.tenant)/api-keys/revoke", #"{"reason":"over"}"#)
        },
        owner("all keys of a user revoked", "api_key.revoked") { place, user in
            let id = user.suffix(36)
            return try place.send(
                "POST", "\(place.tenant)/api-keys/revoke",
                #"{"owner_user_id":"\#(id)","reason":"over"}"#)
        },
    ]

    /// What a user's own key is asked about before something happens to the user.
    private static func owner(
        _ name: String, _ action: String,
        _ withdraw: @escaping @Sendable (Place, _ user: String) throws -> Answer
    ) -> Case {
        Case(name: name, action: action) { place in
            let (user, other) = (try place.user("u", role: "admin"), try place.user("other"))
            let secret = try place.key(
                "users:read", #","owner":{"type":"user","id":"\#(user)"}"#
            ).secret
            let path = "\(place.tenant)/users/"
            // A member sees no other member, so the key's role counts too.
            let own = place.get(path + other, by: secret)
            let all = action == "user.updated" ? [own] : place.verify(secret) + [own]
            return Prepared(questions: all) { try withdraw(place, path + user) }
        }
    }

    private static func tenant(
        _ name: String, _ action: String, _ withdraw: @escaping @Sendable (Place) throws -> Answer
    ) -> Case {
        Case(name: name, action: action) { place in
            _ = try place.list(place.origin)
            let key = try place.key("users:read")
            return Prepared(
                questions: place.verify(key.secret)
                    + [place.get("\(place.tenant)/users", by: key.secret), place.preflight()]
            ) { try withdraw(place) }
        }
    }

    private static let ownerCases: [Case] = [
        owner("a user is suspended", "user.suspended") { try $0.send("POST", "\($1)/suspend") },
        owner("a user gets a lower role", "user.updated") {
            try $0.send("PATCH", $1, #"{"role":"member"}"#)
        },
        Case(name: "an attribute of a user is removed", action: "user.updated") { place in
            let user = try place.user("u")
            let path = "\(place.tenant)/users/\(user)"
            try place.make("PATCH", path, #"{"public_attributes":{"plan":"team"}}"#)
            let secret = try place.key("smtp", #","owner":{"type":"user","id":"\#(user)"}"#).secret
            let seen = #""attributes":{"plan":"team"}"#
            return Prepared(questions: place.verify(secret, seen: seen)) {
                try place.send("PATCH", path, #"{"public_attributes":{"plan":null}}"#)
            }
        },
        owner("a user is deleted", "user.deleted") { try $0.send("DELETE", $1) },
        owner("a user is purged", "user.purged") { place, user in
            let asked = try place.send("DELETE", "\(user)?purge=true")
            let confirm = try JSONValue(parsing: Array(asked.body.utf8))["confirm"]?.string
            return try place.send("DELETE", "\(user)?purge=true&confirm=\(confirm ?? "")")
        },
        tenant("a tenant is suspended", "tenant.suspended") {
            try $0.send("POST", "\($0.tenant)/suspend")
        },
        tenant("a tenant is deleted", "tenant.deleted") { try $0.send("DELETE", $0.tenant) },
    ]

    /// What an origin is asked about that is about to leave the tenant's list.
    private static func listed(
        _ name: String, _ action: String,
        _ withdraw: @escaping @Sendable (Place, _ line: String) throws -> Answer
    ) -> Case {
        Case(name: name, action: action) { place in
            let line = try place.list(place.origin)
            let key = try place.key("users:read")
            return Prepared(questions: [
                place.preflight(), place.preflight("/v1/api-keys/verify", method: "POST"),
                place.get("\(place.tenant)/users", by: key.secret, "Origin: \(place.origin)"),
            ]) { try withdraw(place, line) }
        }
    }

    private static let originCases: [Case] = [
        listed("an origin is deleted", "cors_origin.deleted") { try $0.send("DELETE", $1) },
        listed("a list without the origin is put", "cors_origin.deleted") { place, _ in
            try place.send("PUT", "\(place.tenant)/cors-origins", #"{"items":[]}"#)
        },
        listed("a list in which the origin has ended is put", "cors_origin.updated") { place, _ in
            let line = #"{"origin":"\#(place.origin)","expires_at":"2020-01-01T00:00:00Z"}"#
            return try place.send(
                "PUT", "\(place.tenant)/cors-origins", #"{"items":[\#(line)]}"#)
        },
        Case(name: "the platform's origin is deleted", action: "cors_origin.deleted") { place in
            let line = try place.list(place.origin, at: "/v1")
            return Prepared(questions: [place.preflight("/v1/tenants"), place.preflight()]) {
                try place.send("DELETE", line)
            }
        },
        Case(name: "development origins are switched off", action: "policy.updated") { place in
            let policy = "\(place.tenant)/policy"
            try place.make("PUT", policy, #"{"dev_origins":true}"#)
            return Prepared(questions: [place.preflight(from: "http://localhost:5173")]) {
                try place.send("PUT", policy, #"{"dev_origins":false}"#)
            }
        },
        Case(name: "the domain under a wildcard is given up", action: "domain.deleted") { place in
            let domains = "\(place.tenant)/domains"
            let made = try place.make("POST", domains, #"{"domain":"\#(place.slug).example"}"#)
            let domain = "\(domains)/\(made["id"]?.string ?? "")"
            // By the platform's word: no name server is asked.
            try place.make("POST", "\(domain)/verify", #"{"method":"operator"}"#)
            _ = try place.list("https://*.\(place.slug).example")
            return Prepared(questions: [place.preflight()]) { try place.send("DELETE", domain) }
        },
        Case(name: "a client is switched off", action: "client.updated") { place in
            let path = "\(place.tenant)/clients/immich"
            func body(_ enabled: Bool) -> String {
                #"{"enabled":\#(enabled),"hosts":[],"redirect_uris":[],"settings":{}}"#
            }
            try place.make("PUT", path, body(true))
            let ping = Wire.request("GET", "/t/\(place.slug)/immich/api/server/ping")
            return Prepared(questions: [Question(request: ping) { $0.status == 200 }]) {
                try place.send("PUT", path, body(false))
            }
        },
    ]

    private static let cases = keyCases + ownerCases + originCases

    /// What is withdrawn here, by its audit action.
    static let actions = Set(cases.map(\.action))

    /// Two replicas on one database: things happen at the first, the second is asked.
    private struct Fixture {
        let first: RunningService
        let second: RunningService
        let administrator: Postgres
        let auth: String

        init() async throws {
            let first = try await RunningService(Self.configure)
            second = try await RunningService(replacing: first, Self.configure)
            administrator = first.database.client(as: first.database.administrator)
            let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
            #expect(
                try await first.service.composition.application.database.installSetupKey(
                    secret.text))
            auth = "Authorization: Bearer \(secret.text)"
            self.first = first
        }

        private static func configure(_ configuration: inout ServiceConfiguration) {
            // Long: while it holds, nothing is forgotten but by a notice.
            configuration.lease = .seconds(20)
            configuration.threads = 1
        }

        /// What `one` prepares in a tenant of its own, where every user has signed in once.
        func prepare(_ one: (Place) throws -> Prepared, in slug: String) async throws -> Prepared {
            let place = Place(port: first.service.port, auth: auth, slug: slug)
            try place.make("POST", "/v1/tenants", #"{"slug":"\#(slug)","name":"T"}"#)
            let prepared = try one(place)
            _ = try await administrator.query(
                "UPDATE users SET status = 'active' WHERE status = 'pending'")
            // A replica without its lease remembers nothing.
            while !second.service.composition.application.database.replica.isTrusted {
                _ = try await administrator.query("SELECT 1")
            }
            return prepared
        }

        func ask(_ question: Question) throws -> Answer {
            var wire = try Wire(port: second.service.port)
            return try wire.exchange(question.request)
        }
    }

    @Test func `an access withdrawn at one replica is refused by another that has it in its cache`()
        async throws
    {
        let fixture = try await Fixture()
        for (number, one) in Self.cases.enumerated() {
            let prepared = try await fixture.prepare(one.prepare, in: "tenant-\(number)")
            for question in prepared.questions + prepared.questions {
                let answer = try fixture.ask(question)
                #expect(question.accepted(answer), "before: \(one.name) \(answer)")
            }
            let withdrawn = try prepared.withdraw()
            #expect((200..<300).contains(withdrawn.status), "\(one.name) \(withdrawn)")
            for question in prepared.questions {
                let answer = try fixture.ask(question)
                #expect(
                    answer.status < 500 && !question.accepted(answer), "\(one.name) \(answer)")
            }
        }
    }

    /// Without this the test above would hold for replicas that remember nothing.
    @Test func `a change without a notice to the replicas is still answered from memory`()
        async throws
    {
        let fixture = try await Fixture()
        let prepared = try await fixture.prepare(
            { place in
                _ = try place.list(place.origin)
                let questions = place.verify(try place.key().secret) + [place.preflight()]
                return Prepared(questions: questions) { Answer(head: "", body: "") }
            }, in: "acme")
        let questions = prepared.questions
        for question in questions + questions {
            #expect(question.accepted(try fixture.ask(question)))
        }
        _ = try await fixture.administrator.query(
            "UPDATE api_keys SET revoked_at = now() WHERE owner_type = 'tenant'")
        _ = try await fixture.administrator.query("DELETE FROM cors_origins")
        for question in questions { #expect(question.accepted(try fixture.ask(question))) }
    }
}
