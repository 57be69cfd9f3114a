import Domain
import Postgres
import Text

/// Resolves what the call names: its provider, its tenants and its identity.
struct ResolvedAttempt: Sendable {
    var attempt: Attempt
    var provider: Provider?
    var asked: [AskedTenant] = []
    /// Tenants that the locators of the tokens may mean.
    var tokenTenants: [UUID] = []
    var tokenHash: [UInt8]?
    var joinHash: [UInt8]?
    /// The callers whose reservations count, in order of precedence.
    var reservers: [UUID] = []
}

extension ProvisioningCall {
    /// Whether the provider is not the one that the call names, or an upstream is missing: a
    /// federated user's name without an upstream matches no user, and no native one.
    func misnames(_ provider: Provider, upstream: String?) -> Bool {
        switch self.provider {
        case .pool(_, let trigger, _): return trigger == .externalProvider && upstream == nil
        case .federated: return upstream == nil
        case .attempt(_, let issuer, _):
            guard provider.kind == .cognito, let issuer else { return false }
            let parts = CognitoMapping.parts(ofIssuer: issuer)
            return !sameBytes(parts.pool, provider.issuer)
                || parts.upstream != nil && upstream == nil
        }
    }
}
