import Cryptography
import Domain
import JSON
import Text

/// An answer of the userinfo endpoint as a signed JWT (OpenID Connect Core section 5.3.2). It is no id
/// token: it need not say when it was made, nor when it ends.
package struct SignedUserInfo: Sendable {
    let jws: JWS
    let algorithm: VerificationKey.Algorithm
    let keyID: String?
    private let all: JSONValue

    /// The media type of such an answer.
    package static let mediaType = "application/jwt"

    /// The same rules for the header as an id token's: RS256 or ES256, no key of its own.
    package init(_ text: [UInt8]) throws(IDTokenFault) {
        guard let jws = JWS(compact: text) else { throw .notCompact }
        guard let header = IDToken.object(jws.header) else { throw .headerMalformed }
        (algorithm, keyID) = try IDToken.read(header, false)
        guard let claims = IDToken.object(jws.payload) else { throw .claimsMalformed }
        self.jws = jws
        all = claims
    }

    /// A signed answer must name its issuer and whom it is for; times count where they are given.
    func claims(
        for party: RelyingParty, keys: KeySet, now: Timestamp
    ) throws(IDTokenFault) -> JSONValue {
        let candidates = keys.keys(id: keyID, algorithm: algorithm)
        guard !candidates.isEmpty else { throw .keyUnknown }
        guard candidates.contains(where: { jws.isSigned(by: $0) }) else { throw .signatureInvalid }
        guard let issuer = all["iss"]?.string, party.isIssuer(issuer) else {
            throw .issuerMismatch
        }
        guard let audiences = IDToken.audiences(all["aud"]), party.takesOne(of: audiences) else {
            throw .audienceMismatch
        }
        if let end = all["exp"] {
            guard let seconds = IDTokenCheck.seconds(end),
                now.microseconds / 1_000_000 < seconds + IDTokenCheck.leeway
            else { throw .expired }
        }
        return all
    }
}
