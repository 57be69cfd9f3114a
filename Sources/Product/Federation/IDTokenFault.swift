/// Why an id token is refused, for the log. The caller gets one text for all of them.
package enum IDTokenFault: String, Error, Sendable, CaseIterable {
    case notCompact = "not_compact"
    case headerMalformed = "header_malformed"
    case typeRefused = "type_refused"
    case algorithmRefused = "algorithm_refused"
    /// `crit`, or a header that contains a key.
    case headerRefused = "header_refused"
    case claimsMalformed = "claims_malformed"
    case keyUnknown = "key_unknown"
    case signatureInvalid = "signature_invalid"
    case issuerMismatch = "issuer_mismatch"
    case audienceMismatch = "audience_mismatch"
    case authorizedPartyMismatch = "authorized_party_mismatch"
    case expired
    case issuedInFuture = "issued_in_future"
    case notYetValid = "not_yet_valid"
    /// Expires too far in the future, or was issued too long ago.
    case lifeTooLong = "life_too_long"
    case nonceMismatch = "nonce_mismatch"
    case subjectMalformed = "subject_malformed"
    case useMismatch = "use_mismatch"
}

/// Why a provider's token cannot be checked at all.
package enum FederationFault: Error, Sendable, Equatable {
    case token(IDTokenFault)
    /// The provider's documents are unreachable or invalid; the text is for the log.
    case unavailable(String)
}
