/// A web origin (RFC 6454) as stored: an operator's text is normalised to the form that browsers
/// send, and requests are compared byte by byte. ASCII only: string equality is safe.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// Whether the origin matches one text or every label below a domain.
    package enum Kind: String, Sendable {
        case exact
        /// One label below a domain, https only.
        case wildcard
    }

    /// Changes made to the operator's text.
    package enum Change: String, Sendable {
        case lowerCased = "lower-cased"
        case asciiHost = "host written in its A-label form"
        case addressForm = "address written in its shortest form"
        case defaultPort = "default port dropped"
        case portZeros = "leading zeros of the port dropped"
        case trailingSlash = "trailing slash dropped"
    }

    /// Schemes of app frameworks. All apps of a framework share one origin, so it proves nothing.
    package static let customSchemes = [
        "capacitor", "ionic", "tauri", "app", "chrome-extension", "moz-extension",
    ]

    /// As browsers send it; a wildcard as `https://*.example.com`.
    package let canonical: String
    /// Decides how a request's origin is compared.
    package let kind: Kind
    package let scheme: String
    /// The A-label name, the address (IPv6 in brackets), or the domain below a wildcard.
    package let host: String
    /// nil if it is the scheme's default.
    package let port: Int?
    /// For the operator to see; empty if the text was canonical.
    package let changes: [Change]

    package var description: String { canonical }

    /// Whether cookies are allowed: never with a wildcard, an app's scheme, or plain http except on
    /// this machine.
    package var mayCarryCredentials: Bool {
        guard kind == .exact else { return false }
        return scheme == "https"
            || scheme == "http" && ["localhost", "127.0.0.1", "[::1]"].contains(host)
    }

    /// The domain of a wildcard, which the tenant must own; nil for others.
    package var wildcardBase: DomainName? {
        // The parser has checked that a wildcard's host is a domain name, so nil never occurs.
        kind == .wildcard ? try? DomainName(host) : nil
    }

    /// Throws `OriginFault` for a path, a user, a query or a host that is no A-label.
    package init(configuring text: String) throws(OriginFault) {
        var parser = try OriginParser(Array(text.utf8))
        try parser.parse()
        kind = parser.isWildcard ? .wildcard : .exact
        scheme = parser.scheme
        host = parser.host
        port = parser.port
        changes = parser.changes
        canonical =
            parser.scheme + "://" + (parser.isWildcard ? "*." : "") + parser.host
            + (parser.port.map { ":\($0)" } ?? "")
    }

    package static func == (left: Origin, right: Origin) -> Bool {
        left.canonical == right.canonical
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

    /// True if a request's `Origin` is this one, or one label below its domain. No case folding, no
    /// trailing slash: browsers send one form.
    package func matches(_ request: [UInt8]) -> Bool {
        switch kind {
        case .exact: return request.elementsEqual(canonical.utf8)
        case .wildcard:
            let prefix = Array("https://".utf8)
            let suffix = Array(".".utf8) + Array(host.utf8)
            guard request.count > prefix.count + suffix.count, request.starts(with: prefix),
                request.suffix(suffix.count).elementsEqual(suffix)
            else { return false }
            return ASCII.isLabel(request[prefix.count..<(request.count - suffix.count)])
        }
    }

    /// `http://` and a loopback name with an explicit port, as development servers send.
    package static func isLoopbackDevelopment(_ request: [UInt8]) -> Bool {
        for host in ["http://localhost:", "http://127.0.0.1:", "http://[::1]:"] {
            guard request.starts(with: host.utf8) else { continue }
            guard let port = ASCII.number(request.dropFirst(host.utf8.count), digits: 5) else {
                return false
            }
            return (1...65535).contains(port)
        }
        return false
    }
}
