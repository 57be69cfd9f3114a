import API
import Domain
import Storage
import Text

extension ClientCall {
    /// Adds the identity of `person`, which was just proved, to the user for whom the link grant
    /// was made. Returns the result.
    func useLinkGrant(_ token: String, for person: ProvedPerson) async throws -> GrantUse {
        guard let hash = grantHash(token) else { return .unknown }
        return try await useLinkGrant(hash, for: person)
    }

    /// Adds the identity of `person`, which was just proved, to the user for whom the link grant
    /// was made. `hash` is the hash of the grant's token.
    func useLinkGrant(_ hash: [UInt8], for person: ProvedPerson) async throws -> GrantUse {
        try await useLinkGrant(
            hash,
            for: GrantedSignIn(
                provider: person.provider.kind, issuer: person.provider.issuer,
                subject: person.subject, email: person.email,
                isAssertedByTenant: person.provider.tenantID != nil))
    }

    /// Adds the identity of `person`, which a pool's id token proves, to the user for whom the link
    /// grant was made.
    func useLinkGrant(_ token: String, for person: BearerPerson) async throws -> GrantUse {
        guard let hash = grantHash(token) else { return .unknown }
        guard let identity = try await database.identity(of: person.attempt) else {
            return .refused
        }
        return try await useLinkGrant(
            hash,
            for: GrantedSignIn(
                provider: identity.provider.rawValue, issuer: identity.issuer,
                subject: identity.subject, email: person.attempt.email,
                isAssertedByTenant: person.provider.tenantID != nil))
    }

    /// Returns the hash of a grant's token; `nil` if the token is of another tenant or has no valid
    /// form.
    func grantHash(_ token: String) -> [UInt8]? {
        guard let locator = TenantToken.locator(token), sameBytes(locator, tenant.locator) else {
            return nil
        }
        return TenantToken.hash(token)
    }

    private func useLinkGrant(
        _ hash: [UInt8], for signIn: GrantedSignIn
    ) async throws -> GrantUse {
        try await count(.token)
        return try await scope.change(by: clientActor) {
            try await $0.useLinkGrant(hash, for: signIn)
        }
    }
}
