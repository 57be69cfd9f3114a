import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Where one person's one Google account shows up.
enum EntryPoint: CaseIterable, Sendable {
    /// Cognito's pre-signup trigger, for a person that the pool got from Google.
    case cognitoHook
    /// The same, in the shape of the Lambda Invoke API.
    case lambda
    case preSignUpHook
    /// A Google id token at `/v1/provisioning/sign-in`.
    case token
    /// The same of the Cognito pool.
    case poolToken
    /// Code and PKCE at Google, by this server's own pages.
    case hosted
    /// The same by the photo app, and by the time app.
    case immich, timetracker
    /// A signed access token of Google's, by the mail app.
    case relate
    /// The pool's id token, by the workspace app.
    case thinkwork
    /// A Google id token that the reader app got by itself.
    case deeprecall
}

/// How the tenant knows of the person before they come.
enum Expected: CaseIterable, Sendable {
    case invited, preProvisioned, domainMatched

    var role: String { self == .domainMatched ? "member" : "manager" }
}

/// A person with an address and a Google account of their own.
struct Somebody: Sendable {
    var expected: Expected
    var name: String

    var email: String { "\(name)@ex.com" }
    var subject: String { "1172938491726340-\(name)" }
}

/// A tenant with a verified domain that takes its people in, Google, a pool that has people of
/// Google's, and every client switched on.
struct OneIdentityFixture {
    static let google = "https://accounts.google.com"
    private static let pool = "eu-central-1_abc"
    private static let immich = "app.immich:///oauth-callback"
    private static let timetracker = "timetracker://oauth/callback"

    let service: TestService
    let tenant: TenantRow
    let provider: TestProvider
    private let googleID: String

