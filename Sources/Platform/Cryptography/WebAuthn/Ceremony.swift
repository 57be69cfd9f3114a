import JSON
import Text

/// The values that a registration or an assertion must match. A passkey is the first and the second
/// factor at once, so the authenticator must also have verified the user.
package struct Ceremony: Sendable {
    /// The random bytes that were issued for this ceremony only.
    var challenge: [UInt8]
    /// The console's own origin: scheme, host and port as a browser writes them.
    var origin: String
    /// The RP id: the domain that all passkeys of this service are bound to.
    package var relyingParty: String

    package init(challenge: [UInt8], origin: String, relyingParty: String) {
        self.challenge = challenge
        self.origin = origin
        self.relyingParty = relyingParty
    }
}

/// A new credential, as its authenticator and the browser returned it.
package struct Registration: Sendable {
    var credentialID: [UInt8]
    package var clientData: [UInt8]
    package var attestation: [UInt8]

    package init(credentialID: [UInt8], clientData: [UInt8], attestation: [UInt8]) {
        self.credentialID = credentialID
        self.clientData = clientData
        self.attestation = attestation
    }
}

/// A new credential whose registration was checked.
package struct RegisteredCredential: Sendable {
    package var id: [UInt8]
    /// The public key, in the COSE encoding in which it was sent.
    package var key: [UInt8]
    package var algorithm: COSEKey.Algorithm
    package var counter: UInt32
    var model: [UInt8]
    package var isBackupEligible: Bool
    package var isBackedUp: Bool
}

extension Ceremony {
    /// Checks a registration by the steps of WebAuthn Level 3, section 7.1. Only the attestation
    /// `none` is accepted. Other formats prove the authenticator's model, which no policy here asks
    /// for, and browsers replace them by `none` when `none` is requested.
    package func check(_ registration: Registration) throws(WebAuthnFault) -> RegisteredCredential {
        let client = try ClientData(registration.clientData)
        try client.check(type: "webauthn.create", self)
        let data = try AuthenticatorData(Self.authenticatorData(registration.attestation))
        try data.check(self)
        guard let credential = data.credential else { throw .credentialMissing }
        guard credential.id == registration.credentialID else { throw .credentialMismatch }
        guard credential.encodedKey.count <= COSEKey.lengthLimit else { throw .keyRefused }
        return RegisteredCredential(
            id: credential.id, key: credential.encodedKey, algorithm: credential.key.algorithm,
            counter: data.counter, model: credential.model,
            isBackupEligible: data.isBackupEligible, isBackedUp: data.isBackedUp)
    }

    /// Returns the authenticator data of an attestation object. The object must have exactly three
    /// members. If its format is `none`, its attestation statement must be empty.
    private static func authenticatorData(
        _ attestation: [UInt8]
    ) throws(WebAuthnFault) -> [UInt8] {
        let value: CBORValue
        do { value = try CBORDecoder.whole(attestation) } catch { throw .notCanonical(error) }
        guard let entries = value.entries, entries.count == 3,
            entries[0].key == .text("fmt"), let format = entries[0].value.text,
            entries[1].key == .text("attStmt"), let statement = entries[1].value.entries,
            entries[2].key == .text("authData"), let data = entries[2].value.bytes
        else { throw .attestationMalformed }
        guard format == "none" else { throw .attestationFormat }
        guard statement.isEmpty else { throw .attestationStatement }
        return data
    }
}

/// A signature by a known credential, as its authenticator and the browser returned it.
package struct Assertion: Sendable {
    package var credentialID: [UInt8]
    package var clientData: [UInt8]
    package var authenticatorData: [UInt8]
    package var signature: [UInt8]
    /// The handle of the account that the credential was made for. An authenticator may omit it if
    /// the request named the credential.
    package var userHandle: [UInt8]?

    package init(
        credentialID: [UInt8], clientData: [UInt8], authenticatorData: [UInt8],
        signature: [UInt8], userHandle: [UInt8]?
    ) {
        self.credentialID = credentialID
        self.clientData = clientData
        self.authenticatorData = authenticatorData
        self.signature = signature
        self.userHandle = userHandle
    }
}

/// A credential as it was registered.
package struct StoredCredential: Sendable {
    package var id: [UInt8]
    /// The public key, in the COSE encoding in which it was sent. The key determines the algorithm
    /// of the credential's signatures.
    var key: [UInt8]
    package var counter: UInt32
    var userHandle: [UInt8]
    var isBackupEligible: Bool

    package init(
        id: [UInt8], key: [UInt8], counter: UInt32, userHandle: [UInt8], isBackupEligible: Bool
    ) {
        self.id = id
        self.key = key
        self.counter = counter
        self.userHandle = userHandle
        self.isBackupEligible = isBackupEligible
    }
}

/// The properties of a credential that an assertion changes.
package struct CheckedAssertion: Sendable {
    package var counter: UInt32
    package var isBackedUp: Bool
}

