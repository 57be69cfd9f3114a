import Cryptography

/// The keys under which the directory finds a person before the tenant is known: HMACs, so that a
/// dump of the directory names no person. A leading byte keeps addresses and identities apart. One
/// key is 36 bytes: the name of the secret key and the HMAC. During a rotation of the secret key
/// there are two, the one to write first; the directory's functions look for both.
extension Database {
    /// Bytes of one key: the secret key's name and 32 of HMAC-SHA-256.
    package static let personKeyLength = SecretKeys.idLength + 32

    /// The keys of an address, by its email key.
    package func personKey(emailKey: String) -> [UInt8] {
        directory.named([1] + Array(emailKey.utf8))
    }

    /// The keys of an identity.
    package func personKey(provider: String, issuer: String, subject: String) -> [UInt8] {
        var message: [UInt8] = [2]
        for part in [provider, issuer, subject] {
            message += Array(part.utf8)
            message.append(0)
        }
        return directory.named(message)
    }
}
