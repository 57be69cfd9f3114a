import API
import Domain
import Storage
import Text

extension SignInCore {
    /// An access token of ours or an app's opaque one, if a request with it would now be admitted;
    /// nil for everything else. `mayAsk`: by the tenant that the token itself names.
    package func activeToken(_ token: String, mayAsk: (UUID) -> Bool) async throws -> ActiveToken? {
        if token.utf8.contains(UInt8(ascii: ".")) {
            guard let claims = try await tokens.verify(token), mayAsk(claims.tenant),
                let found = try await database.scope(claims.tenant).signedIn(.id(claims.session)),
                found.standing == .active, found.user.id == claims.user,
                sameBytes(found.session.client, claims.client),
                try await isServed(found.session.client, in: claims.tenant)
            else { return nil }
            return ActiveToken(
                of: found, in: claims.tenant, issuedAt: claims.issuedAt,
                expiresAt: min(claims.expiresAt, found.session.expiresAt))
        }
        guard let tenant = try await database.tenant(ofToken: token), mayAsk(tenant),
            let found = try await database.scope(tenant).signedIn(
                .tokenHash(TenantToken.hash(token))),
            found.standing == .active, try await isServed(found.session.client, in: tenant)
        else { return nil }
        return ActiveToken(
            of: found, in: tenant, issuedAt: found.session.createdAt,
            expiresAt: found.session.expiresAt)
    }

    /// Whether the client is enabled, without which its mount is 404.
    private func isServed(_ client: String, in tenant: UUID) async throws -> Bool {
        try await database.scope(tenant).client(client)?.enabled ?? false
    }
}

extension ActiveToken {
    fileprivate init(
        of found: SignedIn, in tenant: UUID, issuedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.init(
            tenant: tenant, user: found.user.id, email: found.user.email,
            client: found.session.client, issuedAt: issuedAt, expiresAt: expiresAt,
            attributes: found.user.attributes.public)
        externalID = found.user.externalID
    }
}
