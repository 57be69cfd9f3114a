import Text

/// An internal address, or a block of addresses, to which the operator has allowed requests, on one
/// port or on all ports.
package struct OutboundAllowance: Sendable, Equatable {
    /// The slug of the tenant whose hosts may have such an address; `nil` if only the platform's
    /// hosts may.
    var slug: String?
    var range: IPRange
    /// The allowed port; `nil` for every port.
    var port: UInt16?

    /// Parses `10.0.0.5:443`, `10.1.0.0/24`, `[fd00::5]:443` or `fd00::/8`. In an allowance for one
    /// tenant, `slug=` precedes the address. `nil` if the text has none of these forms.
    package init?(_ text: some StringProtocol) {
        var rest = Substring(text)
        if let sign = rest.firstIndex(of: "=") {
            guard sign > rest.startIndex else { return nil }
            slug = String(rest[..<sign])
            rest = rest[rest.index(after: sign)...]
        }
        // A single colon precedes a port; several colons without brackets are an IPv6 address.
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

    /// Reads `:443` into `port`. Returns false if the text is not a port.
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

/// The limits of one call, and which addresses it may reach.
package struct OutboundPolicy: Sendable {
    /// The maximum length of a response body, in bytes. If the body is longer, the call fails.
    static let bodyLimit = 256 * 1024
    /// The maximum length of a response head, in bytes. If the head is longer, the call fails.
    static let headLimit = 32 * 1024
    /// The number of threads for transfers. It is so high that a few owners with stalling hosts
    /// cannot occupy all of them.
    static let threads = 24
    /// How many calls may wait for a thread, over all owners.
    static let queueLimit = 64
    static let tenantTransfers = (all: 2, toHost: 2)
    /// The limits for the platform, whose identity providers all tenants use.
    static let platformTransfers = (all: 8, toHost: 4)
    /// How many calls may wait for a slot of one owner. The same number may wait for a slot of one
    /// host.
    package static let waitingLimit = 32

    /// The time limit from the call to the complete response, the wait for a thread included.
    package var total: Duration = .seconds(5)
    /// The time limit for name look-up, connection and TLS handshake.
    var connecting: Duration = .seconds(3)
    /// A timeout counts against a host only if the host had at least this much time. If the caller
    /// had less time left, the timeout is not the host's fault.
    var fairTime: Duration { min(.seconds(1), total / 2) }
    /// The maximum length of a response body, in bytes.
    package var bodyLimit = OutboundPolicy.bodyLimit
    /// Whether 127.0.0.0/8 and ::1 are allowed, also over plain http. This is meant for an identity
    /// provider on this machine during development.
    var allowsLoopback: Bool
    /// Whether any address is allowed, also over plain http. This is meant for hosts of the
    /// operator, who can reach the internal network anyway.
    var allowsAnyAddress = false
    /// The internal addresses to which requests are allowed as an exception, over https only.
    package var allowances: [OutboundAllowance] = []
    /// PEM of the certificate authorities to trust; `nil` to trust the system's.
    var authorities: String?

    package init(allowsLoopback: Bool = false, authorities: String? = nil) {
        self.allowsLoopback = allowsLoopback
        self.authorities = authorities
    }

    /// The policy for hosts that the operator configured.
    package static var ofOperator: OutboundPolicy {
        var policy = OutboundPolicy()
        policy.allowsAnyAddress = true
        return policy
    }

    /// Whether a connection to this address is allowed. The address is checked at each connection.
    /// So an attacker gains nothing by changing the addresses of a name after a look-up.
    func permits(_ address: IPAddress, port: UInt16, isPlain: Bool) -> Bool {
        if allowsAnyAddress { return true }
        if address.isLoopback, allowsLoopback { return true }
        guard !isPlain else { return false }
        return address.isGlobal || allowances.contains { $0.contains(address, port: port) }
    }
}
