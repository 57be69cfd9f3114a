import Storage
import Text

/// The introspection of an app's active token.
package struct ActiveToken: Sendable {
    package var tenant: UUID
    package var user: UUID
    package var email: String?
    /// The user's id in the tenant's own system; nil if it has none.
    package var externalID: String?
    /// The client contract that it was issued for.
    package var client: String
    package var issuedAt: Timestamp
    package var expiresAt: Timestamp
    /// The user's public ones.
    package var attributes: Attributes

    package init(
        tenant: UUID, user: UUID, email: String?, client: String, issuedAt: Timestamp,
        expiresAt: Timestamp, attributes: Attributes
    ) {
        self.tenant = tenant
        self.user = user
        self.email = email
        self.client = client
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.attributes = attributes
    }
}
