import Cryptography
import Domain
import JSON
import Text

/// Verifies an id token (OpenID Connect Core section 3.1.3.7, RFC 8725). Pure: keys and time are
/// parameters.
package struct IDTokenCheck: Sendable {
    /// How far the provider's clock may be off, in seconds.
    package static let leeway: Int64 = 60
    /// The longest age of a token in seconds: more than any provider's sign-in needs. A token counts
    /// no longer than that, however far its own end is.
    package static let longestAge: Int64 = 86_400

    package var party: RelyingParty
    package var now: Timestamp
    /// The nonce that this sign-in began with; nil if it did not begin here.
    package var nonce: String?
    /// The token is for the provider's own services, so the client it was issued to is checked.
    package var isAccessToken: Bool

    package init(
        party: RelyingParty, now: Timestamp, nonce: String? = nil, isAccessToken: Bool = false
    ) {
        self.party = party
        self.now = now
        self.nonce = nonce
        self.isAccessToken = isAccessToken
    }

    package func claims(of token: IDToken, keys: KeySet) throws(IDTokenFault) -> IDClaims {
        let candidates = keys.keys(id: token.keyID, algorithm: token.algorithm)
        guard !candidates.isEmpty else { throw .keyUnknown }
        guard candidates.contains(where: { token.jws.isSigned(by: $0) }) else {
            throw .signatureInvalid
        }
        guard party.isIssuer(token.claimedIssuer) else { throw .issuerMismatch }
        let audience = try audience(of: token)
        try checkTimes(token.claims)
        if let nonce {
            guard let given = token.claims["nonce"]?.string, sameBytes(given, nonce) else {
                throw .nonceMismatch
            }
        }
        if party.kind == .cognito {
            guard let use = token.claims["token_use"]?.string, sameBytes(use, "id") else {
                throw .useMismatch
            }
        }
        guard let subject = token.claims["sub"]?.string, (1...255).contains(subject.utf8.count),
            subject.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw .subjectMalformed }
        return IDClaims(subject: subject, audience: audience, all: token.claims)
    }

    /// Our audience. A token for several audiences must name us or a listed client as the
    /// authorized party. Beside our audience alone, the party of a token that an app brings must be
    /// one of ours or listed; Google's is the app's own client, whose audience is the server's, and
    /// in a flow that began here the code went to us.
    private func audience(of token: IDToken) throws(IDTokenFault) -> String {
        if isAccessToken, let given = token.claims["client_id"] ?? token.claims["azp"] {
            guard let text = given.string, party.takes(text) else { throw .authorizedPartyMismatch }
            return text
        }
        let ours = token.claimedAudiences.first { party.takes($0) }
        guard let ours else { throw .audienceMismatch }
        let isOurs = token.claimedAudiences.allSatisfy { sameBytes($0, ours) }
        if isOurs, nonce != nil || party.kind == .google { return ours }
        guard let named = token.claims["azp"] else {
            guard isOurs else { throw .authorizedPartyMismatch }
            return ours
        }
        guard let text = named.string else { throw .authorizedPartyMismatch }
        guard party.authorizes(text) else { throw .authorizedParty(text) }
        return ours
    }

    private func checkTimes(_ claims: JSONValue) throws(IDTokenFault) {
        let now = self.now.microseconds / 1_000_000
        guard let expires = Self.end(claims["exp"]), now < expires + Self.leeway else {
            throw .expired
        }
        guard let issued = Self.seconds(claims["iat"]), issued <= now + Self.leeway else {
            throw .issuedInFuture
        }
        guard issued >= now - Self.longestAge - Self.leeway else { throw .tooOld }
        if let begin = claims["nbf"] {
            guard let time = Self.seconds(begin), time <= now + Self.leeway else {
                throw .notYetValid
            }
        }
    }

    /// `seconds`, where a time beyond the year 9999 is that year's end.
    static func end(_ value: JSONValue?) -> Int64? {
        guard case .number(let text) = value else { return nil }
        guard text.utf8.count > 11, text.utf8.allSatisfy({ ASCII.isDigit($0) }) else {
            return seconds(value)
        }
        return seconds(value) ?? latest
    }

    private static let latest: Int64 = 253_402_300_799

    /// Whole seconds of a NumericDate; a fraction is cut off. nil beyond the year 9999.
    static func seconds(_ value: JSONValue?) -> Int64? {
        guard case .number(let text) = value else { return nil }
        let whole = text.utf8.prefix { $0 != UInt8(ascii: ".") }
        let rest = text.utf8.dropFirst(whole.count)
        guard rest.dropFirst().allSatisfy({ ASCII.isDigit($0) }),
            let number = ASCII.number(whole, digits: 12), number <= latest
        else { return nil }
        return Int64(number)
    }
}
