import Text

/// Bounds of one call, and where it may lead.
package struct OutboundPolicy: Sendable {
    package static let bodyLimit = 256 * 1024
    package static let headLimit = 32 * 1024
    package static let threads = 8
    package static let queueLimit = 64

    /// From the moment of asking to the whole answer, waiting for a thread included.
    package var total: Duration = .seconds(5)
    package var connecting: Duration = .seconds(3)
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
