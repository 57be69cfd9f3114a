import API
import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// The sign-in part of the server that Relate Mail's apps expect. An app presents its provider's
/// access token once, gets an API key for it, and uses only the key from then on.
enum Relate {
    static let contract = Contract(
        name: "relate",
        headers: ["x-signalr-user-agent"],
        providerKinds: ["oidc", "google"],
        settings: [
            .optional(
                "oidc_scope", .string(min: 1, max: 255),
                "The scope that the apps request from their provider; `openid profile email` if "
                    + "absent."),
            .optional("smtp", service, "The mail server for keys with the scope `smtp`."),
            .optional("pop3", service, "The mail server for keys with the scope `pop3`."),
            .optional("imap", service, "The mail server for keys with the scope `imap`."),
        ],
        routes: RelateDiscovery.routes + RelateProfile.routes + RelateKeys.routes,
        encode: encode, explain: explain)

    private static let service = Kind.object(
        ObjectShape(
            [
                .required("server", .string(min: 1, max: 255), "The host name."),
                .required("port", .integer(1...65_535), "The port without TLS or with STARTTLS."),
                .required("secure_port", .integer(1...65_535), "The port with TLS."),
            ]))

    /// Returns a refusal in the app's form: 401 without a body, 404 as a problem document, and
    /// everything else as `{"error": …}`. All faults of this server have the same text.
    private static func encode(_ problem: Problem, _ request: Request) -> Response {
        var answer: Response
        switch problem.status {
        case 401:
            answer = Response(401)
            answer.fields.append(Field("www-authenticate", "Bearer"))
            return answer
        case 404:
            answer = Response(
                404, type: "application/problem+json",
                JSONValue.object([
                    .init("type", .string("https://tools.ietf.org/html/rfc9110#section-15.5.5")),
                    .init("title", .string("Not Found")), .init("status", .int(404)),
                    .init("traceId", .string(request.id)),
                ]).encoded())
        case 500:
            var fault = problem
            fault.detail = "An unexpected error occurred"
            return fault.plainError
        default:
            return problem.plainError
        }
        answer.fields += problem.fields
        return answer
    }

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        // The bearer token was issued by no provider of this tenant.
        case .notProved, .secretOutdated, .noProvider:
            Problem(.unauthorized, "Authentication required")
        default: nil
        }
    }

    static func bad(_ text: String) -> Problem { Problem(.invalidRequest, text) }

    /// Returns the user of the request's provider token, or the owner of the request's key. A key
    /// must have one of these scopes.
    static func user(_ call: ClientCall, _ scopes: [String]) async throws -> Holder {
        guard let credential = try Credential(call.request, cookie: nil) else {
            throw SignInRefusal.noCredential
        }
        guard credential.text.utf8.starts(with: "gate_".utf8) else {
            try await call.count(.token)
            let person = try await call.person(accessToken: credential.text)
            // The app sends the same token until it has its key; all these requests are one
            // sign-in.
            let event = Base64URL.encode(SHA256.hash(Array(credential.text.utf8)))
            return Holder(user: try await call.admit(person, event: event), key: nil)
        }
        guard case .key(let principal, owner: let owner?) = try await call.caller() else {
            throw SignInRefusal.invalidKey("The key belongs to no user.")
        }
        let holder = Holder(user: owner, key: principal)
        guard scopes.contains(where: holder.has) else {
            throw Problem.forbidden("The key lacks the scope \(scopes.joined(separator: " or ")).")
        }
        return holder
    }

    struct Holder: Sendable {
        var user: UserRow
        /// The key of the request. `nil` if the request has the user's provider token; then all
        /// scopes may be given.
        var key: CallerPrincipal?

        func has(_ scope: String) -> Bool { key?.scopes.contains { sameBytes($0, scope) } ?? true }
    }
}

/// What an app asks the server before the sign-in.
enum RelateDiscovery {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/discovery", isPublic: true) { call in
            let hasProvider = try await call.openIDProvider() != nil
            let mail = ["smtp", "pop3", "imap"].filter { call.setting($0)?.members != nil }
            let features = mail + ["api-keys"] + (hasProvider ? ["oidc"] : [])
            return .ok(
                .object([
                    .init("version", .string("1.0.0")), .init("apiVersion", .string("v1")),
                    .init("oidcEnabled", .bool(hasProvider)),
                    .init("features", .array(features.map(JSONValue.string))),
                ]))
        },
        ContractRoute(.get, "/config/config.json", isPublic: true) { call in
            let provider = try await call.openIDProvider()
            var answer = Response.ok(
                .object([
                    .init("oidcAuthority", .string(provider?.issuer ?? "")),
                    .init("oidcClientId", .string(provider?.clientID ?? "")),
                    .init("oidcRedirectUri", .string(call.client.redirectURIs.first ?? "")),
                    .init(
                        "oidcScope",
                        .string(call.setting("oidc_scope")?.string ?? "openid profile email")),
                ]))
            answer.set("cache-control", "public, max-age=300")
            return answer
        },
    ]
}

extension ClientCall {
    /// Returns the provider to which the apps redirect by default; `nil` if there is none.
    fileprivate func openIDProvider() async throws -> (issuer: String, clientID: String)? {
        guard let row = try await provider(kinds: ["oidc", "google"]),
            let party = party(of: row), let clientID = party.clientID
        else { return nil }
        return (party.issuer, clientID)
    }
}

/// The user's profile, which the app requests before it asks for its key.
enum RelateProfile {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/profile") { call in
            .ok(profile(of: try await Relate.user(call, ["app", "api:read"]).user))
        },
        ContractRoute(.put, "/api/profile") { try await rename($0) },
    ]

    /// Sets the display name. Null or an absent member changes nothing, as in the app's own server.
    private static func rename(_ call: ClientCall) async throws -> Response {
        let user = try await Relate.user(call, ["app", "api:write"]).user
        let input = try call.object()
        let wanted = input["displayName"] ?? .null
        if wanted.isNull { return .ok(profile(of: user)) }
        let name = DisplayText.named(wanted.string ?? "")
        guard !name.isEmpty else {
            throw Relate.bad("DisplayName is required")
        }
        guard name.unicodeScalars.count <= 200 else {
            throw Relate.bad("DisplayName must be 200 characters or less")
        }
        guard DisplayText.isName(name) else {
            throw Relate.bad("DisplayName must have no control or invisible characters")
        }
        let renamed = try await call.scope.change(by: call.actor(user)) { change in
            let row = try await change.lockUser(user.id)
            return try await change.renameUser(row, name)
        }
        return .ok(profile(of: renamed))
    }

    private static func profile(of user: UserRow) -> JSONValue {
        .object([
            .init("id", .string(user.id.description)), .init("email", .string(user.email)),
            .init("displayName", user.name.map(JSONValue.string) ?? .null),
            .init("createdAt", .string(user.createdAt.description)),
            .init("lastLoginAt", user.lastSignInAt.map { .string($0.description) } ?? .null),
            .init("additionalAddresses", .array([])),
        ])
    }
}
