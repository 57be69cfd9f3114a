import Text

/// Somebody who signs in to the console, at the platform or at one tenant.
package struct Operator: Sendable, Equatable {
    package enum Role: String, Sendable, CaseIterable {
        case owner, admin, developer, support, auditor
    }
    package enum Status: String, Sendable, CaseIterable { case active, suspended }

    package var id: UUID
    package var email: Email
    package var name: String
    package var role: Role
    /// nil is the platform: all tenants.
    package var tenantID: UUID?
    package var status: Status
    package var lastSignInAt: Timestamp?

    package init(
        id: UUID, email: Email, name: String, role: Role, tenantID: UUID? = nil,
        status: Status = .active, lastSignInAt: Timestamp? = nil
    ) {
        self.id = id
        self.email = email
        self.name = name
        self.role = role
        self.tenantID = tenantID
        self.status = status
        self.lastSignInAt = lastSignInAt
    }

    /// The last owner of a scope stays. `owners` are the active owners of the same scope.
    package static func mayLeave(_ role: Role, becoming next: Role?, owners: Int) -> Bool {
        role != .owner || next == .owner || owners > 1
    }
}
