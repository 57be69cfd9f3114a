import Text

/// Bounds of one call, and where it may lead.
package struct OutboundPolicy: Sendable {
    package static let bodyLimit = 256 * 1024
    package static let headLimit = 32 * 1024
    /// More than a few stalling owners can hold.
    package static let threads = 24
    package static let queueLimit = 64
    /// Transfers at once of one tenant, and of it to one host.
    package static let tenantTransfers = (all: 2, toHost: 2)
    /// The same of the platform, whose providers are every tenant's.
    package static let platformTransfers = (all: 8, toHost: 4)
    /// Calls of one owner, and of one owner to one host, that wait for a transfer to end.
    package static let waitingLimit = 32

    /// From the moment of asking to the whole answer, waiting for a thread included.
    package var total: Duration = .seconds(5)
    package var connecting: Duration = .seconds(3)
    /// A host that does not answer within this has timed out; within less, who called had no time.
    var fairTime: Duration { min(.seconds(1), total / 2) }
    /// Bytes.
    package var bodyLimit = OutboundPolicy.bodyLimit
    /// Lets 127.0.0.0/8 and ::1 through, there also over plain http: for a provider on this
    /// machine during development.
    package var allowsLoopback: Bool
    /// PEM of the authorities to trust; the system's where nil.
    package var authorities: String?

    package init(allowsLoopback: Bool = false, authorities: String? = nil) {
        self.allowsLoopback = allowsLoopback
        self.authorities = authorities
    }

    /// Whether a connection may be opened to this address. Asked for each address that is really
    /// connected to, so that a name that changes between look-up and use gains nothing.
    func permits(_ address: IPAddress, isPlain: Bool) -> Bool {
        if address.isLoopback { return allowsLoopback }
        return !isPlain && address.isGlobal
    }
}
