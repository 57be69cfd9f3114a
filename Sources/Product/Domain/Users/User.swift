/// The states of one person's account in one tenant. The same person in two tenants is two users.
package enum User {
    package enum Status: String, Sendable, CaseIterable {
        case pending, active, suspended, deleted
    }

    /// How a row came to be; for a pending row it says by which rule it may be reached.
    package enum Source: String, Sendable, CaseIterable {
        case invite, `operator`, `import`, approval
        case signUp = "sign_up"
    }
}
