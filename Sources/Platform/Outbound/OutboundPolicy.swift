import Text

/// An inner address that the operator of the server opened for requests: an address or a block,
/// with one port or with all.
package struct OutboundAllowance: Sendable, Equatable {
    /// The tenant whose own hosts may have such an address; `nil` is for the platform's hosts only.
    package var slug: String?
    package var range: IPRange
    /// `nil` is for every port.
    package var port: UInt16?

    /// `10.0.0.5:443`, `10.1.0.0/24`, `[fd00::5]:443` or `fd00::/8`, each with `slug=` in front for
    /// one tenant; `nil` if the text is none of these.
    package init?(_ text: some StringProtocol) {
        var rest = Substring(text)
        if let sign = rest.firstIndex(of: "=") {
            guard sign > rest.startIndex else { return nil }
            slug = String(rest[..<sign])
            rest = rest[rest.index(after: sign)...]
        }
        // One colon precedes a port; several colons without brackets belong to an address.
        let colons = rest.utf8.count { $0 == UInt8(ascii: ":") }
        if let end = rest.firstIndex(of: "]"), rest.first == "[" {
            let tail = rest[rest.index(after: end)...]
            rest = rest.dropFirst().prefix(upTo: end)
            guard tail.isEmpty || Self.take(tail, &port) else { return nil }
        } else if colons == 1, let colon = rest.firstIndex(of: ":") {
            guard Self.take(rest[colon...], &port) else { return nil }
            rest = rest[..<colon]
        }
        guard let range = IPRange(rest) else { return nil }
        self.range = range
    }

    /// `:443`
    private static func take(_ text: Substring, _ port: inout UInt16?) -> Bool {
        guard text.first == ":", text.dropFirst().utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = UInt16(text.dropFirst()), number > 0
        else { return false }
        port = number
        return true
    }

    func contains(_ address: IPAddress, port: UInt16) -> Bool {
        range.contains(address) && (self.port ?? port) == port
    }
}

/// Limits of one call, and which addresses it may reach.
package struct OutboundPolicy: Sendable {
    /// Bytes of a response body; more fails.
    package static let bodyLimit = 256 * 1024
    /// Bytes of a response head; more fails.
    package static let headLimit = 32 * 1024
    /// More threads than a few stalling owners can occupy.
    package static let threads = 24
    /// How many calls of all owners may wait for a thread.
    package static let queueLimit = 64
    package static let tenantTransfers = (all: 2, toHost: 2)
    /// The limit for the platform, whose providers all tenants use.
    package static let platformTransfers = (all: 8, toHost: 4)
    /// How many calls of one owner, and of one owner to one host, may wait for a slot.
    package static let waitingLimit = 32

    /// From the call to the complete response, waiting for a thread included.
    package var total: Duration = .seconds(5)
    /// Limit for name look-up, connection and TLS handshake.
    package var connecting: Duration = .seconds(3)
    /// A host that does not respond within this time has timed out. If less was left, the caller
    /// had no time.
    var fairTime: Duration { min(.seconds(1), total / 2) }
    /// Bytes.
    package var bodyLimit = OutboundPolicy.bodyLimit
    /// Allows 127.0.0.0/8 and ::1, there also over plain http: for a provider on this machine
    /// during development.
    package var allowsLoopback: Bool
    /// Allows any address, also over plain http: for a host that the operator configured, who reaches
    /// the inner network anyway.
    package var allowsAnyAddress = false
    /// Inner addresses that requests may reach over https all the same.
    package var allowances: [OutboundAllowance] = []
    /// PEM of the authorities to trust; `nil` for the system's.
    package var authorities: String?

    package init(allowsLoopback: Bool = false, authorities: String? = nil) {
        self.allowsLoopback = allowsLoopback
        self.authorities = authorities
    }

    /// For hosts that the operator configured.
    package static var ofOperator: OutboundPolicy {
        var policy = OutboundPolicy()
        policy.allowsAnyAddress = true
        return policy
    }

    /// Whether a connection to this address is allowed. Checked for each address at connection
    /// time, so that a name that changes between look-up and use gains nothing.
    func permits(_ address: IPAddress, port: UInt16, isPlain: Bool) -> Bool {
        if allowsAnyAddress { return true }
        if address.isLoopback, allowsLoopback { return true }
        guard !isPlain else { return false }
        return address.isGlobal || allowances.contains { $0.contains(address, port: port) }
    }
}
