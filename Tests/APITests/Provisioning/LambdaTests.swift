import Cryptography
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// The Lambda Invoke shape: who may call it, and for which pool.
@Suite(.cleansUp) struct LambdaTests {
    private static let target = "/2015-03-31/functions/pre-signup/invocations"

    private struct Fixture {
        let base: ProvisioningFixture
        let clock: TestClock
        let provider: String

        func event(_ email: String = "ann@ex.com", pool: String = ProvisioningFixture.pool)
            -> String
        {
            ProvisioningFixture.event(
                "PreSignUp_ExternalProvider", userName: "Google_\(email.prefix(3))", email: email
            ).replacing(ProvisioningFixture.pool, with: pool)
        }

        func credential(
            of provider: String? = nil, as who: TestService.Credential = .platformOwner
        ) async throws -> (id: String, secret: String) {
            let answer = try await base.service.send(
                .post, "/v1/providers/\(provider ?? self.provider)/hook-credentials",
                json: #"{"name":"forwarder"}"#, as: who)
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.first("cache-control") == "no-store")
            return (answer.json["id"]?.string ?? "", answer.json["secret"]?.string ?? "")
        }

        /// As an AWS client sends it; `late` seconds lie between its clock and ours.
        func signed(
            _ json: String, _ key: (id: String, secret: String), late: Int64 = 0,
            service: String = "lambda", from address: String = "203.0.113.9"
        ) async throws -> TestAnswer {
            let digits = clock.now.adding(seconds: -late).description.filter { $0.isNumber }
            let (day, time) = (String(digits.prefix(8)), digits.dropFirst(8).prefix(6))
            let date = "\(day)T\(time)Z"
            let scope = [day, "eu-central-1", service, "aws4_request"]
            let canonical = [
                "POST", LambdaTests.target, "", "host:gatehouse.test", "x-amz-date:\(date)", "",
                "host;x-amz-date", Hex.encode(SHA256.hash(Array(json.utf8))),
            ].joined(separator: "\n")
            let text = [
                "AWS4-HMAC-SHA256", date, scope.joined(separator: "/"),
                Hex.encode(SHA256.hash(Array(canonical.utf8))),
            ].joined(separator: "\n")
            let made = scope.reduce(Array("AWS4\(key.secret)".utf8)) {
                SHA256.authenticate(Array($1.utf8), key: $0)
            }
            let signature = Hex.encode(SHA256.authenticate(Array(text.utf8), key: made))
            return try await base.service.send(
                .post, LambdaTests.target, json: json,
                fields: [
                    Field("host", "gatehouse.test"), Field("x-amz-date", date),
                    Field(
                        "authorization",
                        "AWS4-HMAC-SHA256 Credential=\(key.id)/\(scope.joined(separator: "/")), "
                            + "SignedHeaders=host;x-amz-date, Signature=\(signature)"),
                ], from: address)
        }
    }

    private static func make() async throws -> Fixture {
        let clock = TestClock()
        let base = try await ProvisioningFixture.make(clock: { clock.now })
        let list = try await base.service.send(
            .get, "/v1/providers?kind=cognito", as: .platformOwner)
        let id = list.json["items"]?.array?.first?["id"]?.string ?? ""
        return Fixture(base: base, clock: clock, provider: id)
    }

