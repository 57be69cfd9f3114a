import API
import Cryptography
import Domain
import Gatehouse
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Three services on one database, and one person who is signed in with every app.
final class SignedInEverywhere: Sendable {
    /// What an app keeps of its person, and how it shows that it still counts.
    struct Session: Sendable {
        let name: String
        let check: String
        let field: String
        /// The app's own signing out; nil where it has none.
        let end: (method: String, path: String)?
        let isKey: Bool
    }

    static let password = "correct horse battery"
    private static let redirect = "timetracker://oauth/callback"
    private static let immichRedirect = "app.immich:///oauth-callback"

    let servers: [RunningService]
    let provider: TestProvider
    let user: String
    private let auth: String

    init() async throws {
        provider = try await TestProvider.start()
        let first = try await RunningService(Self.configure)
        servers = [
            first, try await RunningService(replacing: first, Self.configure),
            try await RunningService(replacing: first, Self.configure),
        ]
        let secret = try #require(APIKeySecret.make(environment: .live, locator: "000000"))
        #expect(
            try await first.service.composition.application.database.installSetupKey(secret.text))
        auth = "Authorization: Bearer \(secret.text)"
        user = try Self.prepare(first, auth, provider)
        // A link that was shown proves no mailbox; this person has proved it another way.
        let client = first.database.client(as: first.database.administrator)
        _ = try await client.query("UPDATE users SET email_verified_at = now()")
    }

    private static func configure(_ configuration: inout ServiceConfiguration) {
        configuration.publicURL = "http://127.0.0.1"
        configuration.externalServices = ExternalServices(
            providers: OutboundPolicy(allowsLoopback: true))
    }

    // MARK: managing

    private static func manage(
        _ server: RunningService, _ auth: String, _ method: String, _ path: String, _ body: String?,
        fields: [String] = []
    ) throws -> JSONValue {
        let answer = try server.send(method, path, body: body, fields: [auth] + fields)
        #expect((200..<300).contains(answer.status), "\(method) \(path) \(answer.body)")
        return (try? JSONValue(parsing: Array(answer.body.utf8))) ?? .null
    }

    /// Of an operator, at the second of the servers.
    @discardableResult
    func manage(_ method: String, _ path: String, _ body: String? = "{}") throws -> JSONValue {
        try Self.manage(servers[1], auth, method, "/v1/tenants/acme\(path)", body)
    }

    private static func prepare(
        _ server: RunningService, _ auth: String, _ provider: TestProvider
    ) throws -> String {
        func make(_ method: String, _ path: String, _ body: String) throws -> JSONValue {
            try manage(server, auth, method, path, body, fields: ["If-Match: *"])
        }
        _ = try make("POST", "/v1/tenants", #"{"slug":"acme","name":"Acme"}"#)
        _ = try make("PUT", "/v1/tenants/acme/policy", #"{"auto_link":"authoritative"}"#)
        var ids: [String: String] = [:]
        for kind in ["oidc", "google"] {
            let made = try make(
                "POST", "/v1/providers",
                #"{"kind":"\#(kind)","name":"P","issuer":"\#(provider.issuer)","client_id":"web","#
                    + #""email_trust":"authoritative","domains":["example.com"]}"#)
            ids[kind] = made["id"]?.string ?? ""
        }
        for (client, kind, redirects) in [
            ("immich", "oidc", #""\#(immichRedirect)""#),
            (
                "timetracker", "oidc",
                #""\#(redirect)","http://127.0.0.1/t/acme/timetracker/auth/callback""#
            ),
            ("relate", "oidc", ""), ("deeprecall", "google", ""),
        ] {
            let page = client == "timetracker" ? #","app_url":"https://page.example""# : ""
            _ = try make(
                "PUT", "/v1/tenants/acme/clients/\(client)",
                #"{"enabled":true,"redirect_uris":[\#(redirects)],"settings":{"provider":"#
                    + #""\#(ids[kind] ?? "")"\#(page)}}"#)
        }
        let invite = try make(
            "POST", "/v1/tenants/acme/invites",
            #"{"email":"ann@example.com","delivery":"link"}"#)
        let accepted = try server.send(
            "POST", "/v1/invites/accept",
            body: #"{"token":"\#(invite["token"]?.string ?? "")","name":"Ann","#
                + #""password":"\#(password)"}"#)
        #expect(accepted.status == 200, "\(accepted.body)")
        let answer = try JSONValue(parsing: Array(accepted.body.utf8))
        return answer["user"]?["id"]?.string ?? ""
    }

    // MARK: signing in

    /// One request of an app to the first of the servers.
    private func app(
        _ method: String, _ path: String, _ body: String? = nil, fields: [String] = []
    ) throws -> RunningService.Answer {
        let answer = try servers[0].send(method, "/t/acme\(path)", body: body, fields: fields)
        #expect((200..<400).contains(answer.status), "\(path) \(answer.body)")
        return answer
    }

    private func json(_ answer: RunningService.Answer) throws -> JSONValue {
        try JSONValue(parsing: Array(answer.body.utf8))
    }

    /// The provider redeems the next code for Ann; gives the state that the browser was sent with.
    private func grant(_ url: String) throws -> String {
        let asked = FormText(String(url.drop { $0 != "?" }.dropFirst()))
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock())
            .token(["nonce": "\"\(asked.first("nonce") ?? "")\""])
        provider.set("/token", .init(#"{"id_token":"\#(token)"}"#))
        return try #require(asked.first("state"))
    }

    /// A session of every contract, and what `/v1` takes as well.
    func signIn() throws -> [Session] {
        let timetracker = try timetracker()
        return [
            try immichByPassword(), try immichByProvider(), timetracker,
            Session(
                name: "/v1", check: "/v1/me", field: timetracker.field, end: nil, isKey: false),
            try timetrackerPage(), try deeprecall(), try relate(),
        ]
    }

    private func immich(_ name: String, _ answer: RunningService.Answer) throws -> Session {
        let token = try json(answer)["accessToken"]?.string ?? ""
        return Session(
            name: name, check: "/t/acme/immich/api/users/me",
            field: "x-immich-user-token: \(token)", end: ("POST", "/immich/api/auth/logout"),
            isKey: false)
    }

    func immichByPassword() throws -> Session {
        try immich(
            "001 by password",
            app(
                "POST", "/immich/api/auth/login",
                #"{"email":"ann@example.com","password":"\#(Self.password)"}"#,
                fields: ["deviceModel: Pixel", "deviceType: Android"]))
    }

    private func immichByProvider() throws -> Session {
        let verifier = String(repeating: "v", count: 43)
        let challenge = Base64URL.encode(SHA256.hash(Array(verifier.utf8)))
        let begun = try app(
            "POST", "/immich/api/oauth/authorize",
            #"{"redirectUri":"\#(Self.immichRedirect)","codeChallenge":"\#(challenge)"}"#)
        let state = try grant(try json(begun)["url"]?.string ?? "")
        return try immich(
            "001 at the provider",
            app(
                "POST", "/immich/api/oauth/callback",
                #"{"url":"\#(Self.immichRedirect)?code=c&state=\#(state)","#
                    + #""codeVerifier":"\#(verifier)"}"#))
    }

    private func timetracker() throws -> Session {
        let begun = try app("GET", "/timetracker/auth/login?redirect_uri=\(Self.redirect)")
        let state = try grant(begun.first("location") ?? "")
        let ended = try app(
            "POST", "/timetracker/auth/token",
            #"{"code":"c","state":"\#(state)","redirect_uri":"\#(Self.redirect)"}"#)
        let token = try json(ended)["access_token"]?.string ?? ""
        return Session(
            name: "002", check: "/t/acme/timetracker/auth/me",
            field: "Authorization: Bearer \(token)", end: ("POST", "/timetracker/auth/logout"),
            isKey: false)
    }

    private func timetrackerPage() throws -> Session {
        let begun = try app("GET", "/timetracker/auth/login")
        let state = try grant(begun.first("location") ?? "")
        let cookie = String((begun.first("set-cookie") ?? "").prefix { $0 != ";" })
        let ended = try app(
            "GET", "/timetracker/auth/callback?code=c&state=\(state)",
            fields: ["Cookie: \(cookie)"])
        let session = String((ended.first("set-cookie") ?? "").prefix { $0 != ";" })
        return Session(
            name: "002's page", check: "/t/acme/timetracker/auth/me",
            field: "Cookie: \(session)", end: ("POST", "/timetracker/auth/logout"), isKey: false)
    }

    private func deeprecall() throws -> Session {
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token()
        let answer = try app(
            "POST", "/deeprecall/api/auth/exchange/google",
            #"{"id_token":"\#(token)","device_id":"mobile-1"}"#)
        return Session(
            name: "004", check: "/t/acme/deeprecall/api/profile",
            field: "Authorization: Bearer \(try json(answer)["app_jwt"]?.string ?? "")",
            end: nil, isKey: false)
    }

    private func relate() throws -> Session {
        let token = provider.mint(clientID: "web", now: Timestamp.systemClock()).token()
        let answer = try json(
            app(
                "POST", "/relate/api/smtp-credentials/mobile",
                #"{"deviceName":"Pixel","platform":"android"}"#,
                fields: ["Authorization: Bearer \(token)"]))
        return Session(
            name: "000", check: "/t/acme/relate/api/profile",
            field: "Authorization: ApiKey \(answer["apiKey"]?.string ?? "")",
            end: ("DELETE", "/relate/api/smtp-credentials/\(answer["id"]?.string ?? "")"),
            isKey: true)
    }

    // MARK: asking

    /// What each of the servers answers to it now.
    func statuses(_ session: Session) throws -> [Int] {
        try servers.map { try $0.send("GET", session.check, fields: [session.field]).status }
    }

    /// The app's own signing out, at the second of the servers.
    func end(_ session: Session) throws {
        guard let (method, path) = session.end else { return }
        let answer = try servers[1].send(method, "/t/acme\(path)", fields: [session.field])
        #expect((200..<300).contains(answer.status), "\(session.name) \(answer.body)")
    }

    /// A new password, set by the person at the second of the servers.
    func changePassword(_ session: Session) throws {
        let answer = try servers[1].send(
            "POST", "/t/acme/immich/api/auth/change-password",
            body: #"{"password":"\#(Self.password)","newPassword":"another horse battery"}"#,
            fields: [session.field])
        #expect(answer.status == 200, "\(answer.body)")
    }
}
