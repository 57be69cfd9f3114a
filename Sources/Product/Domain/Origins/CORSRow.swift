import Text

/// One entry of an allow list, of a tenant or of the platform.
package struct CORSRow: Sendable, Equatable {
    package var origin: Origin
    /// The row's setting; origin and profile decide too whether cookies are allowed.
    package var credentials: Bool
    /// Exclusive; nil: until it is removed.
    package var expiresAt: Timestamp?
    /// A wildcard is enabled only while the tenant's domain is verified.
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

    func isLive(at now: Timestamp) -> Bool { isEnabled && (expiresAt.map { now < $0 } ?? true) }
}
