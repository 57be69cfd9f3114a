import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The part of Thinkwork's API about users: their status in the tenant, their sign-in options, and
/// invites. They sign in at a Cognito pool, and send the pool's id token without a scheme.
enum ThinkWork {
    static let contract = Contract(
        name: "thinkwork",
        headers: [
            "x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id", "x-thinkwork-tenant-slug",
            "x-api-key", "x-thinkwork-deployment-token",
        ],
        providerKinds: ["cognito"],
        settings: [
            .optional("password", .bool, "Whether the pool takes passwords; false when absent.")
        ],
        routes: ThinkWorkOptions.routes + ThinkWorkMe.routes + ThinkWorkSession.routes
            + ThinkWorkInvites.routes
            + ThinkWorkEnrollment.routes,
        encode: { problem, _ in problem.plainError }, explain: explain)

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .notProved, .invalidToken, .signedOut, .invalidKey:
            Problem(.unauthorized, "Unauthorized")
        default: nil
        }
    }
}

extension ClientCall {
    /// Refuses a request that names a tenant other than that of its mount.
    func requireOwnTenant() throws {
        let names = ["x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id"]
        let named =
            (names + ["x-thinkwork-tenant-slug"]).flatMap { request.all($0) }
            + [query("tenantId")].compactMap { $0 }
        guard named.allSatisfy({ $0.isEmpty || isOwnTenant($0) }) else {
            throw Problem.notFound("tenant")
        }
    }

    /// Accepts the tenant's id or its slug.
    func isOwnTenant(_ text: String) -> Bool {
        UUID(text) == tenant.id || sameBytes(text, tenant.slug)
    }
}

/// The sign-in options of the tenant, for the app's sign-in page, before any sign-in.
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

    /// The options in the pool's order. Keys are unique, and so are labels.
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

    /// The pool's client for the tenant, or else the pool's own.
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

/// A provider behind the pool, in the app's closed vocabulary. The app drops every option whose
/// provider or icon it does not know, so unknown providers are not offered.
struct ThinkWorkUpstream: Sendable {
    /// The text on the button.
    enum Brand: String, Sendable {
        case google, microsoft

        var label: String { self == .google ? "Google" : "Microsoft" }
    }

    enum Provider: String, Sendable {
        case google
        /// Microsoft accounts of any kind: the endpoint does not belong to a single directory.
        case microsoft
        /// One directory of Microsoft Entra ID.
        case entra

        var brand: Brand { self == .google ? .google : .microsoft }
    }

    /// As Cognito's authorize endpoint takes it.
    var name: String
    var provider: Provider

    var brand: Brand { provider.brand }

    /// Reads an item of a pool's `upstreams`; `nil` for a provider that the app cannot show. The
    /// operator's settings take precedence over the item's name.
    init?(_ upstream: JSONValue) {
        guard let name = upstream["name"]?.string else { return nil }
        let issuer = upstream["issuer"]?.string
        let provider =
            switch upstream["kind"]?.string.flatMap(ProviderKind.init) {
            case .google: Provider.google
            case .oidc: issuer.flatMap(Self.provider(issuer:))
            case nil: Self.provider(name: name)
            default: nil as Provider?
            }
        guard let provider else { return nil }
        self.name = name
        self.provider = provider
    }

    private static let microsoftHosts = [
        "login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn",
        "sts.windows.net", "login.windows.net",
    ]
    /// Endpoints for accounts of many directories, and the one for personal accounts.
    private static let sharedDirectories = [
        "common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad",
    ]

    /// `https://login.microsoftonline.com/{directory}/v2.0` is Microsoft's form of an issuer.
    private static func provider(issuer: String) -> Provider? {
        let bare = issuer.utf8.starts(with: "https://".utf8) ? String(issuer.dropFirst(8)) : issuer
        let parts = asciiLowercased(bare).split(separator: "/").map(String.init)
        guard let host = parts.first else { return nil }
        if sameBytes(host, "accounts.google.com") { return .google }
        guard microsoftHosts.contains(where: { sameBytes($0, host) }) else { return nil }
        let isShared = parts.count < 2 || sharedDirectories.contains { sameBytes($0, parts[1]) }
        return isShared ? .microsoft : .entra
    }

    /// Cognito itself calls Google `Google`; the operator chose other names, such as `entra-acme`.
    private static func provider(name: String) -> Provider? {
        let first = asciiLowercased(name).utf8.prefix { $0 &- 0x61 < 26 }
        return switch String(decoding: first, as: UTF8.self) {
        case "google": .google
        case "microsoft": .microsoft
        case "entra", "entraid", "azuread", "azure": .entra
        default: nil
        }
    }
}
