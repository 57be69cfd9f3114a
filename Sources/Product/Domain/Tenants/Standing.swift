/// Whether a user may act, by the status of the tenant and of the user.
package enum Standing: Sendable {
    case active, tenantSuspended, userSuspended
    /// The tenant is deleted, or the user is pending or deleted.
    case ended

    package init(tenant: Tenant.Status, user: User.Status) {
        self =
            switch (tenant, user) {
            case (.active, .active): .active
            case (.suspended, _): .tenantSuspended
            case (.active, .suspended): .userSuspended
            default: .ended
            }
    }
}
