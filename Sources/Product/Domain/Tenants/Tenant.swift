/// The states of a tenant.
package enum Tenant {
    package enum Status: String, Sendable, CaseIterable { case active, suspended, deleted }
}
