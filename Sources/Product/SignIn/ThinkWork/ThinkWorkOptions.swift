import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The sign-in options of the tenant for the app's sign-in page, before any sign-in.
enum ThinkWorkOptions {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/auth/options", isPublic: true) { call in
            let platform = call.query("platform") ?? "web"
            guard ["web", "mobile", "desktop", "cli"].contains(where: { sameBytes($0, platform) })
            else { throw Problem(.invalidRequest, "platform must be web, mobile, desktop or cli") }
            return .ok(try await options(call))
        }
    ]

    /// Nothing is offered unless exactly one pool is meant.
    private static func options(_ call: ClientCall) async throws -> JSONValue {
        guard let pool = try await call.provider(kinds: ["cognito"]),
            let client = call.ownClientID(at: pool) ?? clientID(of: pool, in: call.tenant.id)
        else { return document(password: nil, options: []) }
        let hasPassword = call.setting("password")?.bool ?? false
        let upstreams = (pool.document["upstreams"]?.array ?? []).compactMap(ThinkWorkUpstream.init)
        return document(password: hasPassword ? client : nil, options: options(upstreams, client))
    }

    /// In the pool's order. Keys are unique, and so are labels.
    private static func options(_ upstreams: [ThinkWorkUpstream], _ client: String) -> [JSONValue] {
        var keys: [String] = []
        return upstreams.map { upstream in
            let lower = asciiLowercased(upstream.name)
            var key = lower
            var number = 2
            while keys.contains(where: { sameBytes($0, key) }) {
                key = "\(lower)-\(number)"
                number += 1
            }
            keys.append(key)
            let isOnly = upstreams.filter { $0.brand == upstream.brand }.count == 1
            let label = "Continue with \(upstream.brand.label)"
            return option(
                upstream, key: key, label: isOnly ? label : "\(label) (\(upstream.name))", client)
        }
    }

    /// The pool's client for the tenant, else the pool's own.
    private static func clientID(of pool: ProviderRow, in tenant: UUID) -> String? {
        let leading = pool.document["client_tenants"]?.members?.first {
            $0.value.string.flatMap { UUID($0) } == tenant
        }
        return leading?.name ?? pool.document["client_id"]?.string
    }

    private static func document(password client: String?, options: [JSONValue]) -> JSONValue {
        let password: [JSONValue.Member] =
            [.init("enabled", .bool(client != nil))]
            + (client.map { [.init("clientId", .string($0))] } ?? [])
        return .object([
            .init("password", .object(password)), .init("oauthOptions", .array(options)),
        ])
    }

    private static func option(
        _ upstream: ThinkWorkUpstream, key: String, label: String, _ client: String
    ) -> JSONValue {
        .object([
            .init("key", .string(key)), .init("label", .string(label)),
            .init("icon", .string(upstream.brand.rawValue)),
            .init("provider", .string(upstream.provider.rawValue)),
            .init("providerSpecific", .bool(true)),
            .init(
                "route",
                .object([
                    .init("type", .string("cognitoHostedUi")), .init("clientId", .string(client)),
                    .init("identityProvider", .string(upstream.name)),
                ])),
        ])
    }
}
