/// The states of one person's account in one tenant. The same person in two tenants is two users.
package enum User {
    package enum Status: String, Sendable, CaseIterable {
        case pending, active, suspended, deleted
    }

    /// What created the row; for a pending row it decides which rule may activate it.
    package enum Source: String, Sendable, CaseIterable {
        case invite, `operator`, `import`, approval
        case signUp = "sign_up"
        case joinLink = "join_link"
    }
}
