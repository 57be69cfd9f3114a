import Domain
import Storage
import Text

/// Checks redirect URIs (RFC 6749 section 3.1.2, RFC 9700 section 2.1). A redirect URI must be
/// absolute, without a fragment, user information or a wildcard.
enum RedirectURI {
    static let rule = TextRule(
        detail:
            "must be an absolute URL in printable ASCII with http, https or the scheme of an app "
            + "(none of the system's own), without a space, a fragment, a user name, `*` or a "
            + "backslash",
        example: "app.immich:///oauth-callback"
    ) { isAllowed($0) }

    /// Schemes that browsers and operating systems handle themselves. No app receives a redirect to
    /// them.
    private static let refused = [
        "javascript", "data", "vbscript", "file", "blob", "about", "view-source", "filesystem",
        "mailto", "tel", "sms", "smsto", "mms", "mmsto", "callto", "sip", "sips", "facetime",
        "facetime-audio", "geo", "maps", "market", "intent", "android-app", "itms", "itms-apps",
        "itms-services", "app-settings", "prefs", "app-prefs", "shortcuts", "x-apple",
        "x-help-action",
        "chrome", "chrome-extension", "chrome-error", "chrome-search", "chrome-untrusted",
        "devtools",
        "edge", "brave", "opera", "vivaldi", "moz-extension", "moz-icon", "moz-safe-about",
        "resource",
        "safari-extension", "safari-web-extension", "webkit", "res", "mk", "ms-its", "mhtml", "jar",
        "view", "wyciwyg", "content", "cid", "mid", "urn", "tag", "feed", "webcal", "ftp", "ftps",
        "sftp", "ssh", "telnet", "gopher", "ws", "wss", "news", "nntp", "snews", "irc", "ircs",
        "ldap",
        "ldaps", "smb", "nfs", "afp", "vnc", "rdp", "dav", "davs", "magnet", "bitcoin", "xmpp",
        "im",
        "shell", "search", "search-ms", "vbefile", "hcp", "ldap-search", "x-man-page",
        "x-radr", "x-terminal",
    ]
    /// Prefixes of further schemes that browsers and operating systems handle themselves.
    private static let refusedStarts = ["ms-", "x-apple-", "com.apple.", "web+"]

