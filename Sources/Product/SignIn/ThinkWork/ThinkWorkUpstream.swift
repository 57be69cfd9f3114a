import Domain
import JSON
import Text

/// A provider behind the pool in the app's closed vocabulary. The app drops every option whose
/// provider or icon it does not know, so that unknown providers are not offered.
struct ThinkWorkUpstream: Sendable {
    /// The button's text.
    enum Brand: String, Sendable {
        case google, microsoft

        var label: String { self == .google ? "Google" : "Microsoft" }
    }

    enum Provider: String, Sendable {
        case google
        /// Microsoft accounts of any kind: the endpoint is no single directory's.
        case microsoft
        /// One directory of Microsoft Entra ID.
        case entra

        var brand: Brand { self == .google ? .google : .microsoft }
    }

    /// As Cognito's authorize endpoint takes it.
    var name: String
    var provider: Provider

    var brand: Brand { provider.brand }

    /// An item of a pool's `upstreams`; nil for a provider that the app cannot show. The operator's
    /// settings take precedence over its name.
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
    /// Endpoints for accounts of many directories, and the one of personal accounts.
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

    /// Cognito itself calls Google `Google`; other names are the operator's, such as `entra-acme`.
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
