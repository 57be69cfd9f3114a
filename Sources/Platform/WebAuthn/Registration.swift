/// A new credential, as its authenticator and the browser answered.
package struct Registration: Sendable {
    package var credentialID: [UInt8]
    package var clientData: [UInt8]
    package var attestation: [UInt8]

    package init(credentialID: [UInt8], clientData: [UInt8], attestation: [UInt8]) {
        self.credentialID = credentialID
        self.clientData = clientData
        self.attestation = attestation
    }
}

/// A credential that a registration proved.
package struct RegisteredCredential: Sendable {
    package var id: [UInt8]
    /// The COSE key as it was sent.
    package var key: [UInt8]
    package var algorithm: COSEKey.Algorithm
    package var counter: UInt32
    package var model: [UInt8]
    package var isBackupEligible: Bool
    package var isBackedUp: Bool
}

extension Ceremony {
    /// The steps of WebAuthn Level 3, section 7.1. Attestation `none` alone: other formats prove
    /// what makes an authenticator has, which no policy here asks, and browsers replace them by
    /// `none` where it is asked for.
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

    /// An attestation has three members, of which `none` leaves one empty.
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
