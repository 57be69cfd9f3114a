import API
import Domain
import Text

/// Holds every endpoint to the table "who may do what".
enum Authorizer {
    static func refusal(_ who: API.Principal, _ access: Access, _ call: Call) -> Problem? {
        switch access {
        case .open, .principal: return nil
        case .right(let name): return refusal(who, name, in: call.resolvedTenant?.id ?? who.tenant)
        case .own(let name):
            return refusal(
                who, name, in: call.resolvedTenant?.id ?? who.tenant, own: who.user ?? who.id)
        case .anyOf(let names):
            let refusals = names.map {
                refusal(who, $0, in: call.resolvedTenant?.id ?? who.tenant)
            }
            return refusals.contains { $0 == nil } ? nil : refusals.first ?? noRight
        case .platform(let name):
            guard who.platform else { return .forbidden("This is for the platform's operators.") }
            return refusal(who, name, in: nil)
        }
    }

    private static let noRight = Problem.forbidden("No credential may do this.")

    /// `name`: a right, or a management scope, which stands for every right it covers that can be
    /// had there. `own`: whose things are the caller's own. Where no right is asked nobody may.
    private static func refusal(
        _ who: API.Principal, _ name: String, in tenant: UUID?, own: UUID? = nil
    ) -> Problem? {
        let rights =
            Right(rawValue: name).map { [$0] }
            ?? ManagementScope(rawValue: name)?.rights
            .filter { tenant == nil || !$0.isPlatformOnly } ?? []
        if rights.isEmpty { return noRight }
        let principal = who.inDomain
        for right in rights {
            switch Permissions.permits(
                principal, right, in: tenant, target: PermissionTarget(ownerID: own))
            {
            case .allowed: continue
            case .notFound: return .notFound("tenant")
            case .forbidden(let missing): return .forbidden("The right \(missing) is missing.")
            }
        }
        return nil
    }
}
