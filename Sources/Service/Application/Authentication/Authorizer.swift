import API
import Domain
import Text

/// Checks every endpoint's access against the table of rights.
enum Authorizer {
    /// nil: allowed.
    static func refusal(_ who: CallerPrincipal, _ access: Access, _ call: Call) -> Problem? {
        let tenant = call.resolvedTenant?.id ?? who.tenant
        switch access {
        case .open, .principal: return nil
        case .console:
            return who.isConsoleSession
                ? nil : .forbidden("This is for the console's operators.")
        case .right(let right): return refusal(who, right, in: tenant)
        case .own(let right): return refusal(who, right, in: tenant, own: who.user ?? who.id)
        case .anyOf(let rights):
            let refusals = rights.map { refusal(who, $0, in: tenant) }
            return refusals.contains { $0 == nil } ? nil : refusals.first ?? noRight
        case .platform(let right):
            guard who.platform else { return .forbidden("This is for the platform's operators.") }
            return refusal(who, right, in: nil)
        }
    }

    private static let noRight = Problem.forbidden("No credential may do this.")

    /// `name`: a right, or a management scope, which covers all its rights. `own`: the user who
    /// owns the object. Refuses if neither names a right.
    private static func refusal(
        _ who: CallerPrincipal, _ right: Right, in tenant: UUID?, own: UUID? = nil
    ) -> Problem? {
        switch Permissions.permits(
            who.subject, right, in: tenant, target: PermissionTarget(ownerID: own))
        {
        case .allowed: nil
        case .notFound: .notFound("tenant")
        case .forbidden(let missing): .forbidden("The right \(missing) is missing.")
        }
    }
}
