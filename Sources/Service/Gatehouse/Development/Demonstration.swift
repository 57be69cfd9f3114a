import API
import Cryptography
import Domain
import HTTP
import JSON
import Postgres
import Storage
import Text

/// Creates what `gatehouse dev` shows at its first start: an owner and the tenant `demo`.
package struct Demonstration: Sendable {
    private static let owner = "owner@gatehouse.test"
    private let database: Database
    private let dispatcher: Dispatcher

    package init(_ service: Service) {
        database = service.composition.application.database
        dispatcher = service.composition.dispatcher
    }

    /// Returns the token of a link with which the owner can sign in once within an hour. Creates
    /// the owner and the tenant if they are missing.
    package func signInLink() async throws -> String {
        let owner = try await owner()
        if try await database.tenant("demo") == nil { try await populate(owner) }
        let token = TokenSecret.make()
        try await database.storeOperatorLink(
            TokenSecret.hash(token) ?? [], for: owner.id, seconds: 3600)
        return token
    }

    private func owner() async throws -> OperatorRow {
        let found = try await database.operatorsWithPassword(emailKey: Self.owner)
        if let (person, _) = found.first { return person }
        return try await database.createOperator(
            email: Self.owner, emailKey: Self.owner, name: "Owner", role: .owner, tenant: nil,
            passwordHash: nil, by: .system)
    }

    private func populate(_ owner: OperatorRow) async throws {
        let token = TokenSecret.make()
        let hash = TokenSecret.hash(token) ?? []
        try await database.startOperatorSession(
            owner, tokenHash: hash, userAgent: nil, method: .password, by: .system)
        try await DemonstrationData(dispatcher: dispatcher, token: token).make()
        if let session = try await database.operatorSession(tokenHash: hash) {
            try await database.endOperatorSession(session.id, of: owner, by: .system)
            try await database.forgetSignIns(of: owner)
        }
    }
}

/// Fills the tenant `demo` with requests to the service's own API, so that all its rules apply.
struct DemonstrationData: Sendable {
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    private static let people: [(email: String, name: String, role: String)] = [
        ("ada@demo.example", "Ada Lovelace", "admin"),
        ("grace@demo.example", "Grace Hopper", "manager"),
        ("alan@demo.example", "Alan Turing", "member"),
        ("edsger@demo.example", "Edsger Dijkstra", "member"),
        ("barbara@demo.example", "Barbara Liskov", "manager"),
        ("katherine@demo.example", "Katherine Johnson", "member"),
        ("donald@demo.example", "Donald Knuth", "member"),
        ("margaret@demo.example", "Margaret Hamilton", "admin"),
    ]

    var dispatcher: Dispatcher
    /// The token of the owner's console session.
    var token: String

    func make() async throws {
        try await send("/v1/tenants", #"{"slug":"demo","name":"Demo"}"#)
        let domain = try await send("/v1/tenants/demo/domains", #"{"domain":"demo.example"}"#)
        try await send(
            "/v1/tenants/demo/domains/\(domain["id"]?.string ?? "")/verify",
            #"{"method":"operator"}"#)
        try await send(
            "/v1/providers",
            #"{"kind":"google","name":"Google","client_id":"demo.apps.example"}"#)
        for person in Self.people {
            try await send(
                "/v1/tenants/demo/users",
                #"{"email":"\#(person.email)","name":"\#(person.name)","role":"\#(person.role)"}"#)
        }
        for email in ["tim@demo.example", "radia@demo.example", "guest@partner.example"] {
            try await send("/v1/tenants/demo/invites", #"{"email":"\#(email)","role":"member"}"#)
        }
        try await signUps()
        for (name, scopes) in [
            ("Mail gateway", #"["smtp","imap"]"#), ("Reporting", #"["api:read"]"#),
            ("Sync service", #"["api:read","api:write"]"#),
        ] {
            try await send("/v1/tenants/demo/api-keys", #"{"name":"\#(name)","scopes":\#(scopes)}"#)
        }
        for origin in ["https://app.demo.example", "ionic://localhost"] {
            try await send("/v1/tenants/demo/cors-origins", #"{"origin":"\#(origin)"}"#)
        }
    }

    /// Signs some people in at the tenant, among them an invited person and a stranger.
    private func signUps() async throws {
        let emails =
            Self.people.prefix(5).map(\.email) + ["tim@demo.example", "eve@stranger.example"]
        for (number, email) in emails.enumerated() {
            try await send(
                "/v1/hooks/pre-signup",
                """
                {"provider":"google","subject":"1000\(number)","email":"\(email)",\
                "email_verified":true,"tenant":"demo"}
                """)
        }
    }

    @discardableResult
    private func send(_ path: String, _ json: String) async throws -> JSONValue {
        let answer = await dispatcher.respond(
            to: Request(
                .post, path,
                fields: [
                    Field("cookie", "gatehouse=\(token)"), Field("x-gatehouse-console", "1"),
                    Field("sec-fetch-site", "same-origin"),
                    Field("content-type", "application/json"),
                ], body: Array(json.utf8)))
        guard answer.status < 300, case .bytes(let bytes) = answer.body else {
            throw Refused(description: "the demonstration: \(path) answered \(answer.status)")
        }
        return try JSONValue(parsing: bytes)
    }
}
