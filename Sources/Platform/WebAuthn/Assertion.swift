/// A signature of a known credential, as its authenticator and the browser answered.
package struct Assertion: Sendable {
    package var credentialID: [UInt8]
    package var clientData: [UInt8]
    package var authenticatorData: [UInt8]
    package var signature: [UInt8]
    /// Of the account that the credential was made for; an authenticator may leave it out if it was
    /// asked for one credential.
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
    /// The COSE key as it was sent; its algorithm alone checks signatures.
    package var key: [UInt8]
    package var counter: UInt32
    package var userHandle: [UInt8]
    package var isBackupEligible: Bool

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

/// What an assertion changes of its credential.
package struct CheckedAssertion: Sendable {
    package var counter: UInt32
    package var isBackedUp: Bool
}

extension Ceremony {
    /// The steps of WebAuthn Level 3, section 7.2. `namesUser`: the user handle must be there,
    /// because nothing else says whose the credential is.
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
        // Both 0: the authenticator keeps no counter.
        guard data.counter > credential.counter || data.counter == 0 && credential.counter == 0
        else { throw .counterFellBack }
        return CheckedAssertion(counter: data.counter, isBackedUp: data.isBackedUp)
    }
}
