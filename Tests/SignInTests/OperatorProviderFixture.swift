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

/// A platform's owner with a password, and a provider that is authoritative for the owner's domain.
struct OperatorProviderFixture {
    typealias Jar = HostedFixture.Jar
    static let email = "owner@door.example"
    static let password = "correct horse battery staple"
    static let callback = "/v1/session/provider/callback"
    static let subject = "subject-1"
    static let trust = #","email_trust":"authoritative","domains":["door.example","other.example"]"#

    let service: TestService
    let clock: TestClock
    let provider: TestProvider
    /// The provider's id.
    let id: String
    let owner: OperatorRow

    /// `trust`: of the provider, with its comma; nil: nothing is set up at it.
    static func make(
        trust: String = trust, isSetUp: Bool = true, secondFactorDays: Int? = nil
    ) async throws -> OperatorProviderFixture {
        let clock = TestClock()
        let service = try await TestService.make(
            secondFactorDays: secondFactorDays, clock: { clock.now })
        let provider = try await TestProvider.start()
        let hash = try await service.composition.application.passwords.hash(Array(password.utf8))
        let owner = try await service.storage.createOperator(
            email: email, emailKey: email, name: "Owner", role: .owner, tenant: nil,
            passwordHash: hash, by: .system)
        let made = try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"oidc","name":"Door","issuer":"\#(provider.issuer)","client_id":"web"\#(trust)}"#
        )
        let fixture = OperatorProviderFixture(
            service: service, clock: clock, provider: provider, id: made["id"]?.string ?? "",
            owner: owner)
        if isSetUp { try await fixture.setUp() }
        return fixture
    }

    func setUp(_ more: String = "") async throws {
        try await service.manage(.put, "/v1/operator-sign-in", body(more))
    }

    /// `more`: further members, with their comma.
    func body(_ more: String = "", domain: String = "door.example") -> String {
        #"{"provider":"\#(id)","domains":["\#(domain)"]\#(more)}"#
    }

    /// As a browser with these cookies sends it from a page of ours.
    func send(
        _ method: HTTP.Method, _ target: String, _ json: String? = nil, _ jar: Jar
    ) async throws -> TestAnswer {
        let page = [Field("x-gatehouse-console", "1"), Field("sec-fetch-site", "same-origin")]
        return jar.take(
            try await service.send(method, target, json: json, fields: jar.fields + page))
    }

    /// The redirect to the provider, and what it asks there.
    func begin(_ jar: Jar, at path: String = "/v1/session/provider") async throws -> FormText {
        let begun = try await send(.get, path, nil, jar)
        #expect(begun.status == 303, "\(begun.text)")
        let location = begun.first("location") ?? ""
        #expect(location.hasPrefix(provider.issuer), "\(location)")
        return FormText(String(location.drop { $0 != "?" }.dropFirst()))
    }

    /// The return, as the navigation from the provider's site comes: without `SameSite=Strict` cookies.
    /// `claims`: beside the nonce, as JSON.
    func end(
        _ asked: FormText, _ jar: Jar, claims: [String: String] = [:]
    ) async throws -> TestAnswer {
        var all = [
            "nonce": "\"\(asked.first("nonce") ?? "")\"", "email": "\"\(Self.email)\"",
            "sub": "\"\(Self.subject)\"",
        ]
        all.merge(authenticated(0)) { $1 }
        all.merge(claims) { $1 }
        let token = provider.mint(clientID: "web", now: clock.now).token(all)
        provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        let strict = jar.cookies.filter { ["gatehouse", "gatehouse-device"].contains($0.key) }
        for name in strict.keys { jar.cookies[name] = nil }
        let answer = jar.take(
            try await service.send(
                .get, "\(Self.callback)?code=c&state=\(asked.first("state") ?? "")",
                fields: jar.fields + [Field("sec-fetch-site", "cross-site")]))
        jar.cookies.merge(strict) { new, _ in new }
        return answer
    }

    func passThrough(_ jar: Jar, claims: [String: String] = [:]) async throws -> TestAnswer {
        try await end(try await begin(jar), jar, claims: claims)
    }

    /// A browser that is signed in through the provider.
    func signedIn(claims: [String: String] = [:]) async throws -> Jar {
        let jar = Jar()
        let done = try await passThrough(jar, claims: claims)
        #expect(done.first("location") == "/console/sign-in#signed-in", "\(done.text)")
        return jar
    }

    func signIn(_ jar: Jar) async throws -> TestAnswer {
        try await send(
            .post, "/v1/session", #"{"email":"\#(Self.email)","password":"\#(Self.password)"}"#, jar
        )
    }

    /// `auth_time`, so many seconds from now: a number that need not be whole.
    func authenticated(_ seconds: Int64) -> [String: String] {
        ["auth_time": "\(clock.now.microseconds / 1_000_000 + seconds).5"]
    }

    func bound() async throws -> Int {
        let rows = try await service.storage.app.read("SELECT count(*) FROM operator_identities")
        return try rows[0].get(0)
    }

    func devices() async throws -> Int {
        let rows = try await service.storage.app.read("SELECT count(*) FROM operator_devices")
        return try rows[0].get(0)
    }

    func actions() async throws -> [String] {
        let rows = try await service.storage.scope(.platform).read(
            """
            SELECT action FROM audit_events WHERE tenant_id = \(UUID.platform)
            ORDER BY occurred_at DESC, seq DESC
            """)
        return try rows.map { try $0.get(0) }
    }

    func session(_ jar: Jar) async throws -> JSONValue {
        try await send(.get, "/v1/session", nil, jar).json
    }
}