    static func isAllowed(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let scheme = scheme(text.utf8[..<colon])
        else { return false }
        let rest = text.utf8[colon...].dropFirst()
        // `*` has no meaning, since redirect addresses are compared byte for byte.
        let isPlain = rest.allSatisfy {
            $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "*")
                && $0 != UInt8(ascii: "\\")
        }
        guard isPlain, !rest.isEmpty, !refused.contains(where: { sameBytes($0, scheme) }),
            !refusedStarts.contains(where: { scheme.utf8.starts(with: $0.utf8) })
        else { return false }
        let authority = authority(rest)
        if authority?.contains(UInt8(ascii: "@")) ?? false { return false }
        guard sameBytes(scheme, "http") || sameBytes(scheme, "https") else { return true }
        return origin(text) != nil
    }

    /// Whether the scheme can belong to a single app. This is false for a private-use scheme
    /// without a dot, which any other app may claim too (RFC 8252 section 7.1). The schemes of the
    /// built-in client contracts are exempt.
    static func isOwnedScheme(_ text: String) -> Bool {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let scheme = scheme(text.utf8[..<colon])
        else { return false }
        return scheme.utf8.contains(UInt8(ascii: "."))
            || knownSchemes.contains(where: { sameBytes($0, scheme) })
    }

    private static let knownSchemes = [
        "http", "https", "immich", "timetracker", "thinkwork", "relate-mail", "deeprecall",
    ]

    /// Whether a redirect would send the sign-in's code unencrypted. This is so for plain http,
    /// except to this machine (RFC 8252 section 7.3) or to this server, whose operator has chosen
    /// http.
    static func isInTheClear(_ text: String, own: PublicAddress?) -> Bool {
        guard let origin = origin(text), sameBytes(origin.scheme, "http") else { return false }
        if PublicAddress.loopbackNames.contains(where: { sameBytes($0, origin.host) }) {
            return false
        }
        return !(own?.origins.contains { sameBytes($0, origin.canonical) } ?? false)
    }

    /// The origin of an http or https URL; `nil` for every other URL.
    private static func origin(_ text: String) -> Origin? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let scheme = scheme(text.utf8[..<colon]),
            sameBytes(scheme, "http") || sameBytes(scheme, "https"),
            let authority = authority(text.utf8[colon...].dropFirst())
        else { return nil }
        return try? Origin(
            configuring: scheme + "://" + String(decoding: authority, as: UTF8.self))
    }

    /// The scheme in lower case; `nil` if there is none (RFC 3986 section 3.1).
    private static func scheme(_ bytes: Substring.UTF8View) -> String? {
        guard let first = bytes.first, (first | 0x20) &- 0x61 < 26,
            bytes.allSatisfy({
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "+")
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { return nil }
        return String(decoding: bytes.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The authority of a URL: the part between `//` and the path; `nil` if there is none.
    private static func authority(_ rest: Substring.UTF8View.SubSequence) -> [UInt8]? {
        guard rest.starts(with: "//".utf8) else { return nil }
        return Array(
            rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") })
    }
}

/// Checks `return_to`: the address to which the page of a link sends the person when they are done.
/// It must be, byte for byte, a redirect URI of one of the tenant's clients, so that no link of
/// this server leads to a foreign page.
enum ReturnAddress {
    static let field = FieldShape.nullable(
        "return_to", .string(min: 1, max: 2048, rule: RedirectURI.rule),
        "The URL of the page to which the person returns at the end; `null` if there is none. It "
            + "must be one of the `redirect_uris` of the tenant's enabled clients.")

    /// The member `return_to` of a response: the address at which the person can continue in the
    /// app.
    static let shown = FieldShape.readOnly(
        "return_to", .string(), nullable: true,
        "The page where the person can continue; `null` if there is none.")

    /// The addresses that the inputs may name in `return_to`: the redirect URIs of the tenant's
    /// clients. They are read from the database only if an input has a `return_to`.
    static func allowed(_ inputs: [Input], _ call: Call) async throws -> [String] {
        try await allowed(inputs, of: call.tenant.id, call.application)
    }

    /// The addresses that the inputs may name in `return_to`; none if `tenant` is `nil`.
    static func allowed(
        _ inputs: [Input], of tenant: UUID?, _ application: Application
    ) async throws -> [String] {
        guard let tenant, inputs.contains(where: { $0.optionalString("return_to") != nil }) else {
            return []
        }
        return try await application.database.scope(tenant).returnAddresses()
    }

    static func fault(
        _ input: Input, _ allowed: [String], at pointer: String = ""
    ) -> FieldError? {
        guard let wanted = input.optionalString("return_to"),
            !allowed.contains(where: { sameBytes($0, wanted) })
        else { return nil }
        return FieldError(
            pointer + "/return_to", .notAllowed,
            "must be one of the `redirect_uris` of the tenant's enabled clients")
    }
}

/// A client's host: a domain name with an optional port.
enum ClientHost {
    static let rule = TextRule(
        detail: "must be a host, with a port if it is not the default one",
        example: "mail.acme.example"
    ) { of($0) != nil }

    /// The host in lower case, as an A-label; `nil` for anything else.
    static func of(_ text: String) -> String? {
        guard let origin = try? Origin(configuring: "https://\(text)") else { return nil }
        // `Origin` has refused a path and user information, but not a wildcard, which is not a
        // host.
        guard origin.wildcardBase == nil else { return nil }
        return origin.port.map { "\(origin.host):\($0)" } ?? origin.host
    }
}

/// Decides which hosts the caller may bind to a client. Names of the server itself and of this
/// machine are reserved: requests with such a host are meant for the server itself, for example
/// health checks, or come from a proxy that sends its upstream's address as the host.
struct HostBinding {
    private static let localNames = [".localhost", ".test"]

    /// The server's public address; `nil` if its URL is invalid. Without it, no name is known to be
    /// the server's own.
    let own: PublicAddress?
    /// Whether the caller is an operator of the platform or a key of the platform.
    let isPlatform: Bool

    init(_ call: Call) {
        own = PublicAddress(call.application.publicURL)
        isPlatform = call.principal.platform
    }

    /// Throws 422 for the first host of `next` that the caller may not bind. Hosts that are in
    /// `current` already are allowed.
    func check(_ next: [String], besides current: [String], in change: Change) async throws {
        for (index, host) in next.enumerated()
        where !current.contains(where: { sameBytes($0, host) }) {
            if let fault = refusal(of: host) { throw Self.refuse(index, fault) }
            if isPlatform { continue }
            guard try await change.wildcardStands(Self.parts(of: host).name) else {
                throw Self.refuse(
                    index,
                    "must be at or below a verified domain of the tenant; the platform may also "
                        + "bind other hosts, except at or below another tenant's verified domain"
                )
            }
        }
    }

    /// Why the caller may not bind a host, as text; `nil` if it may. `host` must be in the form
    /// that `ClientHost.of` returns.
    func refusal(of host: String) -> String? {
        let (name, port) = Self.parts(of: host)
        guard !name.utf8.starts(with: "[".utf8), let domain = Self.domain(name) else {
            return "is an IP address; bind a name"
        }
        if let own, sameBytes(own.host, name) {
            guard own.isLoopback, port != own.port, port != nil else {
                return "is this server's own name"
            }
        }
        if Self.isLocal(name) { return localRefusal(name, port) }
        return domain.isPublicSuffix ? "is a public suffix, below which anyone may register" : nil
    }

    /// Why the caller may not bind a name of this machine; `nil` if it may. Only the platform may
    /// bind one, and only if the server runs on a loopback address.
    private func localRefusal(_ name: String, _ port: Int?) -> String? {
        guard isPlatform, let own, own.isLoopback else {
            return
                "is a name of the local machine, which only the platform may bind, and only on a "
                + "server whose own address is a loopback address"
        }
        // `localhost` without a port would match every port, including the server's own.
        if port == own.port || port == nil && sameBytes(name, "localhost") {
            return "needs a port that is not this server's own"
        }
        return nil
    }

    private static func domain(_ name: String) -> DomainName? {
        try? DomainName(name, allowSingleLabel: true)
    }

    private static func isLocal(_ name: String) -> Bool {
        sameBytes(name, "localhost")
            || localNames.contains { name.utf8.count > $0.utf8.count && name.hasSuffix($0) }
    }

    private static func parts(of host: String) -> (name: String, port: Int?) {
        guard !host.utf8.starts(with: "[".utf8), let colon = host.utf8.firstIndex(of: 0x3A) else {
            return (host, nil)
        }
        return (String(host[..<colon]), Int(host[host.utf8.index(after: colon)...]))
    }

    private static func refuse(_ index: Int, _ detail: String) -> Problem {
        .invalid([FieldError("/hosts/\(index)", .notAllowed, detail)])
    }
}
