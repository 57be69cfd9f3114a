import Cryptography

/// Under what the directory finds a person before the tenant is known: HMACs, so that a dump of
/// the directory names nobody. A leading byte keeps addresses and identities apart.
extension Database {
    /// 32 bytes for an address, by its email key.
    package func personKey(emailKey: String) -> [UInt8] {
        SHA256.authenticate([1] + Array(emailKey.utf8), key: directoryKey)
    }

    /// 32 bytes for an identity.
    package func personKey(provider: String, issuer: String, subject: String) -> [UInt8] {
        var message: [UInt8] = [2]
        for part in [provider, issuer, subject] {
            message += Array(part.utf8)
            message.append(0)
        }
        return SHA256.authenticate(message, key: directoryKey)
    }
}
