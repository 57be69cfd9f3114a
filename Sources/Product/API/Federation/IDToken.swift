import Cryptography
import Domain
import JSON
import Text

/// An id token that was parsed but not verified (OpenID Connect Core section 2, RFC 7519).
package struct IDToken: Sendable {
    let jws: JWS
    let algorithm: VerificationKey.Algorithm
    let keyID: String?
    let claims: JSONValue
    /// The `iss` of the token. It is not verified, and only used to choose the provider's keys.
    package let claimedIssuer: String
    package let claimedAudiences: [String]

    /// If `isAccessToken` is true, the token type `at+jwt` is also allowed (RFC 9068 section 2.1).
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

    /// Parses a JSON object and drops its null members. Duplicate members are an error, since two
    /// parsers could read different values.
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
        // The header members `jku`, `x5u`, `jwk` and `x5c` name keys. They are ignored and never
        // followed.
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

    /// The audiences in the claim `aud`: a single string or a non-empty list of strings (RFC 7519
    /// section 4.1.3). `nil` for any other value.
    static func audiences(_ value: JSONValue?) -> [String]? {
        if let one = value?.string { return one.isEmpty ? nil : [one] }
        guard let list = value?.array, !list.isEmpty else { return nil }
        let texts = list.compactMap(\.string)
        return texts.count == list.count && texts.allSatisfy { !$0.isEmpty } ? texts : nil
    }
}

