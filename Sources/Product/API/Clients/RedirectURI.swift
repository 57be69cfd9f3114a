import Text

/// A redirect URI (RFC 6749 section 3.1.2, RFC 9700 section 2.1): absolute, without a fragment, a
/// user or a wildcard.
enum RedirectURI {
    static let rule = TextRule(
        detail:
            "must be an absolute address with a scheme of an app, http or https, without a fragment, "
            + "a user or `*`",
        example: "app.immich:///oauth-callback"
    ) { isAllowed($0) }

    /// What browsers and systems handle themselves: no app gets what is sent there.
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
    /// Families of them.
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

    /// False for a private-use scheme without a dot, which any app may claim as well (RFC 8252 section
    /// 7.1); the apps of the contracts had theirs before.
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

    /// Whether a sign-in's code would travel in the clear: plain http that leads neither to this
    /// machine nor to this server, whose operator has chosen http (RFC 8252 section 7.3).
    static func isInTheClear(_ text: String, own: PublicAddress?) -> Bool {
        guard let origin = origin(text), sameBytes(origin.scheme, "http") else { return false }
        if PublicAddress.loopbackNames.contains(where: { sameBytes($0, origin.host) }) {
            return false
        }
        return !(own?.origins.contains { sameBytes($0, origin.canonical) } ?? false)
    }

    /// Of an http or https address; nil for every other.
    private static func origin(_ text: String) -> Origin? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            let scheme = scheme(text.utf8[..<colon]),
            sameBytes(scheme, "http") || sameBytes(scheme, "https"),
            let authority = authority(text.utf8[colon...].dropFirst())
        else { return nil }
        return try? Origin(
            configuring: scheme + "://" + String(decoding: authority, as: UTF8.self))
    }

    /// The scheme in lower case; nil if there is none (RFC 3986 section 3.1).
    private static func scheme(_ bytes: Substring.UTF8View) -> String? {
        guard let first = bytes.first, (first | 0x20) &- 0x61 < 26,
            bytes.allSatisfy({
                ($0 | 0x20) &- 0x61 < 26 || $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "+")
                    || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            })
        else { return nil }
        return String(decoding: bytes.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    /// The part between `//` and the path; nil if there is none.
    private static func authority(_ rest: Substring.UTF8View.SubSequence) -> [UInt8]? {
        guard rest.starts(with: "//".utf8) else { return nil }
        return Array(
            rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") })
    }
}
