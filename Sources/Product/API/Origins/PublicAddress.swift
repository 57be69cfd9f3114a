import Text

/// The server's public address: `GATEHOUSE_PUBLIC_URL`, parsed once.
package struct PublicAddress: Sendable {
    /// The names of this machine that may occur in a Host field.
    package static let loopbackNames = ["127.0.0.1", "localhost", "[::1]"]
    /// Wildcard listening addresses; as a public address they mean this machine.
    private static let everywhere = ["0.0.0.0", "[::]"]

    /// `http` or `https`.
    package let scheme: String
    /// An A-label name or an address, IPv6 in brackets.
    package let host: String
    /// The scheme's default if the URL has none.
    package let port: Int
    /// Whether the server is reached only from this machine.
    package let isLoopback: Bool

    private let namesPort: Bool

    /// Nil if the text is not an http or https origin.
    package init?(_ url: String) {
        guard let origin = try? Origin(configuring: url), origin.kind == .exact,
            let usual = ["http": 80, "https": 443][origin.scheme]
        else { return nil }
        scheme = origin.scheme
        host = origin.host
        port = origin.port ?? usual
        namesPort = origin.port != nil
        isLoopback = (Self.loopbackNames + Self.everywhere).contains { sameBytes($0, origin.host) }
    }

    /// The values of Host that are ours: a scheme's default port may be omitted or given (RFC 9110
    /// section 4.2.3).
    package var authorities: [String] {
        let names = isLoopback ? Self.loopbackNames : [host]
        return names.flatMap { namesPort ? ["\($0):\(port)"] : [$0, "\($0):\(port)"] }
    }

    /// The origins of our own pages, as browsers send them (RFC 6454).
    package var origins: [String] {
        let names = isLoopback ? Self.loopbackNames : [host]
        return names.map { "\(scheme)://\($0)" + (namesPort ? ":\(port)" : "") }
    }

    /// Whether `authority`, a value of Host in lower case, names this machine, with any port.
    package static func isLoopback(_ authority: String) -> Bool {
        loopbackNames.contains { name in
            guard authority.utf8.starts(with: name.utf8) else { return false }
            let port = authority.utf8.dropFirst(name.utf8.count)
            return port.isEmpty || port.first == UInt8(ascii: ":")
        }
    }
}
