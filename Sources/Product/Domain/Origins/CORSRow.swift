import Text

/// One line of an allow list, of a tenant or of the platform.
package struct CORSRow: Sendable, Equatable {
    package var origin: Origin
    /// What the row says; whether cookies really go is decided with the origin and the profile.
    package var credentials: Bool
    /// The end of the row's life, exclusive; nil lives until it is removed.
    package var expiresAt: Timestamp?
    /// A wildcard stands only while the tenant's domain is verified.
    package var isEnabled: Bool

    package init(
        _ origin: Origin, credentials: Bool = false, expiresAt: Timestamp? = nil,
        isEnabled: Bool = true
    ) {
        self.origin = origin
        self.credentials = credentials
        self.expiresAt = expiresAt
        self.isEnabled = isEnabled
    }

    func isLive(at now: Timestamp) -> Bool {
        isEnabled && (expiresAt.map { now < $0 } ?? true)
    }
}
