import Cryptography
import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// A tenant whose apps sign in at Canaille, where `person1` to `person9` are invited.
struct RealProviderFixture {
    static let immich = "app.immich:///oauth-callback"
    static let timetracker = "timetracker://oauth/callback"
    static let relate = "relate-mail://auth/callback"
    static let page = "http://gatehouse.test/t/acme/timetracker/auth/callback"
    static let verifier = String(repeating: "v", count: 43)

    let service: TestService
    let tenant: TenantRow
    let provider: RealProvider

    static func make(clock: TestClock? = nil) async throws -> RealProviderFixture {
        let provider = try RealProvider(redirects: [immich, timetracker, relate, page], people: 9)
        let service = try await TestService.make(clock: TestClock.reading(clock))
        let tenant = try await service.makeTenant("acme")
        let fixture = RealProviderFixture(service: service, tenant: tenant, provider: provider)
        try await fixture.prepare()
        return fixture
    }

    private func prepare() async throws {
        var ids: [String: String] = [:]
        for kind in ["oidc", "google"] {
            let made = try await service.manage(
                .post, "/v1/providers",
                #"{"kind":"\#(kind)","name":"Canaille","issuer":"\#(provider.issuer)","client_id":"#
                    + #""\#(RealProvider.clientID)","secret":"\#(RealProvider.secret)","#
                    + #""email_trust":"authoritative","domains":["example.com"]}"#)
            ids[kind] = made["id"]?.string
        }
        for (client, kind, redirects, more) in [
            ("immich", "oidc", [Self.immich], ""),
            (
                "timetracker", "oidc", [Self.timetracker, Self.page],
                #","app_url":"https://time.acme.example""#
            ),
            ("relate", "oidc", [Self.relate], ""), ("deeprecall", "google", [], ""),
        ] {
            let list = redirects.map { "\"\($0)\"" }.joined(separator: ",")
            try await service.manage(
                .put, "/v1/tenants/acme/clients/\(client)",
                #"{"enabled":true,"redirect_uris":[\#(list)],"settings":{"provider":"#
                    + #""\#(ids[kind] ?? "")"\#(more)}}"#)
        }
        for number in 1...9 {
            try await service.manage(
                .post, "/v1/tenants/acme/invites", #"{"email":"person\#(number)@example.com"}"#)
        }
    }

    func send(
        _ method: HTTP.Method, _ path: String, _ json: String? = nil, token: String? = nil,
        fields: [Field] = []
    ) async throws -> TestAnswer {
        let own = token.map { [Field("authorization", "Bearer \($0)")] } ?? []
        return try await service.send(method, "/t/acme\(path)", json: json, fields: fields + own)
    }

    /// A member of an address's query.
    static func value(_ name: String, in url: String) -> String {
        FormText(String(url.drop { $0 != "?" }.dropFirst())).first(name) ?? ""
    }

    // MARK: 001

    /// Begins, and gives the address that the app opens.
    func beginImmich(
        _ state: String, redirect: String = Self.immich
    ) async throws -> TestAnswer {
        let challenge = Base64URL.encode(SHA256.hash(Array(Self.verifier.utf8)))
        return try await send(
            .post, "/immich/api/oauth/authorize",
            #"{"redirectUri":"\#(redirect)","state":"\#(state)","codeChallenge":"\#(challenge)"}"#)
    }

    func endImmich(
        _ url: String, state: String, verifier: String = Self.verifier
    ) async throws -> TestAnswer {
        try await send(
            .post, "/immich/api/oauth/callback",
            #"{"url":"\#(url)","state":"\#(state)","codeVerifier":"\#(verifier)"}"#)
    }

    /// Signed in at the provider, and on the way back.
    func immichReturn(_ state: String, as person: String) async throws -> String {
        let begun = try await beginImmich(state)
        #expect(begun.status == 201, "\(begun.text)")
        return try provider.authorize(begun.json["url"]?.string ?? "", as: person)
    }

    // MARK: 002

    /// Signed in at the provider, and on the way back.
    func timetrackerReturn(as person: String) async throws -> String {
        let begun = try await send(
            .get, "/timetracker/auth/login?redirect_uri=\(Self.timetracker)")
        #expect(begun.status == 302, "\(begun.text)")
        return try provider.authorize(begun.first("location") ?? "", as: person)
    }

    func endTimetracker(
        code: String, state: String, redirect: String = Self.timetracker
    ) async throws -> TestAnswer {
        try await send(
            .post, "/timetracker/auth/token",
            #"{"code":"\#(code)","state":"\#(state)","redirect_uri":"\#(redirect)"}"#)
    }

    func endTimetracker(_ url: String) async throws -> TestAnswer {
        try await endTimetracker(
            code: Self.value("code", in: url), state: Self.value("state", in: url))
    }
}
