import Domain
import Federation
import JSON
import Storage
import Text

extension ProvisioningCall {
    /// The identity and the claims of a verified id token. For a pool's federated user the identity
    /// behind it, so that it is the same one as in the pool's triggers.
    package init(_ claims: IDClaims, from provider: ProviderRow) {
        if !sameBytes(provider.kind, ProviderKind.cognito.rawValue) {
            self.init(
                provider: .attempt(provider.id.description, issuer: nil, subject: claims.subject))
        } else {
            let names = (claims.all["identities"]?.array ?? []).compactMap { identity in
                identity["providerName"]?.string.flatMap { upstream in
                    identity["userId"]?.string.map {
                        FederatedName(upstream: upstream, subject: $0)
                    }
                }
            }
            if let first = names.first {
                self.init(provider: .federated(pool: provider.issuer, first))
                // A pool links few of them to one user.
                otherNames = Array(names.dropFirst().prefix(9))
            } else {
                let name = claims.all["cognito:username"]?.string ?? claims.subject
                self.init(
                    provider: .pool(provider.issuer, .confirmSignUp, userName: name),
                    trigger: .nativeProved)
            }
            alias = PoolAlias(pool: provider.issuer, sub: claims.subject)
            // Its keys verified the token: no other registration of the pool may be used.
            onlyProvider = provider.id
        }
        tokenTime = TokenTime(claims: claims.all)
        isInPerson = true
        email = claims.email
        emailVerified = claims.emailVerified
        hostedDomain = claims.hostedDomain
        name = claims.name
        clientID = claims.audience
    }
}
