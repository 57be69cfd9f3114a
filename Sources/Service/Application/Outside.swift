import Configuration
import Outbound

/// What the service reaches beyond its database.
package struct Outside: Sendable {
    /// Identity providers.
    package var providers: OutboundPolicy

    package init(providers: OutboundPolicy = OutboundPolicy()) {
        self.providers = providers
    }

    /// `dev` reaches providers on this machine without being told so.
    init(_ settings: Settings, isDevelopment: Bool = false) {
        self.init(
            providers: OutboundPolicy(
                allowsLoopback: isDevelopment || settings.allowLoopbackProviders))
    }
}
