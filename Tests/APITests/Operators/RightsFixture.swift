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

/// One tenant with one of everything, and a credential of every kind.
struct RightsFixture {
    let base: UserFixture
    /// By the path up to its `{id}`, or by the parameter's name.
    var things: [String: String] = [:]
    /// `users` by role: those who own keys.
    var people: [UserRole: UUID] = [:]

    static let every = ManagementScope.allCases.map(\.rawValue)
    private static let acme = "/v1/tenants/{tenant}"

    static func make(_ base: UserFixture) async throws -> RightsFixture {
        var made = RightsFixture(base: base)
        try await made.furnish()
        for role in UserRole.allCases { made.people[role] = try await made.person(role) }
        return made
    }

    /// A made object's id.
    private func make(_ path: String, _ json: String) async throws -> String {
        let answer = try await base.service.send(.post, path, json: json, as: .platformOwner)
        #expect([200, 201].contains(answer.status), "\(path) \(answer.text)")
        return try #require(answer.json["id"]?.string)
    }

    private mutating func furnish() async throws {
        let user = try await base.make("somebody@a.example")
        let identity =
            #"{"provider":"google","issuer":"https://accounts.google.com","subject":"1"}"#
        let tenant = base.tenant.id.description
        // The client of the sessions, without which their tokens are no credentials.
        try await base.service.manage(
            .put, "/v1/tenants/acme/clients/relate", #"{"enabled":true}"#)
        things = [
            "\(Self.acme)/users": user,
            "identity_id": try await make("/v1/tenants/acme/users/\(user)/identities", identity),
            "session_id": try await base.addSession(of: user).description,
            "\(Self.acme)/invites": try await make(
                "/v1/tenants/acme/invites", #"{"email":"guest@a.example"}"#),
            "\(Self.acme)/join-links": try await make("/v1/tenants/acme/join-links", "{}"),
            "\(Self.acme)/api-keys": try await make(
                "/v1/tenants/acme/api-keys", #"{"name":"k","scopes":["users:read"]}"#),
            "\(Self.acme)/cors-origins": try await make(
                "/v1/tenants/acme/cors-origins", #"{"origin":"https://app.example"}"#),
            "\(Self.acme)/domains": try await make(
                "/v1/tenants/acme/domains", #"{"domain":"a.example"}"#),
            "/v1/api-keys": try await make("/v1/api-keys", #"{"name":"k","scopes":[]}"#),
            "/v1/cors-origins": try await make(
                "/v1/cors-origins", #"{"origin":"https://all.example"}"#),
            "/v1/providers": try await make(
                "/v1/providers",
                #"{"kind":"google","name":"G","client_id":"web","tenant":"acme"}"#),
            "/v1/operators": try await make(
                "/v1/operators",
                #"{"email":"op@a.example","role":"support","scope":{"tenant_id":"\#(tenant)"}}"#),
            // One's own: that of another, or none, is looked for last.
            "/v1/me/passkeys": UUID.random().description,
            "name": "pre-signup", "client": "immich",
            "/v1/me/sessions": UUID.random().description,
        ]
        let provider = things["/v1/providers"] ?? ""
        things["credential_id"] = try await make(
            "/v1/providers/\(provider)/hook-credentials", "{}")
        let (winner, loser) = (
            try await base.make("one@a.example"), try await base.make("two@a.example")
        )
        things["\(Self.acme)/users/merges"] = try await make(
            "/v1/tenants/acme/users/merges", #"{"winner":"\#(winner)","loser":"\#(loser)"}"#)
        let decision = try await base.service.send(
            .post, "/v1/hooks/pre-signup",
            json: #"{"provider":"google","subject":"9","email":"x@gmail.com","tenant":"acme"}"#,
            as: .platformOwner)
        let id = try #require(decision.json["decision_id"]?.string, "\(decision.text)")
        things["/v1/provisioning/decisions"] = id
        // One that has ended, whose events end too.
        let job = try await base.service.storage.scope(base.tenant.id).change(by: .system) {
            let maker = JobMaker(type: "operator", id: "", name: "", home: nil)
            return try await $0.cancelJob(
                $0.createJob("users_actions", .object([]), total: 0, by: maker))
        }
        things["/v1/jobs"] = job.id.description
        things["\(Self.acme)/jobs"] = job.id.description
        things["\(Self.acme)/provisioning/decisions"] = id
        let logo = try await base.service.send(
            .put, "/v1/tenants/acme/logo",
            bytes: Array("<svg viewBox='0 0 1 1'><path d='M0 0'/></svg>".utf8),
            as: .platformOwner, fields: [Field("content-type", "image/svg+xml")])
        let address = try #require(logo.json["appearance"]?["logo_url"]?.string, "\(logo.text)")
        things["hash"] = address.split(separator: "/").last.map(String.init)
    }

    /// An active user with this role, who may own keys.
    private func person(_ role: UserRole) async throws -> UUID {
        let id = try #require(UUID(try await base.make("\(role.rawValue)@a.example")))
        try await base.service.storage.scope(base.tenant.id).change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET role = \(role.rawValue), status = 'active'
                WHERE tenant_id = \(change.tenant) AND id = \(id)
                """)
        }
        return id
    }

    /// A key's secret. `owner` nil: the tenant.
    func key(
        _ scopes: [String], at path: String = "/v1/tenants/acme/api-keys", owner: UUID? = nil
    ) async throws -> String {
        let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let who = owner.map { #","owner":{"type":"user","id":"\#($0)"}"# } ?? ""
        let answer = try await base.service.send(
            .post, path, json: #"{"name":"k","scopes":[\#(list)]\#(who)}"#, as: .platformOwner)
        return try #require(answer.json["key"]?.string, "\(answer.text)")
    }

    /// As a client gives it to who has signed in there.
    func accessToken(of user: UUID?) async throws -> String {
        let user = try #require(user)
        let session = try await base.addSession(of: user.description)
        let now = Timestamp.systemClock()
        return try await base.service.composition.application.tokens.sign(
            AccessTokenClaims(
                user: user, tenant: base.tenant.id, session: session,
                tokenID: UUID.random().description, client: "timetracker", issuedAt: now,
                expiresAt: now.adding(seconds: 600)))
    }

    /// The path with what is there in the place of its parameters; `isKnown`: all of it is there.
    /// `slug`: the tenant in whose place the things are looked for.
    func target(_ endpoint: Endpoint, at slug: String = "acme") -> (path: String, isKnown: Bool) {
        var isKnown = true
        var prefix = ""
        var path = ""
        for part in endpoint.path.split(separator: "/") {
            var value = String(part)
            if part == "{tenant}" {
                value = slug
            } else if part.first == "{" {
                let thing = things[part == "{id}" ? prefix : String(part.dropFirst().dropLast())]
                isKnown = isKnown && thing != nil
                value = thing ?? UUID.random().description
            }
            prefix += "/\(part)"
            path += "/\(value)"
        }
        let query = endpoint.query.filter(\.isRequired).map { parameter in
            if case .enumeration(let words) = parameter.kind {
                return "\(parameter.name)=\(words[0])"
            }
            return "\(parameter.name)=ab"
        }
        return (path + (query.isEmpty ? "" : "?" + query.joined(separator: "&")), isKnown)
    }
}
