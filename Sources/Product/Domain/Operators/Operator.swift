/// A person who signs in to the console, at the platform or at one tenant.
package enum Operator {
    package enum Role: String, Sendable, CaseIterable {
        case owner, admin, developer, support, auditor
    }

    package enum Status: String, Sendable, CaseIterable { case pending, active, suspended }

    /// False for the last owner of a scope. `owners`: the number of active owners of the same
    /// scope.
    package static func mayLeave(_ role: Role, becoming next: Role?, owners: Int) -> Bool {
        role != .owner || next == .owner || owners > 1
    }
}
