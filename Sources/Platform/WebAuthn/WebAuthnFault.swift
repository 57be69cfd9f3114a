/// What did not hold of a registration or an assertion.
package enum WebAuthnFault: Error, Sendable, Equatable {
    // What the browser signed.
    case clientDataMalformed
    case typeMismatch
    case challengeMismatch
    case originMismatch
    case crossOrigin

    // What the authenticator says.
    case attestationMalformed
    /// A format other than `none`, which alone is asked for.
    case attestationFormat
    case attestationStatement
    case authenticatorDataMalformed
    case notCanonical(CBORFault)
    case relyingPartyMismatch
    case userAbsent
    case userNotVerified
    /// Backed up, but not fit for it.
    case backupFlags
    /// Another fitness for backup than the credential had: an authenticator's never changes (WebAuthn
    /// Level 3, section 6.1.3), but some did when they learned to synchronise. Of a true signature.
    case backupEligibilityChanged

    // Its credential.
    case credentialMissing
    /// An assertion with a new credential in it.
    case credentialUnexpected
    case credentialLength
    case credentialMismatch
    case keyMalformed
    case algorithmRefused
    /// Too weak, of a wrong length, or a point off its curve.
    case keyRefused

    // An assertion.
    case userHandleMismatch
    case signatureInvalid
    /// The counter did not grow: the authenticator may have been copied.
    case counterFellBack

    /// For logs and audit events.
    package var code: String {
        switch self {
        case .notCanonical(let fault): "cbor_\(fault.rawValue)"
        case .clientDataMalformed: "client_data_malformed"
        case .typeMismatch: "type_mismatch"
        case .challengeMismatch: "challenge_mismatch"
        case .originMismatch: "origin_mismatch"
        case .crossOrigin: "cross_origin"
        case .attestationMalformed: "attestation_malformed"
        case .attestationFormat: "attestation_format"
        case .attestationStatement: "attestation_statement"
        case .authenticatorDataMalformed: "authenticator_data_malformed"
        case .relyingPartyMismatch: "relying_party_mismatch"
        case .userAbsent: "user_absent"
        case .userNotVerified: "user_not_verified"
        case .backupFlags: "backup_flags"
        case .backupEligibilityChanged: "backup_eligibility_changed"
        case .credentialMissing: "credential_missing"
        case .credentialUnexpected: "credential_unexpected"
        case .credentialLength: "credential_length"
        case .credentialMismatch: "credential_mismatch"
        case .keyMalformed: "key_malformed"
        case .algorithmRefused: "algorithm_refused"
        case .keyRefused: "key_refused"
        case .userHandleMismatch: "user_handle_mismatch"
        case .signatureInvalid: "signature_invalid"
        case .counterFellBack: "counter_fell_back"
        }
    }
}
