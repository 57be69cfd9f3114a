import API
import Gatehouse
import HTTP
import JSON
import TestSupport
import Testing

/// What is served beside the site map of `/v1`: each route is here by name with what it asks of whom
/// it does not know, so that a new one has to be decided.
@Suite(.cleansUp) struct ServedRoutesTests {
    enum Asks: Sendable {
        /// Any user who is signed in to that app: 401 without a credential.
        case person
        /// Anybody: it tells what is public, or is where a sign-in begins or ends.
        case nobody
    }

    private static let immich: [(String, Asks)] = [
        ("GET /.well-known/immich", .nobody), ("GET /api/server/ping", .nobody),
        ("GET /api/server/version", .nobody), ("GET /api/server/features", .nobody),
        ("GET /api/server/config", .nobody),
        ("POST /api/auth/login", .nobody), ("POST /api/auth/admin-sign-up", .nobody),
        ("POST /api/auth/logout", .person), ("POST /api/auth/validateToken", .person),
        ("GET /api/oauth/authorize", .nobody), ("POST /api/oauth/authorize", .nobody),
        ("POST /api/oauth/callback", .nobody), ("GET /api/oauth/mobile-redirect", .nobody),
        ("GET /api/auth/status", .person), ("POST /api/auth/pin-code", .person),
        ("PUT /api/auth/pin-code", .person), ("DELETE /api/auth/pin-code", .person),
        ("POST /api/auth/pin-code/verify", .person), ("POST /api/auth/session/unlock", .person),
        ("POST /api/auth/session/lock", .person), ("POST /api/auth/change-password", .person),
        ("PUT /api/auth/change-password", .person), ("GET /api/users/me", .person),
        ("PUT /api/users/me", .person), ("GET /api/users/me/onboarding", .person),
        ("PUT /api/users/me/onboarding", .person), ("DELETE /api/users/me/onboarding", .person),
        ("GET /api/users/me/preferences", .person), ("PUT /api/users/me/preferences", .person),
        ("GET /api/sessions", .person), ("DELETE /api/sessions", .person),
        ("DELETE /api/sessions/{session}", .person),
        ("POST /api/api-keys", .person),
        ("GET /api/api-keys", .person), ("GET /api/api-keys/me", .person),
        ("GET /api/api-keys/{key}", .person), ("PUT /api/api-keys/{key}", .person),
        ("DELETE /api/api-keys/{key}", .person), ("POST /api/api-keys/{key}/rotate", .person),
    ]

    private static let timetracker: [(String, Asks)] = [
        ("GET /health", .nobody), ("GET /auth/login", .nobody), ("POST /auth/token", .nobody),
        ("GET /auth/callback", .nobody), ("GET /auth/me", .person), ("POST /auth/logout", .nobody),
        ("POST /api-keys", .person), ("GET /api-keys", .person),
        ("DELETE /api-keys/{key}", .person),
    ]

    private static let thinkwork: [(String, Asks)] = [
        ("GET /api/auth/options", .nobody), ("GET /api/auth/me", .person),
        ("POST /api/auth/enrollment/auto-link", .person),
        ("POST /api/auth/enrollment/consume", .person),
        ("POST /api/tenants/{slug}/invites", .person),
        ("GET /api/tenants/{slug}", .person), ("PUT /api/tenants/{slug}", .nobody),
        ("POST /api/auth/revoke", .person),
    ]

    private static let deeprecall: [(String, Asks)] = [
        ("GET /api/config", .nobody), ("POST /api/auth/exchange/google", .nobody),
        ("POST /api/auth/exchange/github", .nobody),
        ("POST /api/auth/github/device-code", .nobody),
        ("POST /api/auth/github/device-token", .nobody), ("POST /api/auth/github/poll", .nobody),
        ("POST /api/auth/github/mobile", .nobody), ("POST /api/replication/token", .person),
        ("GET /api/user/status", .person), ("GET /api/profile", .person),
        ("PATCH /api/profile", .person), ("POST /api/profile/link/{provider}", .person),
        ("DELETE /api/profile/link/{provider}", .person),
    ]

    private static let relate: [(String, Asks)] = [
        ("GET /api/discovery", .nobody), ("GET /config/config.json", .nobody),
        ("GET /api/profile", .person), ("PUT /api/profile", .person),
        ("GET /api/smtp-credentials", .person),
        ("POST /api/smtp-credentials", .person), ("POST /api/smtp-credentials/mobile", .person),
        ("DELETE /api/smtp-credentials/{key}", .person),
        ("POST /api/smtp-credentials/{key}/rotate", .person),
    ]

    /// The pages that this server shows people itself, at the platform and at a tenant.
    private static let hosted: [(String, Asks)] = [
        ("GET /sign-in", .nobody), ("POST /sign-in", .nobody),
        ("GET /sign-in/callback", .nobody), ("POST /sign-in/link", .nobody),
        ("POST /sign-in/password", .nobody), ("POST /sign-in/tenant", .nobody),
        ("POST /sign-in/grant", .nobody),
        ("GET /t/{tenant}/sign-in", .nobody), ("POST /t/{tenant}/sign-in", .nobody),
        ("GET /t/{tenant}/sign-in/callback", .nobody),
    ]

    private static var table: [String: Asks] {
        var all: [String: Asks] = ["GET /.well-known/jwks.json": .nobody]
        for (client, rows) in [
            ("immich", immich), ("timetracker", timetracker), ("thinkwork", thinkwork),
            ("deeprecall", deeprecall), ("relate", relate),
        ] {
            for (row, asks) in rows {
                all[row.replacing(" ", with: " /t/{tenant}/\(client)")] = asks
            }
        }
        for (row, asks) in hosted { all[row] = asks }
        return all
    }

    @Test func `every route is in the site map or in this table, and asks for what it says`()
        async throws
    {
        let (service, _) = try await TestService.makeWithTenant()
        for client in Contracts.descriptions {
            try await service.manage(
                .put, "/v1/tenants/acme/clients/\(client.name)", #"{"enabled":true}"#)
        }
        let served = service.composition.dispatcher.endpoints
        let mapped = Set(Routes.all.map { "\($0.method.rawValue) \($0.path)" })
        let beside = served.filter { !mapped.contains("\($0.method.rawValue) \($0.path)") }
        let names = beside.map { "\($0.method.rawValue) \($0.path)" }
        #expect(Set(names).subtracting(Self.table.keys).sorted() == [], "undecided")
        #expect(Set(Self.table.keys).subtracting(names).sorted() == [], "no more there")
        #expect(served.count == mapped.count + names.count)
        for endpoint in beside {
            let name = "\(endpoint.method.rawValue) \(endpoint.path)"
            let path = endpoint.path.replacing("{tenant}", with: "acme")
                .replacing("{slug}", with: "acme").replacing("{provider}", with: "google")
                .replacing("{key}", with: "5f0c7f7e-8f0f-4d8e-9d5a-1c2d3e4f5a6b")
            let json = endpoint.method == .get ? nil : "{}"
            let answer = try await service.send(endpoint.method, path, json: json)
            let comment = Comment(rawValue: "\(name): \(answer.status) \(answer.text)")
            switch Self.table[name] {
            case .person: #expect(answer.status == 401, comment)
            case .nobody, nil:
                #expect(answer.status != 401 && answer.status < 500, comment)
            }
        }
    }
}