extension Ceremony {
    /// Checks an assertion by the steps of WebAuthn Level 3, section 7.2. If `namesUser` is true,
    /// the assertion must contain the user handle, because nothing else names the user. Otherwise
    /// the handle may be missing.
    package func check(
        _ assertion: Assertion, by credential: StoredCredential, namesUser: Bool
    ) throws(WebAuthnFault) -> CheckedAssertion {
        guard assertion.credentialID == credential.id else { throw .credentialMismatch }
        guard assertion.userHandle.map({ $0 == credential.userHandle }) ?? !namesUser else {
            throw .userHandleMismatch
        }
        let client = try ClientData(assertion.clientData)
        try client.check(type: "webauthn.get", self)
        let data = try AuthenticatorData(assertion.authenticatorData)
        try data.check(self)
        guard data.credential == nil else { throw .credentialUnexpected }
        let key = try COSEKey(encoded: credential.key)
        guard
            key.isValid(
                signature: assertion.signature, over: assertion.authenticatorData + client.hash)
        else { throw .signatureInvalid }
        guard data.isBackupEligible == credential.isBackupEligible else {
            throw .backupEligibilityChanged
        }
        // If both counters are 0, the authenticator does not count its signatures.
        guard data.counter > credential.counter || data.counter == 0 && credential.counter == 0
        else { throw .counterFellBack }
        return CheckedAssertion(counter: data.counter, isBackedUp: data.isBackedUp)
    }
}

/// What the browser reports about a ceremony (WebAuthn Level 3, section 5.8.1). The values are as
/// sent and not yet checked.
package struct ClientData: Sendable {
    /// The maximum length of the text, in bytes. A longer text is refused before it is parsed.
    private static let lengthLimit = 4096

    package let challenge: [UInt8]
    private let type: String
    private let origin: String
    private let isCrossOrigin: Bool
    /// The SHA-256 of the text, which the authenticator's signature covers.
    let hash: [UInt8]

    /// Parses the text as strict JSON: if a member were repeated, different parsers could see
    /// different origins.
    package init(_ bytes: [UInt8]) throws(WebAuthnFault) {
        guard bytes.count <= Self.lengthLimit,
            let document = try? JSONValue(parsing: bytes, limits: JSONLimits(depth: 8)),
            let type = document["type"]?.string, let origin = document["origin"]?.string,
            let challenge = document["challenge"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw .clientDataMalformed }
        // Old browsers omit `crossOrigin`. They allow no ceremony in a frame of another origin, so
        // a missing `crossOrigin` counts as false.
        var isCrossOrigin = document["topOrigin"] != nil
        if let member = document["crossOrigin"] {
            guard let value = member.bool else { throw .clientDataMalformed }
            isCrossOrigin = isCrossOrigin || value
        }
        self.challenge = challenge
        self.type = type
        self.origin = origin
        self.isCrossOrigin = isCrossOrigin
        hash = SHA256.hash(bytes)
    }

    func check(type: String, _ ceremony: Ceremony) throws(WebAuthnFault) {
        guard sameBytes(self.type, type) else { throw .typeMismatch }
        guard challenge == ceremony.challenge else { throw .challengeMismatch }
        guard sameBytes(origin, ceremony.origin) else { throw .originMismatch }
        guard !isCrossOrigin else { throw .crossOrigin }
    }
}

/// What is wrong with a registration or an assertion.
package enum WebAuthnFault: Error, Sendable, Equatable {
    // Faults of the client data, which the browser made.
    case clientDataMalformed
    case typeMismatch
    case challengeMismatch
    case originMismatch
    case crossOrigin

    // Faults of the authenticator's data.
    case attestationMalformed
    /// The attestation has another format than `none`, which is the only format that is requested.
    case attestationFormat
    case attestationStatement
    case authenticatorDataMalformed
    case notCanonical(CBORFault)
    case relyingPartyMismatch
    case userAbsent
    case userNotVerified
    /// The flags say that the credential is backed up but not eligible for backup.
    case backupFlags
    /// The flag for backup eligibility differs from the stored flag. A credential's flag should
    /// never change (WebAuthn Level 3, section 6.1.3), but some authenticators changed it when they
    /// began to synchronise. The signature is valid.
    case backupEligibilityChanged

    // Faults of the credential in the authenticator's data.
    case credentialMissing
    /// The assertion contains a new credential. Only a registration may contain one.
    case credentialUnexpected
    case credentialLength
    case credentialMismatch
    case keyMalformed
    case algorithmRefused
    /// The key is too weak or has a wrong length, or it is a point that is not on its curve.
    case keyRefused

    // Faults of an assertion.
    case userHandleMismatch
    case signatureInvalid
    /// The counter did not grow, so the authenticator may have been copied.
    case counterFellBack

    /// The name of the fault for logs and audit events.
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
