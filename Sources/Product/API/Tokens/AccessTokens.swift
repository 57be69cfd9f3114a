import Cryptography
import JSON
import Storage
import Text

/// Issues and verifies access tokens: JWTs that are signed with ES256 (RFC 7518 section 3.4) and
/// have the `typ` `at+jwt` (RFC 9068). The signing key is replaced every month, and tokens of the
/// previous key stay valid.
package final class AccessTokens: Sendable {
    private let keys: SigningKeys
    private let issuer: String
    let database: Database

    /// `issuer` is the server's public address. `signingKey` is a PEM text; if it is given, it
    /// signs in place of the database's key.
    package init(database: Database, issuer: String, signingKey: String? = nil) throws {
        keys = try SigningKeys(database: database, given: signingKey)
        self.issuer = issuer
        self.database = database
    }

    package func sign(_ claims: AccessTokenClaims) async throws -> String {
        try await sign(claims.payload(issuer: issuer), type: "at+jwt")
    }

    /// Signs any payload with the same keys. `type` becomes the token's `typ`; the token need not
    /// be an access token.
    package func sign(_ payload: JSONValue, type: String) async throws -> String {
        let key = try await keys.signer()
        let header = JSONValue.object([
            .init("alg", .string("ES256")), .init("typ", .string(type)),
            .init("kid", .string(key.thumbprint)),
        ])
        return try JWS.sign(header: header.encoded(), payload: payload.encoded(), with: key)
    }

    /// The claims of an access token; `nil` unless this server issued the token and it has not
    /// expired. The caller must still check the session.
    package func verify(_ token: String) async throws -> AccessTokenClaims? {
        guard let jws = JWS(compact: Array(token.utf8)),
            let header = try? JSONValue(parsing: jws.header),
            let members = header.members, members.count == 3,
            header["alg"]?.string == "ES256", header["typ"]?.string == "at+jwt",
            let kid = header["kid"]?.string, let key = try await keys.verifier(kid),
            jws.isSigned(by: key), let payload = try? JSONValue(parsing: jws.payload)
        else { return nil }
        return AccessTokenClaims(payload, issuer: issuer, at: database.clock())
    }

    /// The JWK set (RFC 7517 section 5) with the current, the next and the recent signing keys.
    package func keySet() async throws -> [UInt8] {
        Array("{\"keys\":[\(try await keys.published().joined(separator: ","))]}".utf8)
    }
}

/// The claims of an access token that this server issued. They are valid only while the session
/// that they name is active.
package struct AccessTokenClaims: Sendable, Equatable {
    package var user: UUID
    package var tenant: UUID
    package var session: UUID
    var tokenID: String
    package var client: String
    package var issuedAt: Timestamp
    package var expiresAt: Timestamp
    /// Further members of the payload, for the app.
    var more: [JSONValue.Member] = []

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

    /// `nil` if the payload lacks a member that this server writes, if a member has another form,
    /// or if the token has expired.
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
