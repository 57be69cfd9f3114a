/// The password hash parameters of a Firebase project, from its console. The signer key is a secret
/// of the project: it is used to read an import, and is kept nowhere.
package struct FirebaseProject: Sendable {
    let signerKey: [UInt8]
    let saltSeparator: [UInt8]
    let parameters: ScryptParameters

    /// As the console shows them: the signer key and the salt separator in base64.
    package init(
        signerKey: String, saltSeparator: String, rounds: Int, memoryCost: Int
    ) throws(ForeignPasswordHash.Refusal) {
        self.signerKey = try ForeignHashReader.bytes(signerKey)
        self.saltSeparator = try ForeignHashReader.bytes(saltSeparator)
        parameters = ScryptParameters(log: memoryCost, blocks: rounds, lanes: 1)
        try parameters.check()
        guard self.signerKey.count >= ForeignHashBounds.leastSignerKey else { throw .tooWeak }
    }
}

extension ForeignPasswordHash {
    /// Firebase's `passwordHash` and `salt`, in either alphabet of base64.
    ///
    /// The hash is the signer key in the cipher of a key that scrypt derives from the password. So
    /// the signer key need not be kept to check a password: its digest shows that the password
    /// decrypts it. The digest of 32 random bytes or more reveals nothing of them, depends on no key
    /// of ours, and survives each rotation of the secret key.
    package static func firebase(
        hash: String, salt: String, of project: FirebaseProject
    ) throws(Refusal) -> ForeignPasswordHash {
        let hash = try ForeignHashReader.bytes(hash)
        guard hash.count == project.signerKey.count else { throw .malformed }
        return try ForeignPasswordHash(
            .firebase(project.parameters, digest: SHA256.hash(project.signerKey)),
            salt: ForeignHashReader.bytes(salt) + project.saltSeparator, hash: hash)
    }
}
