import Cryptography
import Domain
import JSON
import Text

/// A userinfo response as a signed JWT (OpenID Connect Core section 5.3.2). Unlike an id token it
/// may omit its times.
package struct SignedUserInfo: Sendable {
    let jws: JWS
    let algorithm: VerificationKey.Algorithm
    let keyID: String?
    private let all: JSONValue

    package static let mediaType = "application/jwt"

    /// The header rules of an id token.
    package init(_ text: [UInt8]) throws(IDTokenFault) {
        guard let jws = JWS(compact: text) else { throw .notCompact }
        guard let header = IDToken.object(jws.header) else { throw .headerMalformed }
        (algorithm, keyID) = try IDToken.read(header, false)
        guard let claims = IDToken.object(jws.payload) else { throw .claimsMalformed }
        self.jws = jws
        all = claims
    }

    /// A signed response must name issuer and audience; times are checked if present.
    func claims(
        for party: RelyingParty, keys: KeySet, now: Timestamp
    ) throws(IDTokenFault) -> JSONValue {
        let candidates = keys.keys(id: keyID, algorithm: algorithm)
        guard !candidates.isEmpty else { throw .keyUnknown }
        guard candidates.contains(where: { jws.isSigned(by: $0) }) else { throw .signatureInvalid }
        guard let issuer = all["iss"]?.string, party.isIssuer(issuer) else { throw .issuerMismatch }
        guard let audiences = IDToken.audiences(all["aud"]), party.takesOne(of: audiences) else {
            throw .audienceMismatch
        }
        if let end = all["exp"] {
            guard let seconds = IDTokenCheck.end(end),
                now.microseconds / 1_000_000 < seconds + IDTokenCheck.leeway
            else { throw .expired }
        }
        return all
    }
}
