import Cryptography
import JSON

/// A parsed but unverified id token (OpenID Connect Core section 2, RFC 7519).
package struct IDToken: Sendable {
    let jws: JWS
    let algorithm: VerificationKey.Algorithm
    let keyID: String?
    let claims: JSONValue
    /// Unverified: only for choosing the provider's keys.
    package let claimedIssuer: String
    package let claimedAudiences: [String]

    /// `isAccessToken`: allows the token type `at+jwt` (RFC 9068 section 2.1).
    package init(_ text: [UInt8], isAccessToken: Bool = false) throws(IDTokenFault) {
        guard let jws = JWS(compact: text) else { throw .notCompact }
        guard let header = Self.object(jws.header) else { throw .headerMalformed }
        (algorithm, keyID) = try Self.read(header, isAccessToken)
        guard let claims = Self.object(jws.payload) else { throw .claimsMalformed }
        guard let issuer = claims["iss"]?.string else { throw .issuerMismatch }
        guard let audiences = Self.audiences(claims["aud"]) else { throw .audienceMismatch }
        self.jws = jws
        self.claims = claims
        claimedIssuer = issuer
        claimedAudiences = audiences
    }

    /// The parser refuses duplicate members: two readers must not see two tokens. A null is absent.
    static func object(_ bytes: [UInt8]) -> JSONValue? {
        guard let value = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 16)),
            value.members != nil
        else { return nil }
        return value.withoutNulls
    }

    static func read(
        _ header: JSONValue, _ isAccessToken: Bool
    ) throws(IDTokenFault) -> (VerificationKey.Algorithm, String?) {
        guard let name = header["alg"]?.string,
            let algorithm = VerificationKey.Algorithm(rawValue: name),
            algorithm.rawValue.utf8.elementsEqual(name.utf8)
        else {
            throw header["alg"]?.string.map { .algorithm($0) } ?? .algorithmRefused
        }
        // `jku`, `x5u`, `jwk` and `x5c` name keys: they are ignored, never followed.
        for name in ["crit", "b64", "zip", "enc"] where header[name] != nil {
            throw .headerRefused
        }
        if let type = header["typ"] {
            let taken = ["JWT", "jwt"] + (isAccessToken ? ["at+jwt", "application/at+jwt"] : [])
            guard let text = type.string,
                taken.contains(where: { $0.utf8.elementsEqual(text.utf8) })
            else { throw .typeRefused }
        }
        guard let kid = header["kid"] else { return (algorithm, nil) }
        guard let text = kid.string, (1...255).contains(text.utf8.count) else {
            throw .headerMalformed
        }
        return (algorithm, text)
    }

    /// One string or a non-empty list of strings (RFC 7519 section 4.1.3).
    static func audiences(_ value: JSONValue?) -> [String]? {
        if let one = value?.string { return one.isEmpty ? nil : [one] }
        guard let list = value?.array, !list.isEmpty else { return nil }
        let texts = list.compactMap(\.string)
        return texts.count == list.count && texts.allSatisfy { !$0.isEmpty } ? texts : nil
    }
}

extension JSONValue {
    /// Without members that are null, at any depth: providers write null for what they leave out.
    package var withoutNulls: JSONValue {
        switch self {
        case .object(let members):
            .object(
                members.compactMap { member in
                    member.value.isNull ? nil : Member(member.name, member.value.withoutNulls)
                })
        case .array(let items): .array(items.map(\.withoutNulls))
        default: self
        }
    }
}
