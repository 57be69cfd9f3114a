import Domain
import Storage
import Text

/// What introspection returns about an active token of an app.
struct ActiveToken: Sendable {
    var tenant: UUID
    var user: UUID
    var email: String?
    /// The user's id in the tenant's own system; `nil` if there is none.
    var externalID: String?
    /// The name of the client contract that the token was issued for.
    var client: String
    var issuedAt: Timestamp
    var expiresAt: Timestamp
    /// The user's public attributes.
    var attributes: Attributes

    init(
        tenant: UUID, user: UUID, email: String?, client: String, issuedAt: Timestamp,
        expiresAt: Timestamp, attributes: Attributes
    ) {
        self.tenant = tenant
        self.user = user
        self.email = email
        self.client = client
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.attributes = attributes
    }
}

extension AccessTokens {
    /// The active token: one of this server's access tokens, or an opaque token of an app. `nil`
    /// unless a request with this token would be admitted now. `mayAsk` decides whether the caller
    /// may ask about tokens of the tenant that the token names.
    func active(_ token: String, mayAsk: (UUID) -> Bool) async throws -> ActiveToken? {
        if token.utf8.contains(UInt8(ascii: ".")) {
            guard let claims = try await verify(token), mayAsk(claims.tenant),
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

    /// Whether the tenant has this client and it is enabled. If not, every path of the client
    /// returns 404.
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
