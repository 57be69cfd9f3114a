import Text

/// A customer space.
package struct Tenant: Sendable, Equatable {
    package enum Status: String, Sendable, CaseIterable { case active, suspended, deleted }

    package var id: UUID
    /// `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])$`, never given again after a purge.
    package var slug: String
    package var name: String
    package var status: Status
    /// Six base62 characters that stand in every token of this tenant.
    package var locator: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        id: UUID, slug: String, name: String, status: Status, locator: String,
        createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.id = id
        self.slug = slug
        self.name = name
        self.status = status
        self.locator = locator
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}
