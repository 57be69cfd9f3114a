import Text

/// A person in one tenant. The same person in two tenants is two users.
package struct User: Sendable, Equatable {
    package enum Status: String, Sendable, CaseIterable {
        case pending, active, suspended, deleted
    }
    /// Where a row came from; for a pending row it says by which rule it may be reached.
    package enum Source: String, Sendable, CaseIterable {
        case invite, `operator`, `import`, approval
        case signUp = "sign_up"
    }

    package var id: UUID
    package var tenantID: UUID
    package var email: Email?
    package var emailVerifiedAt: Timestamp?
    package var name: String
    package var role: UserRole
    package var status: Status
    package var source: Source
    package var identities: [Identity]
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var lastSignInAt: Timestamp?

    package init(
        id: UUID, tenantID: UUID, email: Email?, emailVerifiedAt: Timestamp? = nil,
        name: String = "", role: UserRole, status: Status, source: Source,
        identities: [Identity] = [], createdAt: Timestamp, updatedAt: Timestamp,
        lastSignInAt: Timestamp? = nil
    ) {
        self.id = id
        self.tenantID = tenantID
        self.email = email
        self.emailVerifiedAt = emailVerifiedAt
        self.name = name
        self.role = role
        self.status = status
        self.source = source
        self.identities = identities
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.lastSignInAt = lastSignInAt
    }
}
