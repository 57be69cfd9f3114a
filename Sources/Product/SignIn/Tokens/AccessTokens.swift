import Cryptography
import JSON
import Storage
import Text

/// Access tokens: ES256 (RFC 7518 section 3.4), `typ` `at+jwt` (RFC 9068), signed by a key that is
/// replaced every month without interruption.
package struct AccessTokens: Sendable {
    private let keys: SigningKeys
    private let issuer: String
    private let clock: @Sendable () -> Timestamp

    /// `issuer`: the public address. `signingKey`: a PEM that signs instead of the database's keys.
    package init(database: Database, issuer: String, signingKey: String? = nil) throws {
        keys = try SigningKeys(database: database, given: signingKey)
        self.issuer = issuer
        clock = database.clock
    }

    package func sign(_ claims: AccessTokenClaims) async throws -> String {
        try await sign(claims.payload(issuer: issuer), type: "at+jwt")
    }

    /// Any payload, under the same keys: a token for another service.
    package func sign(_ payload: JSONValue, type: String) async throws -> String {
        let key = try await keys.signer()
        let header = JSONValue.object([
            .init("alg", .string("ES256")), .init("typ", .string(type)),
            .init("kid", .string(key.thumbprint)),
        ])
        return try JWS.sign(header: header.encoded(), payload: payload.encoded(), with: key)
    }

    /// nil for anything that is not an access token of ours, intact and in time. Its session has
    /// still to be checked.
    package func verify(_ token: String) async throws -> AccessTokenClaims? {
        guard let jws = JWS(compact: Array(token.utf8)),
            let header = try? JSONValue(parsing: jws.header),
            let members = header.members, members.count == 3,
            header["alg"]?.string == "ES256", header["typ"]?.string == "at+jwt",
            let kid = header["kid"]?.string, let key = try await keys.verifier(kid),
            jws.isSigned(by: key), let payload = try? JSONValue(parsing: jws.payload)
        else { return nil }
        return AccessTokenClaims(payload, issuer: issuer, at: clock())
    }

    /// The JWK set (RFC 7517 section 5): current, next and recent signing keys.
    package func keySet() async throws -> [UInt8] {
        Array("{\"keys\":[\(try await keys.published().joined(separator: ","))]}".utf8)
    }
}
