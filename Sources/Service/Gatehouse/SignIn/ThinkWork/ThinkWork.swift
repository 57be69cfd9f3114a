import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// The part of Thinkwork's API about users: their status in the tenant, their sign-in options, and
/// invites. The app's users sign in at a Cognito pool, and the app sends the pool's id token
/// without a scheme.
enum ThinkWork {
    static let contract = Contract(
        name: "thinkwork",
        headers: [
            "x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id", "x-thinkwork-tenant-slug",
            "x-api-key", "x-thinkwork-deployment-token",
        ],
        providerKinds: ["cognito"],
        settings: [
            .optional(
                "password", .bool,
                "Whether people can sign in at the pool with a password; false if absent.")
        ],
        routes: ThinkWorkOptions.routes + ThinkWorkMe.routes + ThinkWorkSession.routes
            + ThinkWorkInvites.routes
            + ThinkWorkEnrollment.routes,
        encode: { problem, _ in problem.plainError }, explain: explain)

    private static func explain(_ refusal: SignInRefusal) -> Problem? {
        switch refusal {
        case .notProved, .secretOutdated, .invalidToken, .signedOut, .invalidKey:
            Problem(.unauthorized, "Unauthorized")
        default: nil
        }
    }
}

extension ClientCall {
    /// Throws if the request names a tenant other than the one in its path or bound to its host.
    func requireOwnTenant() throws {
        let names = ["x-tenant-id", "x-tenant-slug", "x-thinkwork-tenant-id"]
        let named =
            (names + ["x-thinkwork-tenant-slug"]).flatMap { request.all($0) }
            + [query("tenantId")].compactMap { $0 }
        guard named.allSatisfy({ $0.isEmpty || isOwnTenant($0) }) else {
            throw Problem.notFound("tenant")
        }
    }

    /// Whether the text is this tenant's id or slug.
    func isOwnTenant(_ text: String) -> Bool {
        UUID(text) == tenant.id || sameBytes(text, tenant.slug)
    }
}

/// The tenant's sign-in options, which the app's sign-in page requests before a sign-in.
enum ThinkWorkOptions {
    static let routes: [ContractRoute] = [
        ContractRoute(.get, "/api/auth/options", isPublic: true) { call in
            let platform = call.query("platform") ?? "web"
            guard ["web", "mobile", "desktop", "cli"].contains(where: { sameBytes($0, platform) })
            else { throw Problem(.invalidRequest, "platform must be web, mobile, desktop or cli") }
            return .ok(try await options(call))
        }
    ]

    /// Returns the options. The list is empty if the app has no pool, several pools and no setting
    /// that chooses one, or no client id at the pool.
    private static func options(_ call: ClientCall) async throws -> JSONValue {
        guard let pool = try await call.provider(kinds: ["cognito"]),
            let client = call.ownClientID(at: pool) ?? clientID(of: pool, in: call.tenant.id)
        else { return document(password: nil, options: []) }
        let hasPassword = call.setting("password")?.bool ?? false
        let upstreams = (pool.document["upstreams"]?.array ?? []).compactMap(ThinkWorkUpstream.init)
        return document(password: hasPassword ? client : nil, options: options(upstreams, client))
    }

    /// Returns the options in the pool's order, each with a unique key and a unique label.
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

    /// Returns the client id that the pool has for the tenant, or else the pool's own client id.
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

/// A provider behind the pool, in the terms that the app knows. The app drops every option whose
/// provider or icon it does not know, so other providers are not offered.
struct ThinkWorkUpstream: Sendable {
    /// The brand, which decides the text on the button.
    enum Brand: String, Sendable {
        case google, microsoft

        var label: String { self == .google ? "Google" : "Microsoft" }
    }

    enum Provider: String, Sendable {
        case google
        /// Microsoft accounts of any kind; the endpoint is not that of a single directory.
        case microsoft
        /// Microsoft accounts of a single directory (Microsoft Entra ID).
        case entra

        var brand: Brand { self == .google ? .google : .microsoft }
    }

    /// The upstream's name, as Cognito's authorize endpoint expects it.
    var name: String
    var provider: Provider

    var brand: Brand { provider.brand }

    /// Reads an item of a pool's `upstreams`; `nil` for a provider that the app cannot show. The
    /// kind follows from the item's settings, or else from its name.
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
    /// The names of Microsoft's endpoints for accounts of many directories, and for personal
    /// accounts.
    private static let sharedDirectories = [
        "common", "organizations", "consumers", "9188040d-6c67-4c5b-b112-36a304b66dad",
    ]

    /// Returns the provider of an issuer. Microsoft's issuers have the form
    /// `https://login.microsoftonline.com/{directory}/v2.0`.
    private static func provider(issuer: String) -> Provider? {
        let bare = issuer.utf8.starts(with: "https://".utf8) ? String(issuer.dropFirst(8)) : issuer
        let parts = asciiLowercased(bare).split(separator: "/").map(String.init)
        guard let host = parts.first else { return nil }
        if sameBytes(host, "accounts.google.com") { return .google }
        guard microsoftHosts.contains(where: { sameBytes($0, host) }) else { return nil }
        let isShared = parts.count < 2 || sharedDirectories.contains { sameBytes($0, parts[1]) }
        return isShared ? .microsoft : .entra
    }

    /// Returns the provider that an upstream's name suggests by its first letters. Cognito calls
    /// Google `Google`; other names, such as `entra-acme`, were chosen by an operator.
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