    @Test func `a signed call is taken once its credential exists, and not after`() async throws {
        let fixture = try await Self.make()
        try await fixture.base.invite("ann@ex.com")
        let key = try await fixture.credential()
        let path = "/v1/providers/\(fixture.provider)/hook-credentials"
        let list = try await fixture.base.service.send(.get, path, as: .platformOwner)
        #expect(list.json["items"]?.array?.first?["id"]?.string == key.id)
        #expect(!list.text.contains(key.secret))
        let first = try await fixture.signed(fixture.event(), key)
        #expect(first.status == 200, "\(first.text)")
        #expect(first.first("x-amz-function-error") == nil)
        #expect(first.json["response"]?["autoConfirmUser"]?.bool == false)
        #expect(try await fixture.signed(fixture.event(), key).bytes == first.bytes)
        #expect(try await fixture.base.count("users") == 1)
        let sealed = try await fixture.base.service.storage.app.read(
            "SELECT encode(sealed, 'escape') FROM hook_credentials")
        #expect(try !sealed[0].get(0, as: String.self).contains(key.secret))
        for status in [204, 404] {
            let gone = try await fixture.base.service.send(
                .delete, "\(path)/\(key.id)", as: .platformOwner)
            #expect(gone.status == status)
        }
        #expect(try await fixture.signed(fixture.event(), key).status == 401)
        #expect(
            try await fixture.base.count(
                "audit_events WHERE action LIKE 'hook_credential.%'", platform: true) == 2)
    }

    @Test func `a wrong secret, an old date and another service are refused alike`() async throws {
        let fixture = try await Self.make()
        let key = try await fixture.credential()
        #expect(try await fixture.signed(fixture.event(), (key.id, "wrong")).status == 401)
        let unknown = UUID.random().description
        #expect(try await fixture.signed(fixture.event(), (unknown, key.secret)).status == 401)
        #expect(try await fixture.signed(fixture.event(), ("AKIDEXAMPLE", "x")).status == 401)
        for late in [-301, 301] as [Int64] {
            #expect(try await fixture.signed(fixture.event(), key, late: late).status == 401)
        }
        #expect(try await fixture.signed(fixture.event(), key, late: 299).status == 200)
        #expect(try await fixture.signed(fixture.event(), key, service: "s3").status == 401)
    }

    @Test func `a credential that a key made is bounded as the key, and ends with it`() async throws
    {
        let fixture = try await Self.make()
        let service = fixture.base.service
        let maker = try await service.makeKey(
            #""providers:write","hooks:signup""#,
            #","expires_at":"\#(fixture.clock.now.adding(seconds: 300))""#, at: "/v1/api-keys")
        // A key that leads to an admin is made without bounds, and may get some later.
        try await service.manage(
            .patch, "/v1/api-keys/\(maker.id)",
            #"{"allowed_ips":["203.0.113.0/24"],"rate_limit":{"per_minute":3}}"#)
        let path = "/v1/providers/\(fixture.provider)/hook-credentials"
        let made = try await service.send(
            .post, path, json: "{}", as: maker.credential, from: "203.0.113.9")
        #expect(made.status == 201, "\(made.text)")
        #expect(made.json["expires_at"] == maker.json["expires_at"])
        #expect(made.json["created_by"]?["id"]?.string == maker.id)
        let key = (made.json["id"]?.string ?? "", made.json["secret"]?.string ?? "")
        // Making it was the first of three uses.
        for status in [200, 200, 429] {
            let answer = try await fixture.signed(fixture.event(), key)
            #expect(answer.status == status, "\(answer.text)")
        }
        let elsewhere = try await fixture.signed(fixture.event(), key, from: "198.51.100.1")
        #expect(elsewhere.status == 403, "\(elsewhere.text)")
        fixture.clock.advance(seconds: 300)
        #expect(try await fixture.signed(fixture.event(), key).status == 401)
        let weak = try await service.makeKey(#""providers:write""#, at: "/v1/api-keys")
        let refused = try await service.send(.post, path, json: "{}", as: weak.credential)
        #expect(refused.status == 403, "\(refused.text)")

        let free = try await service.makeKey(
            #""providers:write","hooks:signup""#, at: "/v1/api-keys")
        let last = try await service.send(.post, path, json: "{}", as: free.credential)
        let signing = (last.json["id"]?.string ?? "", last.json["secret"]?.string ?? "")
        #expect(try await fixture.signed(fixture.event(), signing).status == 200)
        try await service.manage(
            .post, "/v1/api-keys/\(free.id)/revoke", #"{"reason":"leaked","made_by":true}"#)
        #expect(try await fixture.signed(fixture.event(), signing).status == 401)
    }

    @Test func `a credential speaks for its own pool alone`() async throws {
        let fixture = try await Self.make()
        try await fixture.base.register(
            #"{"kind":"cognito","name":"Second","issuer":"eu_2"}"#)
        let key = try await fixture.credential()
        let other = try await fixture.signed(fixture.event(pool: "eu_2"), key)
        #expect(other.first("x-amz-function-error") == "Unhandled")
        #expect(
            try await fixture.base.count(
                "decisions WHERE reason = 'provider_unknown'", platform: true) == 1)
    }

    @Test func `a pool opened to this machine accepts calls only from the loopback`()
        async throws
    {
        let fixture = try await Self.make()
        try await fixture.base.invite("ann@ex.com")
        func call(from address: String, _ fields: [Field] = []) async throws -> Int {
            try await fixture.base.service.send(
                .post, Self.target, json: fixture.event(), fields: fields, from: address
            ).status
        }
        #expect(try await call(from: "127.0.0.1") == 401)
        let opened = try await fixture.base.service.send(
            .patch, "/v1/providers/\(fixture.provider)", json: #"{"lambda_open":"loopback"}"#,
            as: .platformOwner)
        #expect(opened.status == 200)
        for address in ["127.0.0.1", "::1"] {
            #expect(try await call(from: address) == 200)
            // An Authorization header is not looked at there.
            #expect(
                try await call(from: address, [Field("authorization", "Basic eA==")]) == 200)
        }
        // A proxy on this machine passes on what the whole world sends.
        for name in ["forwarded", "x-forwarded-for", "x-real-ip", "via"] {
            #expect(try await call(from: "127.0.0.1", [Field(name, "192.0.2.1")]) == 401)
        }
        for address in ["192.0.2.1", "unix", "127.0.0.2"] {
            let forwarded = [Field("x-forwarded-for", "127.0.0.1")]
            #expect(try await call(from: address, forwarded) == 401, "\(address)")
        }
        #expect(
            try await fixture.base.service.send(
                .post, "/v1/hooks/pre-signup/cognito", json: fixture.event()
            ).status == 401)
    }

    @Test func `an invocation is done, done and acknowledged, or only tried, as AWS clients ask`()
        async throws
    {
        let fixture = try await Self.make()
        try await fixture.base.invite("ann@ex.com")
        let opened = try await fixture.base.service.send(
            .patch, "/v1/providers/\(fixture.provider)", json: #"{"lambda_open":"loopback"}"#,
            as: .platformOwner)
        #expect(opened.status == 200)
        func call(
            _ type: String?, query: String = "?Qualifier=$LATEST", json: String? = nil,
            from address: String = "127.0.0.1"
        ) async throws -> TestAnswer {
            try await fixture.base.service.send(
                .post, Self.target + query, json: json ?? fixture.event(),
                fields: type.map { [Field("x-amz-invocation-type", $0)] } ?? [], from: address)
        }
        let tried = try await call("DryRun")
        #expect(tried.status == 204 && tried.bytes.isEmpty, "\(tried.text)")
        #expect(try await fixture.base.count("decisions", platform: true) == 0)
        let event = try await call("Event")
        #expect(event.status == 202 && event.bytes.isEmpty, "\(event.text)")
        #expect(try await fixture.base.count("users WHERE status = 'active'") == 1)
        // The decision has the reason of a refusal: no caller waits for the response.
        let refused = try await call("Event", json: fixture.event("eve@stranger.example"))
        #expect(refused.status == 202, "\(refused.text)")
        for type in ["RequestResponse", nil] {
            let answer = try await call(type)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer.json["triggerSource"] != nil)
        }
        let odd = try await call("requestresponse")
        #expect(odd.status == 400)
        let text = "X-Amz-Invocation-Type must be RequestResponse, Event or DryRun."
        #expect(odd.json["Message"]?.string == text, "\(odd.text)")
        let stranger = try await call("DryRun", from: "203.0.113.9")
        #expect(stranger.status == 401)
        #expect(stranger.json["Message"]?.string == stranger.json["detail"]?.string)
        #expect(stranger.first("x-amzn-errortype") == "UnrecognizedClientException")
    }

    @Test func `a tenant that registers another's pool first gets none of its users`() async throws
    {
        let fixture = try await Self.make()
        let service = fixture.base.service
        let thief = try await service.makeTenant("thief")
        func post(_ more: String) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/providers",
                json: #"{"kind":"cognito","name":"Mine","issuer":"eu_9","#
                    + #""email_trust":"verified_claim"\#(more)}"#, as: .tenantAdmin(thief))
        }
        #expect(try await post(#","lambda_open":"loopback""#).status == 422)
        let claimed = try await post("")
        #expect(claimed.status == 201, "\(claimed.text)")
        #expect(claimed.json["confirmed"]?.bool == false)
        let id = claimed.json["id"]?.string ?? ""
        _ = try await service.send(
            .put, "/v1/tenants/thief/policy", json: #"{"sign_up":"open"}"#,
            as: .platformOwner, fields: [Field("if-match", "*")])
        let event = fixture.event(pool: "eu_9")
        #expect(try await fixture.base.cognito(event).status == 403)
        #expect(
            try await fixture.base.count(
                "decisions WHERE reason = 'provider_unknown'", platform: true) == 1)
        // The tenant's own credential reaches its own claim.
        let own = try await fixture.credential(of: id, as: .tenantAdmin(thief))
        let mine = try await fixture.signed(event, own)
        #expect(mine.first("x-amz-function-error") == nil, "\(mine.text)")
        // A word of the platform confirms it; another pool's id takes that back.
        for (who, issuer, isConfirmed) in [
            (TestService.Credential.platformOwner, "eu_9", true),
            (.tenantAdmin(thief), "eu_10", false),
        ] {
            let answer = try await service.send(
                .patch, "/v1/providers/\(id)", json: #"{"issuer":"\#(issuer)"}"#, as: who)
            #expect(answer.json["confirmed"]?.bool == isConfirmed, "\(answer.text)")
        }
    }
}
