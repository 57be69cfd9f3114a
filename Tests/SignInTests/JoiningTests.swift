import Gatehouse
import HTTP
import JSON
import Outbound
import Storage
import TestSupport
import Testing
import Text

/// People who hold an invite and sign in at a real provider, from the acceptance page on.
@Suite(.serialized, .cleansUp) struct JoiningTests {
    private static let callback = "http://gatehouse.test/sign-in/callback"
    private static let address = "person1@example.com"
    private static let page = [
        Field("sec-fetch-site", "same-origin"), Field("x-gatehouse-console", "1"),
    ]

    private struct Fixture {
        let service: TestService
        let log: CapturedLog
        let provider: RealProvider
        let id: String

        init() async throws {
            provider = try RealProvider(redirects: [JoiningTests.callback], people: 2)
            log = CapturedLog()
            service = try await TestService.make(
                externalServices: ExternalServices(providers: OutboundPolicy(allowsLoopback: true)),
                logger: log.logger)
            try await service.makeTenant("acme")
            let made = try await service.manage(
                .post, "/v1/providers",
                #"{"kind":"oidc","name":"Canaille","issuer":"\#(provider.issuer)","client_id":"#
                    + #""\#(RealProvider.clientID)","secret":"\#(RealProvider.secret)","#
                    + #""email_trust":"authoritative","domains":["example.com"]}"#)
            id = made["id"]?.string ?? ""
            // The tenant's pages offer what its clients name.
            try await service.manage(
                .put, "/v1/tenants/acme/clients/immich",
                #"{"enabled":true,"settings":{"provider":"\#(id)"}}"#)
        }

        func invite() async throws -> (id: String, token: String) {
            let made = try await service.manage(
                .post, "/v1/tenants/acme/invites",
                #"{"email":"\#(address)","role":"manager","delivery":"link","resend":true}"#)
            return (made["id"]?.string ?? "", made["token"]?.string ?? "")
        }

        func begin(
            _ token: String, at provider: String? = nil, fields: [Field] = page,
            isTLS: Bool = false, to replica: Composition? = nil
        ) async throws -> TestAnswer {
            try await service.send(
                .post, "/v1/invites/sign-in",
                json: #"{"token":"\#(token)","provider":"\#(provider ?? id)"}"#, fields: fields,
                isTLS: isTLS, to: replica)
        }

        /// The way back from the provider, and the cookie of the browser that goes it.
        func pass(
            _ token: String, as person: String, to replica: Composition? = nil
        ) async throws -> (way: String, cookie: Field) {
            let begun = try await begin(token, to: replica)
            #expect(begun.status == 200, "\(begun.text)")
            let cookie = String((begun.first("set-cookie") ?? "").prefix { $0 != ";" })
            let url = begun.json["url"]?.string ?? ""
            let way = try provider.authorize(url, as: person)
            for text in [url, way, cookie] { #expect(!text.contains(token)) }
            return (
                String(way.dropFirst("http://gatehouse.test".utf8.count)), Field("cookie", cookie)
            )
        }

        func end(
            _ pass: (way: String, cookie: Field), to replica: Composition? = nil
        ) async throws -> TestAnswer {
            try await service.send(.get, pass.way, fields: [pass.cookie], to: replica)
        }

        func items(_ path: String) async throws -> [JSONValue] {
            let answer = try await service.send(
                .get, "/v1/tenants/acme/\(path)", as: .platformOwner)
            return answer.json["items"]?.array ?? []
        }

        func actions() async throws -> [String] {
            try await items("audit-events").compactMap { $0["action"]?.string }
        }
    }

    @Test func `an invited person signs in, on another server than began it, and is in once`()
        async throws
    {
        let fixture = try await Fixture()
        let (_, token) = try await fixture.invite()
        let seen = try await fixture.service.send(
            .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
        #expect(
            seen.json["providers"]
                == .array([
                    .object([
                        .init("id", .string(fixture.id)), .init("name", .string("Canaille")),
                        .init("kind", .string("oidc")),
                    ])
                ]))
        let other = try fixture.service.replica()
        let pass = try await fixture.pass(token, as: "person1")
        #expect(try await fixture.items("invites").first?["status"]?.string == "pending")
        let done = try await fixture.end(pass, to: other)
        #expect(done.status == 200 && done.text.contains("You are signed up"), "\(done.text)")
        #expect(done.text.contains("You are known as \(Self.address)."))
        let users = try await fixture.items("users")
        #expect(users.count == 1)
        #expect(users.first?["status"]?.string == "active")
        #expect(users.first?["role"]?.string == "manager")
        #expect(try await fixture.items("invites").first?["status"]?.string == "accepted")
        #expect(try await fixture.actions().filter { $0 == "invite.accepted" }.count == 1)

        // The way back goes nowhere twice, and the invite begins nothing any more.
        #expect(try await fixture.end(pass).text.contains("begin again"))
        let late = try await fixture.begin(token)
        #expect(late.status == 404 && late.json["code"]?.string == "invite_unknown")
        let shown = try await fixture.service.send(
            .post, "/v1/invites/preview", json: #"{"token":"\#(token)"}"#)
        #expect(shown.status == 404)
        #expect(!fixture.log.text.contains(token))
    }

    @Test func `another verified address is refused, and the invite waits`() async throws {
        let fixture = try await Fixture()
        let (_, token) = try await fixture.invite()
        let refused = try await fixture.end(try await fixture.pass(token, as: "person2"))
        #expect(refused.status == 403, "\(refused.text)")
        #expect(refused.text.contains("The invite is for another address."))
        #expect(!refused.text.contains(Self.address))
        let decision = try await fixture.items("provisioning/decisions").first
        #expect(decision?["reason"]?.string == "invite_email_mismatch")
        #expect(try await fixture.items("invites").first?["status"]?.string == "pending")
        #expect(try await fixture.items("users").first?["status"]?.string == "pending")
        // Its own address still gets in.
        let done = try await fixture.end(try await fixture.pass(token, as: "person1"))
        #expect(done.status == 200, "\(done.text)")
    }

    @Test func `two browsers at once make one user, and both sign-ins succeed`() async throws {
        let fixture = try await Fixture()
        let (_, token) = try await fixture.invite()
        let other = try fixture.service.replica()
        let first = try await fixture.pass(token, as: "person1")
        let second = try await fixture.pass(token, as: "person1", to: other)
        async let one = fixture.end(first)
        async let two = fixture.end(second, to: other)
        for answer in [try await one, try await two] {
            #expect(answer.status == 200, "\(answer.text)")
        }
        let users = try await fixture.items("users")
        #expect(users.count == 1 && users.first?["identities"]?.array?.count == 1)
        #expect(try await fixture.actions().filter { $0 == "invite.accepted" }.count == 1)
    }

    @Test func `an invite that was revoked during the sign-in admits by no other rule`()
        async throws
    {
        let fixture = try await Fixture()
        let (id, token) = try await fixture.invite()
        let pass = try await fixture.pass(token, as: "person1")
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/invites/\(id)/revoke", "{}")
        try await fixture.service.manage(
            .post, "/v1/tenants/acme/users", #"{"email":"\#(Self.address)"}"#)
        let refused = try await fixture.end(pass)
        #expect(refused.status == 403 || refused.status == 409 || refused.status == 410)
        #expect(refused.text.contains("The invite is no longer valid"), "\(refused.text)")
        #expect(try await fixture.items("users").first?["status"]?.string == "pending")
    }

    @Test func `another browser, another site's page and another provider get nowhere`()
        async throws
    {
        let fixture = try await Fixture()
        let (_, token) = try await fixture.invite()
        let pass = try await fixture.pass(token, as: "person1")
        let stolen = try await fixture.service.send(.get, pass.way)
        #expect(stolen.status == 400 && stolen.text.contains("begin again"))
        for site in ["cross-site", "same-site", "none"] {
            let answer = try await fixture.begin(token, fields: [Field("sec-fetch-site", site)])
            #expect(answer.status == 403, "\(site)")
        }
        let unknown = try await fixture.begin(token, at: UUID.random().description)
        #expect(unknown.status == 400, "\(unknown.text)")
        let wrong = try await fixture.begin(String(token.reversed()))
        #expect(wrong.status == 404, "\(wrong.text)")
        // Its page, asked for by whatever looks at links, changes nothing.
        for method in [HTTP.Method.get, .head] {
            _ = try await fixture.service.send(method, "/invite")
        }
        #expect(try await fixture.items("invites").first?["status"]?.string == "pending")
        // The browser that began ends it still.
        #expect(try await fixture.end(pass).status == 200)
    }
}
