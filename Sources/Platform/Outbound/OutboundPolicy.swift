import Text

/// Limits of one call, and which addresses it may reach.
package struct OutboundPolicy: Sendable {
    /// Bytes of a response body; more fails.
    package static let bodyLimit = 256 * 1024
    /// Bytes of a response head; more fails.
    package static let headLimit = 32 * 1024
    /// More than a few stalling owners can occupy.
    package static let threads = 24
    /// Calls of all owners that wait for a thread.
    package static let queueLimit = 64
    package static let tenantTransfers = (all: 2, toHost: 2)
    /// The limit for the platform, whose providers all tenants use.
    package static let platformTransfers = (all: 8, toHost: 4)
    /// Calls of one owner, and of one owner to one host, that wait for a slot.
    package static let waitingLimit = 32

    /// From the call to the complete response, waiting for a thread included.
    package var total: Duration = .seconds(5)
    /// Limit for name look-up, connection and TLS handshake.
    package var connecting: Duration = .seconds(3)
    /// A host that does not respond within this time has timed out; with less, the caller had no
    /// time left.
    var fairTime: Duration { min(.seconds(1), total / 2) }
    /// Bytes.
    package var bodyLimit = OutboundPolicy.bodyLimit
    /// Allows 127.0.0.0/8 and ::1, there also over plain http: for a provider on this machine
    /// during development.
    package var allowsLoopback: Bool
    /// Allows any address, also over plain http: for a host that the operator configured, who reaches
    /// the inner network anyway.
    package var allowsAnyAddress = false
    /// PEM of the authorities to trust; nil: the system's.
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
    func permits(_ address: IPAddress, isPlain: Bool) -> Bool {
        if allowsAnyAddress { return true }
        if address.isLoopback { return allowsLoopback }
        return !isPlain && address.isGlobal
    }
}
