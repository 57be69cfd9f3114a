/// Why a job is paused.
package enum JobPause: String, Sendable {
    /// A caller asked for it.
    case requested
    /// It goes on by itself when the tenant is active again.
    case tenantSuspended = "tenant_suspended"
    /// Its maker may no longer do what it does.
    case rightsLost = "rights_lost"
}
