import JSON
import Text

/// The claims of an access token of ours; valid only with the session that it names.
package struct AccessTokenClaims: Sendable, Equatable {
    package var user: UUID
    package var tenant: UUID
    package var session: UUID
    package var tokenID: String
    package var client: String
    package var issuedAt: Timestamp
    package var expiresAt: Timestamp
    /// Further members, as the app reads them from the payload.
    package var more: [JSONValue.Member] = []

    func payload(issuer: String) -> JSONValue {
        .object(
            [
                .init("iss", .string(issuer)), .init("aud", .string(client)),
                .init("sub", .string(user.description)),
                .init("tid", .string(tenant.description)),
                .init("sid", .string(session.description)), .init("jti", .string(tokenID)),
                .init("iat", .int(Int(issuedAt.microseconds / 1_000_000))),
                .init("exp", .int(Int(expiresAt.microseconds / 1_000_000))),
            ] + more)
    }

    /// nil unless every member that we write is present in our form.
    init?(_ payload: JSONValue, issuer: String, at now: Timestamp) {
        func id(_ name: String) -> UUID? { payload[name]?.string.flatMap { UUID($0) } }
        guard let given = payload["iss"]?.string, given.utf8.elementsEqual(issuer.utf8),
            let user = id("sub"), let tenant = id("tid"), let session = id("sid"),
            let tokenID = payload["jti"]?.string, let client = payload["aud"]?.string,
            let issued = payload["iat"]?.int, let end = payload["exp"]?.int
        else { return nil }
        self.user = user
        self.tenant = tenant
        self.session = session
        self.tokenID = tokenID
        self.client = client
        issuedAt = Timestamp(microseconds: Int64(issued) * 1_000_000)
        expiresAt = Timestamp(microseconds: Int64(end) * 1_000_000)
        // A replica's clock may be a minute behind the signer's.
        guard now < expiresAt, issuedAt <= now.adding(seconds: 60) else { return nil }
    }

    package init(
        user: UUID, tenant: UUID, session: UUID, tokenID: String, client: String,
        issuedAt: Timestamp, expiresAt: Timestamp, more: [JSONValue.Member] = []
    ) {
        self.user = user
        self.tenant = tenant
        self.session = session
        self.tokenID = tokenID
        self.client = client
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.more = more
    }
}