extension JSONValue {
    /// The value without its null members, at any depth. Providers write null for a member that has
    /// no value.
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

/// A provider's verified claims about a person.
package struct IDClaims: Sendable {
    package let subject: String
    /// The audience that identifies this server in the token: one of its client ids.
    package let audience: String
    package let all: JSONValue

    init(subject: String, audience: String, all: JSONValue) {
        self.subject = subject
        self.audience = audience
        self.all = all
    }

    /// `userInfo` is the userinfo response about `subject`. Its claims are read like those of an id
    /// token.
    package init(userInfo: JSONValue, subject: String) {
        self.init(subject: subject, audience: "", all: userInfo)
    }

    package var email: String? { all["email"]?.string }
    package var name: String? { all["name"]?.string }
    /// The domain of the person's Google organization: Google's claim `hd`.
    package var hostedDomain: String? { all["hd"]?.string }

    /// When the person last proved their identity to the provider, in seconds since 1970 (OpenID
    /// Connect Core section 2); `nil` if the provider does not state it.
    package var authenticatedAt: Int64? { IDTokenCheck.seconds(all["auth_time"]) }

    /// Whether the provider states that it asked for two factors: with `amr` (RFC 8176), or with a
    /// value of `acr` that has this meaning (OpenID Connect Extended Authentication Profile, PAPE).
    package var isMultiFactor: Bool {
        let methods = Set((all["amr"]?.array ?? []).compactMap(\.string))
        let isKnown = !methods.isDisjoint(with: ["pwd", "pin"])
        return methods.contains("mfa")
            || isKnown && !methods.isDisjoint(with: ["otp", "hwk", "swk", "sc"])
            || all["acr"]?.string.map(Self.multiFactorClasses.contains) ?? false
    }

    private static let multiFactorClasses: Set<String> = [
        "phr", "phrh", "http://schemas.openid.net/pape/policies/2007/06/multi-factor",
    ]

    /// Whether the provider states that the email address is verified; `nil` if it states nothing.
    package var emailVerified: Bool? {
        switch all["email_verified"] {
        case nil: CognitoMapping.emailVerified(.absent)
        case .string(let text): CognitoMapping.emailVerified(.text(text))
        case .bool(let value): CognitoMapping.emailVerified(.bool(value))
        default: CognitoMapping.emailVerified(.other)
        }
    }
}

/// Verifies an id token (OpenID Connect Core section 3.1.3.7, RFC 8725). The keys and the time are
/// parameters, so the result depends on nothing else.
package struct IDTokenCheck: Sendable {
    /// How far the provider's clock may differ, in seconds.
    static let leeway: Int64 = 60
    /// The maximum age of a token in seconds. An older token is refused even if it has not expired.
    /// No sign-in at a provider takes this long.
    static let longestAge: Int64 = 86_400

    var party: RelyingParty
    var now: Timestamp
    /// The nonce that this server sent when the sign-in began; `nil` if the sign-in did not begin
    /// on this server.
    var nonce: String?
    /// Whether the token is an access token for the provider's own services. If so, the client that
    /// it was issued to is checked in place of the audience.
    var isAccessToken: Bool

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

    /// Returns the one of the token's audiences that identifies this server. Throws if there is
    /// none, or if the authorized party (`azp`) is not allowed. If an access token names the client
    /// that it was issued to, this client is checked instead of the audience.
    ///
    /// If there are several audiences, the token must name an authorized party, which must be this
    /// server or a listed client. If there is one audience, the authorized party may be absent, and
    /// in two cases it is not checked: in a token of Google, where it is the app's own client, and
    /// in a sign-in that began on this server, where the provider sent the code to this server.
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

    /// The whole seconds of an expiry time. A time beyond the year 9999 becomes the end of that
    /// year.
    static func end(_ value: JSONValue?) -> Int64? {
        guard case .number(let text) = value else { return nil }
        guard text.utf8.count > 11, text.utf8.allSatisfy({ ASCII.isDigit($0) }) else {
            return seconds(value)
        }
        return seconds(value) ?? latest
    }

    private static let latest: Int64 = 253_402_300_799

    /// The whole seconds of a NumericDate, without the fraction; `nil` beyond the year 9999.
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

/// Why an id token is refused, for the log and the operator. The caller gets the same text for
/// every reason.
package struct IDTokenFault: Error, Sendable, Equatable {
    /// The name of the fault, for example `header_refused`.
    package let name: String
    /// What the operator can do about it; `nil` if there is nothing to do, or if it is obvious.
    let detail: String?

    private init(_ name: String, _ detail: String? = nil) {
        self.name = name
        self.detail = detail
    }

    /// For the log: the name, and what can be done.
    package var reason: String { detail.map { "\(name): \($0)" } ?? name }

    static let notCompact = IDTokenFault("not_compact")
    static let headerMalformed = IDTokenFault("header_malformed")
    static let typeRefused = IDTokenFault("type_refused")
    static let algorithmRefused = IDTokenFault("algorithm_refused")
    /// The header has `crit` or another member that changes how the token is read.
    static let headerRefused = IDTokenFault("header_refused")
    static let claimsMalformed = IDTokenFault("claims_malformed")
    package static let keyUnknown = IDTokenFault("key_unknown")
    package static let signatureInvalid = IDTokenFault("signature_invalid")
    package static let issuerMismatch = IDTokenFault("issuer_mismatch")
    package static let audienceMismatch = IDTokenFault("audience_mismatch")
    static let authorizedPartyMismatch = IDTokenFault("authorized_party_mismatch")
    static let expired = IDTokenFault("expired")
    static let issuedInFuture = IDTokenFault("issued_in_future")
    static let notYetValid = IDTokenFault("not_yet_valid")
    /// The token was issued too long ago.
    static let tooOld = IDTokenFault("life_too_long")
    static let nonceMismatch = IDTokenFault("nonce_mismatch")
    static let subjectMalformed = IDTokenFault("subject_malformed")
    package static let useMismatch = IDTokenFault("use_mismatch")

    /// The provider issued the token to the client `named`, which does not belong to this server.
    static func authorizedParty(_ named: String) -> IDTokenFault {
        IDTokenFault(
            authorizedPartyMismatch.name,
            "its azp is \(named.prefix(255)); if that client may bring tokens here, add it to "
                + "the provider's authorized_parties")
    }

    static func algorithm(_ named: String) -> IDTokenFault {
        IDTokenFault(algorithmRefused.name, "its alg is \(named.prefix(32))")
    }
}

/// Why a provider's token cannot be checked at all.
package enum FederationFault: Error, Sendable, Equatable {
    case token(IDTokenFault)
    /// The provider's documents are unreachable or invalid. The text is for the log.
    case unavailable(String)
}
