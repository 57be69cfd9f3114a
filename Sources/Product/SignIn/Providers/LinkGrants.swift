import API
import Domain
import Storage
import Text

extension ClientCall {
    /// Adds an identity that was just proved to the user of the grant.
    func useLinkGrant(_ token: String, for person: ProvedPerson) async throws -> GrantUse {
        try await useLinkGrant(
            token,
            for: GrantedSignIn(
                provider: person.provider.kind, issuer: person.provider.issuer,
                subject: person.subject, email: person.email,
                isAssertedByTenant: person.provider.tenantID != nil))
    }

    /// The same for a person of a pool's id token.
    func useLinkGrant(_ token: String, for person: BearerPerson) async throws -> GrantUse {
        guard let identity = try await core.database.identity(of: person.attempt) else {
            return .refused
        }
        return try await useLinkGrant(
            token,
            for: GrantedSignIn(
                provider: identity.provider.rawValue, issuer: identity.issuer,
                subject: identity.subject, email: person.attempt.email,
                isAssertedByTenant: person.provider.tenantID != nil))
    }

    private func useLinkGrant(_ token: String, for signIn: GrantedSignIn) async throws -> GrantUse {
        guard let locator = TenantToken.locator(token), sameBytes(locator, tenant.locator) else {
            return .unknown
        }
        try await count(.token)
        let database = core.database
        return try await scope.change(by: clientActor) {
            try await $0.useLinkGrant(token, for: signIn, in: database)
        }
    }
}
