import Domain
import Federation
import JSON
import Storage
import Text

extension ProvisioningCall {
    /// Whom a checked id token names, and what it says of them. Of a pool's federated user the
    /// identity behind it, so that it is the same one that the pool's triggers name.
    package init(_ claims: IDClaims, from provider: ProviderRow) {
        if !provider.kind.isSame(as: ProviderKind.cognito.rawValue) {
            self.init(
                provider: .attempt(
                    provider.id.description, issuer: nil, subject: claims.subject))
        } else {
            if let first = claims.all["identities"]?.array?.first,
                let upstream = first["providerName"]?.string, let user = first["userId"]?.string
            {
                self.init(
                    provider: .pool(
                        provider.issuer, .externalProvider, userName: "\(upstream)_\(user)"))
            } else {
                let name = claims.all["cognito:username"]?.string ?? claims.subject
                self.init(
                    provider: .pool(provider.issuer, .confirmSignUp, userName: name),
                    trigger: .nativeProved)
            }
            alias = claims.subject
        }
        email = claims.email
        emailVerified = claims.emailVerified
        hostedDomain = claims.hostedDomain
        name = claims.name
        clientID = claims.audience
    }
}
