/// Why an id token is refused, for the log and the operator. The caller gets one text for all of
/// them.
package struct IDTokenFault: Error, Sendable, Equatable {
    /// A closed set, below.
    package let name: String
    /// What the operator can do about it; nil: nothing, or it is plain.
    package let detail: String?

    private init(_ name: String, _ detail: String? = nil) {
        self.name = name
        self.detail = detail
    }

    /// For the log: the name, and what can be done.
    package var reason: String { detail.map { "\(name): \($0)" } ?? name }

    package static let notCompact = IDTokenFault("not_compact")
    package static let headerMalformed = IDTokenFault("header_malformed")
    package static let typeRefused = IDTokenFault("type_refused")
    package static let algorithmRefused = IDTokenFault("algorithm_refused")
    /// `crit`, or a header that changes how the token is read.
    package static let headerRefused = IDTokenFault("header_refused")
    package static let claimsMalformed = IDTokenFault("claims_malformed")
    package static let keyUnknown = IDTokenFault("key_unknown")
    package static let signatureInvalid = IDTokenFault("signature_invalid")
    package static let issuerMismatch = IDTokenFault("issuer_mismatch")
    package static let audienceMismatch = IDTokenFault("audience_mismatch")
    package static let authorizedPartyMismatch = IDTokenFault("authorized_party_mismatch")
    package static let expired = IDTokenFault("expired")
    package static let issuedInFuture = IDTokenFault("issued_in_future")
    package static let notYetValid = IDTokenFault("not_yet_valid")
    /// Was issued too long ago.
    package static let tooOld = IDTokenFault("life_too_long")
    package static let nonceMismatch = IDTokenFault("nonce_mismatch")
    package static let subjectMalformed = IDTokenFault("subject_malformed")
    package static let useMismatch = IDTokenFault("use_mismatch")

    /// The provider issued the token to this client, which is none of ours.
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
    /// The provider's documents are unreachable or invalid; the text is for the log.
    case unavailable(String)
}
