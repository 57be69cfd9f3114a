/// A password's hash that another system made, kept in place of our own until its owner signs in:
/// bcrypt, argon2i, argon2id, scrypt, PBKDF2, Firebase's scrypt, sha512crypt. It has no pepper, so
/// it does not depend on the secret key.
package struct ForeignPasswordHash: Sendable, Equatable {
    /// Why a hash is not kept. Its user comes in without a password.
    package enum Refusal: String, Error, Sendable, Equatable, CaseIterable {
        /// No kind of hash that is verified here.
        case unknown
        /// Not in the form of its kind.
        case malformed
        /// Above the bounds: a sign-in would occupy a core or the memory for too long.
        case tooCostly = "too_costly"
        /// Below the bounds.
        case tooWeak = "too_weak"
    }

    /// How the hash is made of password and salt.
    enum Function: Sendable, Equatable {
        /// libcrypt's methods; the text itself is the setting.
        case bcrypt(Prehash)
        case sha512crypt
        case argon2(Argon2Parameters)
        case scrypt(ScryptParameters)
        case pbkdf2(PBKDF2Parameters)
        /// Firebase's scrypt: the hash is the project's signer key, encrypted with the derived key.
        /// `digest` is the SHA-256 of the signer key, by which a right derived key is known.
        case firebase(ScryptParameters, digest: [UInt8])
    }

    /// What some systems do to a password before bcrypt, which reads 72 bytes alone.
    enum Prehash: String, Sendable, CaseIterable {
        case none = ""
        /// WordPress 6.8: HMAC-SHA384 under a fixed key, in base64.
        case wordpress = "$wp"
        /// Django's BCryptSHA256PasswordHasher: SHA-256 in hexadecimal.
        case djangoSHA256 = "$django-sha256"
    }

    let function: Function
    /// Both are empty for libcrypt's methods.
    let salt: [UInt8]
    let hash: [UInt8]
    /// What `users.password_hash` keeps: a crypt or PHC string. Each hash has one spelling.
    package let text: String

    /// Throws if the parameters, the salt or the hash are outside the bounds.
    init(_ function: Function, salt: [UInt8], hash: [UInt8]) throws(Refusal) {
        try ForeignHashBounds.check(salt: salt, hash: hash)
        self.function = function
        self.salt = salt
        self.hash = hash
        text = try Self.text(function, PasswordHash.base64(salt), PasswordHash.base64(hash), hash)
    }

    /// A text of libcrypt's that was checked.
    init(_ function: Function, checked text: String) {
        self.function = function
        salt = []
        hash = []
        self.text = text
    }

    /// nil if the text is no foreign hash within the bounds.
    package init?(stored text: String) {
        guard let hash = try? ForeignHashReader.read(text) else { return nil }
        self = hash
    }

    /// Checks the function's bounds too.
    private static func text(
        _ function: Function, _ salt: String, _ encoded: String, _ hash: [UInt8]
    ) throws(Refusal) -> String {
        switch function {
        case .bcrypt, .sha512crypt: throw .malformed
        case .argon2(let parameters):
            try parameters.check()
            return "$\(parameters.name)$v=\(parameters.version)$m=\(parameters.kibibytes),"
                + "t=\(parameters.passes),p=\(parameters.lanes)$\(salt)$\(encoded)"
        case .scrypt(let parameters):
            try parameters.check()
            return "$scrypt$\(parameters.text)$\(salt)$\(encoded)"
        case .pbkdf2(let parameters):
            try parameters.check(hash: hash.count)
            return "$pbkdf2-\(parameters.digest.rawValue)$i=\(parameters.iterations)"
                + "$\(salt)$\(encoded)"
        case .firebase(let parameters, let digest):
            try parameters.check()
            guard digest.count == SHA256.length else { throw .malformed }
            guard hash.count >= ForeignHashBounds.leastSignerKey else { throw .tooWeak }
            return "$\(ForeignHashReader.firebaseName)$\(parameters.text)"
                + "$\(salt)$\(encoded)$\(PasswordHash.base64(digest))"
        }
    }
}