    init() async throws {
        service = try await TestService.make()
        tenant = try await service.storage.createTenant(
            slug: "acme", name: "Acme",
            policy: .object([.init("sign_up", .string("domain"))]), by: .system)
        provider = try await TestProvider.start()
        let endpoints =
            #""authorization_endpoint":"\#(provider.issuer)/authorize","token_endpoint":"#
            + #""\#(provider.issuer)/token","jwks_uri":"\#(provider.issuer)/keys""#
        let google = try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"google","name":"Google","client_id":"web","endpoints":{\#(endpoints)}}"#)
        googleID = google["id"]?.string ?? ""
        try await service.manage(
            .post, "/v1/providers",
            #"{"kind":"cognito","name":"Pool","issuer":"\#(Self.pool)","client_id":"pool-web","#
                + #""email_trust":"authoritative","domains":["ex.com"],"endpoints":{\#(endpoints),"#
                + #""issuer":"\#(provider.issuer)/\#(Self.pool)"}}"#)
        let domains = "/v1/tenants/acme/domains"
        let domain = try await service.manage(.post, domains, #"{"domain":"ex.com"}"#)
        try await service.manage(
            .post, "\(domains)/\(domain["id"]?.string ?? "")/verify", #"{"method":"operator"}"#)
        for client in ["immich", "thinkwork", "deeprecall", "timetracker", "relate"] {
            try await service.manage(
                .put, "/v1/tenants/acme/clients/\(client)",
                #"{"enabled":true,"redirect_uris":["\#(Self.immich)","\#(Self.timetracker)"]}"#)
        }
    }

    /// The tenant comes to know a person.
    func expect(_ person: Somebody) async throws {
        let body = #"{"email":"\#(person.email)","role":"\#(person.expected.role)"}"#
        switch person.expected {
        case .invited: try await service.manage(.post, "/v1/tenants/acme/invites", body)
        case .preProvisioned: try await service.manage(.post, "/v1/tenants/acme/users", body)
        case .domainMatched: break
        }
    }

    func count(_ rows: SQL) async throws -> Int {
        try await service.storage.scope(tenant.id)
            .read("/* test */ SELECT count(*) FROM \(rows)").first?.get(0, as: Int.self) ?? -1
    }

    /// What the database holds of a person: active users, identities, accepted invites, and the
    /// audit's word that one was.
    func one(
        _ person: Somebody
    ) async throws -> (active: Int, identities: Int, accepted: Int, audited: Int) {
        return (
            try await count("users WHERE email_key = \(person.email) AND status = 'active'"),
            try await count(
                """
                identities i JOIN users u ON u.tenant_id = i.tenant_id AND u.id = i.user_id
                WHERE u.email_key = \(person.email)
                """),
            try await count("invites WHERE email_key = \(person.email) AND status = 'accepted'"),
            try await count(
                """
                audit_events e JOIN invites v ON v.tenant_id = e.tenant_id
                    AND e.target_id = v.id::text
                WHERE v.email_key = \(person.email) AND e.action = 'invite.accepted'
                """)
        )
    }

    // MARK: what providers say

    func googleToken(
        _ person: Somebody, nonce: String? = nil, at time: Timestamp = Timestamp.systemClock()
    ) -> String {
        provider.mint(clientID: "web", now: time).token([
            "iss": "\"\(Self.google)\"", "sub": "\"\(person.subject)\"",
            "email": "\"\(person.email)\"", "email_verified": "true", "hd": "\"ex.com\"",
            "nonce": nonce.map { "\"\($0)\"" },
        ])
    }

    func poolToken(_ person: Somebody) -> String {
        provider.mint(clientID: "pool-web", now: Timestamp.systemClock()).token([
            "iss": "\"\(provider.issuer)/\(Self.pool)\"", "token_use": "\"id\"",
            "sub": "\"6f9c1d0e-\(person.name)\"",
            "cognito:username": "\"google_\(person.subject)\"",
            "email": "\"\(person.email)\"", "email_verified": "true",
            "identities":
                #"[{"providerName":"Google","providerType":"Google","userId":"\#(person.subject)"}]"#,
        ])
    }

    /// `isNative`: the pool's own user, under the name that the person chose.
    static func event(
        _ person: Somebody, _ trigger: String = "PreSignUp_ExternalProvider",
        isNative: Bool = false, isVerified: Bool = true
    ) -> String {
        let name = isNative ? person.name : "Google_\(person.subject)"
        return #"{"version":"1","triggerSource":"\#(trigger)","region":"eu-central-1","#
            + #""userPoolId":"\#(pool)","userName":"\#(name)","#
            + #""callerContext":{"clientId":"pool-web"},"request":{"userAttributes":{"#
            + #""sub":"6f9c1d0e-\#(person.name)","email":"\#(person.email)","#
            + #""email_verified":"\#(isVerified)"}},"response":{}}"#
    }

    /// An id token of the pool's own user. `userName` nil: it names the user by `sub` alone.
    func nativeToken(
        _ person: Somebody, userName: String?, sub: String? = nil, isVerified: Bool = true,
        identities: [String] = []
    ) -> String {
        provider.mint(clientID: "pool-web", now: Timestamp.systemClock()).token([
            "iss": "\"\(provider.issuer)/\(Self.pool)\"", "token_use": "\"id\"",
            "sub": "\"\(sub ?? "6f9c1d0e-\(person.name)")\"",
            "cognito:username": userName.map { "\"\($0)\"" },
            "identities": identities.isEmpty ? nil : "[\(identities.joined(separator: ","))]",
            "email": "\"\(person.email)\"", "email_verified": "\(isVerified)",
        ])
    }

    /// What Google is asked with the address that a browser was sent to; it grants any code.
    private func grant(_ person: Somebody, _ url: String) -> FormText {
        let asked = FormText(String(url.drop { $0 != "?" }.dropFirst()))
        let token = googleToken(person, nonce: asked.first("nonce"))
        provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        return asked
    }

    private static func cookies(_ answer: TestAnswer) -> [Field] {
        let pairs = answer.response.fields.filter { $0.name == "set-cookie" }
            .map { String($0.value.prefix { $0 != ";" }) }
        return pairs.isEmpty ? [] : [Field("cookie", pairs.joined(separator: "; "))]
    }

    // MARK: doors

    /// The answer of the door.
    func pass(_ person: Somebody, _ entryPoint: EntryPoint) async throws -> TestAnswer {
        switch entryPoint {
        case .cognitoHook:
            try await service.send(
                .post, "/v1/hooks/pre-signup/cognito", json: Self.event(person), as: .platformOwner)
        case .lambda:
            try await service.send(
                .post, "/2015-03-31/functions/pre-signup/invocations", json: Self.event(person),
                as: .platformOwner)
        case .preSignUpHook:
            try await service.send(
                .post, "/v1/hooks/pre-signup",
                json:
                    #"{"provider":"google","subject":"\#(person.subject)","email":"\#(person.email)","#
                    + #""email_verified":true,"claims":{"hd":"ex.com"}}"#, as: .platformOwner)
        case .token, .poolToken:
            try await service.send(
                .post, "/v1/provisioning/sign-in", json: #"{"tenant":"acme"}"#,
                as: .bearer(entryPoint == .token ? googleToken(person) : poolToken(person)))
        case .hosted: try await passHosted(person)
        case .immich: try await passImmich(person)
        case .timetracker: try await passTimeTracker(person)
        case .relate:
            try await service.send(
                .post, "/t/acme/relate/api/smtp-credentials/mobile",
                json: #"{"deviceName":"phone","platform":"ios"}"#, as: .bearer(googleToken(person)))
        case .thinkwork:
            try await service.send(
                .post, "/t/acme/thinkwork/api/auth/enrollment/auto-link",
                fields: [Field("authorization", poolToken(person))])
        case .deeprecall:
            try await service.send(
                .post, "/t/acme/deeprecall/api/auth/exchange/google",
                json: #"{"id_token":"\#(googleToken(person))","device_id":"mobile-1"}"#)
        }
    }

    private func passHosted(_ person: Somebody) async throws -> TestAnswer {
        let begun = try await service.send(
            .post, "/t/acme/sign-in", json: "provider=\(googleID)",
            fields: [
                Field("content-type", "application/x-www-form-urlencoded"),
                Field("origin", "http://gatehouse.test"), Field("sec-fetch-site", "same-origin"),
            ])
        #expect(begun.status == 303, "\(begun.text)")
        let asked = grant(person, begun.first("location") ?? "")
        return try await service.send(
            .get, "/sign-in/callback?code=c&state=\(asked.first("state") ?? "")",
            fields: Self.cookies(begun))
    }

    private func passImmich(_ person: Somebody) async throws -> TestAnswer {
        let mount = "/t/acme/immich/api/oauth"
        let begun = try await service.send(
            .post, "\(mount)/authorize", json: #"{"redirectUri":"\#(Self.immich)"}"#)
        #expect(begun.status == 201, "\(begun.text)")
        let asked = grant(person, begun.json["url"]?.string ?? "")
        return try await service.send(
            .post, "\(mount)/callback",
            json: #"{"url":"\#(Self.immich)?code=c&state=\#(asked.first("state") ?? "")"}"#,
            fields: Self.cookies(begun))
    }

    private func passTimeTracker(_ person: Somebody) async throws -> TestAnswer {
        let mount = "/t/acme/timetracker/auth"
        let begun = try await service.send(
            .get, "\(mount)/login?redirect_uri=\(Self.timetracker)")
        #expect(begun.status == 302, "\(begun.text)")
        let asked = grant(person, begun.first("location") ?? "")
        return try await service.send(
            .post, "\(mount)/token",
            json: #"{"redirect_uri":"\#(Self.timetracker)","code":"c","#
                + #""state":"\#(asked.first("state") ?? "")"}"#)
    }
}
