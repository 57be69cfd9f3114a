import API
import Federation
import HTTP
import JSON
import Storage

/// What an app asks of the server before the sign-in.
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
    /// The provider to which the apps redirect by default.
    fileprivate func openIDProvider() async throws -> (issuer: String, clientID: String)? {
        guard let row = try await provider(kinds: ["oidc", "google"]),
            let party = party(of: row), let clientID = party.clientID
        else { return nil }
        return (party.issuer, clientID)
    }
}
