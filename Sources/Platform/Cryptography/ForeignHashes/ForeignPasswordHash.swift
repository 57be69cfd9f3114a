import CArgon2
import COpenSSL
import Runtime
import Text

/// A password hash that another system made: bcrypt, argon2i, argon2id, scrypt, PBKDF2, Firebase's
/// scrypt or sha512crypt. The hash is stored until its owner signs in. A hash of our own kind then
/// replaces it. A foreign hash has no pepper, so it does not depend on the secret key.
package struct ForeignPasswordHash: Sendable, Equatable {
    /// Why an import does not store a password hash. The user is then imported without a password.
    package enum Refusal: String, Error, Sendable, Equatable, CaseIterable {
        /// The hash is of a kind that this service cannot verify.
        case unknown
        /// The text is not well-formed for its kind of hash.
        case malformed
        /// The hash costs more than the bounds allow: a sign-in would occupy a core or the memory
        /// for too long.
        case tooCostly = "too_costly"
        /// The hash costs less than the bounds require, so it is too weak.
        case tooWeak = "too_weak"
    }

    /// How the hash is derived from the password and the salt.
    enum Function: Sendable, Equatable {
        /// bcrypt and sha512crypt, which libcrypt computes. The stored text itself is the setting
        /// that libcrypt takes.
        case bcrypt(Prehash)
        case sha512crypt
        case argon2(Argon2Parameters)
        case scrypt(ScryptParameters)
        case pbkdf2(PBKDF2Parameters)
        /// Firebase's scrypt: the hash is the signer key of the Firebase project, encrypted with
        /// the key that scrypt derives from the password. `digest` is the SHA-256 of the signer
        /// key; it shows whether a derived key is right.
        case firebase(ScryptParameters, digest: [UInt8])
    }

    /// The hash that some systems apply to a password before bcrypt, because bcrypt reads only 72
    /// bytes.
    enum Prehash: String, Sendable, CaseIterable {
        case none = ""
        /// WordPress 6.8: HMAC-SHA384 under a fixed key, in base64.
        case wordpress = "$wp"
        /// Django's BCryptSHA256PasswordHasher: SHA-256 in hexadecimal.
        case djangoSHA256 = "$django-sha256"
    }

    let function: Function
    /// The salt. For bcrypt and sha512crypt, `salt` and `hash` are empty, because `text` contains
    /// both.
    let salt: [UInt8]
    let hash: [UInt8]
    /// The value of `users.password_hash`: a crypt or PHC string. Each hash has exactly one
    /// spelling.
    package let text: String

    /// Makes a hash and its text. Throws if the parameters, the salt or the hash are out of bounds.
    init(_ function: Function, salt: [UInt8], hash: [UInt8]) throws(Refusal) {
        try ForeignHashBounds.check(salt: salt, hash: hash)
        self.function = function
        self.salt = salt
        self.hash = hash
        text = try Self.text(function, PasswordHash.base64(salt), PasswordHash.base64(hash), hash)
    }

    /// Makes a hash from a bcrypt or sha512crypt text that has already been checked.
    init(_ function: Function, checked text: String) {
        self.function = function
        salt = []
        hash = []
        self.text = text
    }

    /// Reads a stored hash; `nil` if the text is not a foreign hash within the bounds.
    package init?(stored text: String) {
        guard let hash = try? ForeignHashReader.read(text) else { return nil }
        self = hash
    }

    /// Returns the text to store for a hash. Throws if the parameters of its hash function are out
    /// of bounds.
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

/// Reads hashes in the spellings of other systems' exports. Each function returns a hash whose
/// `text` can be stored in `users.password_hash`, or throws the reason why the hash is refused.
extension ForeignPasswordHash {
    /// Reads a crypt or PHC string, as in Supabase's `encrypted_password`, Auth0's `passwordHash`,
    /// or a CSV column:
    ///
    /// - `$2a$`, `$2b$`, `$2y$` (bcrypt), `$6$` (sha512crypt)
    /// - `$argon2i$`, `$argon2id$`, `$scrypt$ln=…`
    /// - `$pbkdf2$`, `$pbkdf2-sha1$`, `$pbkdf2-sha256$`, `$pbkdf2-sha512$` with `i=…`, `i=…,l=…` or
    ///   passlib's bare number
    ///
    /// It also reads WordPress' `$wp$2y$…`; Django's `pbkdf2_sha256$…`, `pbkdf2_sha1$…`,
    /// `argon2$argon2id$…`, `bcrypt$$2b$…`, `bcrypt_sha256$$2b$…` and `scrypt$salt$N$r$p$…`; and
    /// Werkzeug's `scrypt:N:r:p$…` and `pbkdf2:sha256:N$…`. A scheme in braces may precede a hash
    /// that begins with `$`, such as Spring's `{bcrypt}` and LDAP's `{CRYPT}`.
    package static func parse(_ given: String) throws(Refusal) -> ForeignPasswordHash {
        let text = try unwrapped(given)
        guard text.utf8.first != UInt8(ascii: "$") else {
            let hash = try ForeignHashReader.read(text)
            // Refuse our own form of a Firebase hash. Only this service writes that form, so no
            // export contains it.
            if case .firebase = hash.function { throw .unknown }
            return hash
        }
        if text.hasPrefix("bcrypt$$") { return try bcrypt(text, "bcrypt$") }
        if text.hasPrefix("bcrypt_sha256$$") {
            return try bcrypt(text, "bcrypt_sha256$", .djangoSHA256)
        }
        if text.hasPrefix("scrypt$") { return try djangoScrypt(text) }
        if text.hasPrefix("argon2$argon2") { return try parse(String(text.dropFirst(6))) }
        if text.hasPrefix("pbkdf2_") { return try django(text) }
        return try werkzeug(text)
    }

    private static let schemes: Set<String> = ["bcrypt", "crypt", "argon2", "argon2id", "argon2i"]

    /// Returns the text after a scheme in braces; a text without braces is returned unchanged. The
    /// text after a scheme must begin with `$`, because without it the text may be a DES hash. The
    /// text after `{bcrypt}` must begin with a prefix of bcrypt.
    private static func unwrapped(_ text: String) throws(Refusal) -> String {
        guard text.utf8.first == UInt8(ascii: "{"), let end = text.firstIndex(of: "}") else {
            return text
        }
        let scheme = text[text.index(after: text.startIndex)..<end].lowercased()
        let rest = text[text.index(after: end)...]
        guard schemes.contains(scheme), rest.utf8.first == UInt8(ascii: "$") else { throw .unknown }
        if scheme == "bcrypt", !Libcrypt.isBcrypt(String(rest)) { throw .unknown }
        return String(rest)
    }

    private static func bcrypt(
        _ text: String, _ name: String, _ prehash: Prehash = .none
    ) throws(Refusal) -> ForeignPasswordHash {
        try Libcrypt.readBcrypt(String(text.dropFirst(name.utf8.count)), prehash)
    }

    /// Reads `scrypt$salt$16384$8$5$hash`, where the salt is text and the hash is base64.
    private static func djangoScrypt(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        let fields = split(text)
        guard fields.count == 6, let cost = ForeignHashReader.number(fields[2]),
            let blocks = ForeignHashReader.number(fields[3]),
            let lanes = ForeignHashReader.number(fields[4])
        else { throw .malformed }
        return try scrypt(
            cost, blocks, lanes, Array(fields[1].utf8), ForeignHashReader.bytes(fields[5]))
    }

    /// Parses the text only if it begins with one of the given prefixes.
    private static func parse(
        _ text: String, _ prefixes: [String]
    ) throws(Refusal) -> ForeignPasswordHash {
        guard prefixes.contains(where: { text.hasPrefix($0) }) else { throw .malformed }
        return try parse(text)
    }

    /// Reads `pbkdf2_sha256$600000$salt$hash`, where the salt is text and the hash is base64.
    private static func django(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        let digests: [String: PBKDF2Parameters.Digest] = [
            "pbkdf2_sha256": .sha256, "pbkdf2_sha1": .sha1,
        ]
        let fields = split(text)
        guard let digest = digests[fields[0]] else { throw .unknown }
        guard fields.count == 4 else { throw .malformed }
        return try pbkdf2(
            digest, fields[1], Array(fields[2].utf8), ForeignHashReader.bytes(fields[3]))
    }

    /// Reads `scrypt:32768:8:1$salt$hash` or `pbkdf2:sha256:600000$salt$hash`, where the salt is
    /// text and the hash is hexadecimal.
    private static func werkzeug(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        let fields = split(text)
        let method = fields[0].split(separator: ":", omittingEmptySubsequences: false)
        guard method[0] == "scrypt" || method[0] == "pbkdf2" else { throw .unknown }
        guard fields.count == 3 else { throw .malformed }
        let (salt, hash) = (Array(fields[1].utf8), try ForeignHashReader.hexBytes(fields[2]))
        if method[0] == "pbkdf2" {
            guard method.count == 3 else { throw .malformed }
            guard let digest = PBKDF2Parameters.Digest(rawValue: String(method[1])) else {
                throw .unknown
            }
            return try pbkdf2(digest, String(method[2]), salt, hash)
        }
        let numbers = method.dropFirst().compactMap { ForeignHashReader.number($0) }
        guard method.count == 4, numbers.count == 3 else { throw .malformed }
        return try scrypt(numbers[0], numbers[1], numbers[2], salt, hash)
    }

    /// Reads Clerk's `password_digest` according to its `password_hasher`: bcrypt, argon2i,
    /// argon2id, pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha256_django, pbkdf2_sha512,
    /// pbkdf2_sha512_hex, scrypt_firebase (`hash$salt$signer key$salt separator$rounds$memory
    /// cost`), scrypt_werkzeug.
    package static func clerk(
        digest: String, hasher: String
    ) throws(Refusal) -> ForeignPasswordHash {
        switch hasher {
        case "bcrypt": return try parse(digest, Libcrypt.bcryptPrefixes)
        case "argon2i", "argon2id": return try parse(digest, ["$\(hasher)$"])
        case "pbkdf2_sha256_django": return try parse(digest, ["pbkdf2_sha256$"])
        case "scrypt_werkzeug": return try parse(digest, ["scrypt:"])
        case "scrypt_firebase": return try clerkFirebase(split(digest))
        case "pbkdf2_sha1", "pbkdf2_sha256", "pbkdf2_sha512", "pbkdf2_sha512_hex": break
        default: throw .unknown
        }
        var fields = split(digest)
        // In a pbkdf2_sha1 text, the length of the hash may follow the hash. Drop the length,
        // because it is redundant.
        if hasher == "pbkdf2_sha1", fields.count == 5 { fields.removeLast() }
        guard fields.count == 4, fields[0] == hasher else { throw .malformed }
        return try clerkPBKDF2(hasher, rounds: fields[1], salt: fields[2], hash: fields[3])
    }

    private static func clerkPBKDF2(
        _ hasher: String, rounds: String, salt: String, hash: String
    ) throws(Refusal) -> ForeignPasswordHash {
        typealias Read = ForeignHashReader
        switch hasher {
        case "pbkdf2_sha1":
            return try pbkdf2(.sha1, rounds, Array(salt.utf8), Read.hexBytes(hash))
        case "pbkdf2_sha256":
            return try pbkdf2(.sha256, rounds, Read.bytes(salt), Read.bytes(hash))
        case "pbkdf2_sha512":
            return try pbkdf2(.sha512, rounds, Array(salt.utf8), Read.hexBytes(hash))
        default:
            return try pbkdf2(.sha512, rounds, Read.hexBytes(salt), Read.hexBytes(hash))
        }
    }

    private static func clerkFirebase(_ fields: [String]) throws(Refusal) -> ForeignPasswordHash {
        guard fields.count == 6, let rounds = ForeignHashReader.number(fields[4]),
            let memoryCost = ForeignHashReader.number(fields[5])
        else { throw .malformed }
        let project = try FirebaseProject(
            signerKey: fields[2], saltSeparator: fields[3], rounds: rounds, memoryCost: memoryCost)
        return try firebase(hash: fields[0], salt: fields[1], of: project)
    }

    private static func split(_ text: String) -> [String] {
        text.split(separator: "$", omittingEmptySubsequences: false).map(String.init)
    }

    private static func pbkdf2(
        _ digest: PBKDF2Parameters.Digest, _ iterations: String, _ salt: [UInt8], _ hash: [UInt8]
    ) throws(Refusal) -> ForeignPasswordHash {
        guard let iterations = ForeignHashReader.number(iterations) else { throw .malformed }
        return try ForeignPasswordHash(
            .pbkdf2(PBKDF2Parameters(digest: digest, iterations: iterations)), salt: salt,
            hash: hash)
    }

    static func scrypt(
        _ cost: Int, _ blocks: Int, _ lanes: Int, _ salt: [UInt8], _ hash: [UInt8]
    ) throws(Refusal) -> ForeignPasswordHash {
        guard let parameters = ScryptParameters(cost: cost, blocks: blocks, lanes: lanes) else {
            throw .malformed
        }
        return try ForeignPasswordHash(.scrypt(parameters), salt: salt, hash: hash)
    }
}

extension ForeignPasswordHash {
    /// The number of bytes that bcrypt reads of a password; it ignores the rest.
    static let longestOfBcrypt = 72
    /// The most bytes of a password that libcrypt accepts for sha512crypt.
    private static let longestOfSHA512 = 511

    /// Whether this password may be checked against this hash. It may not if the password is empty,
    /// is too long for sha512crypt, or contains a NUL. C functions stop at a NUL, and HMAC ignores
    /// NULs at the end, so a password with a NUL could match another password's hash.
    func mayBe(of password: [UInt8]) -> Bool {
        guard !password.isEmpty, !password.contains(0) else { return false }
        switch function {
        case .sha512crypt: return password.count <= Self.longestOfSHA512
        case .bcrypt, .argon2, .scrypt, .pbkdf2, .firebase: return true
        }
    }

    /// Whether the hash covers only the first 72 bytes of this password. If so, every other
    /// password with the same first 72 bytes matches the hash too.
    func isCut(_ password: [UInt8]) -> Bool {
        if case .bcrypt(.none) = function { return password.count >= Self.longestOfBcrypt }
        return false
    }

    /// Whether the password matches this hash. Call this function only if `mayBe(of:)` is true. The
    /// computation occupies a core.
    func matches(_ password: [UInt8]) -> Result<Bool, PasswordFault> {
        var derived: [UInt8]?
        switch function {
        case .sha512crypt: return Libcrypt.matches(password, text)
        case .bcrypt(let prehash):
            guard let input = Self.prehashed(password, prehash) else {
                return .failure(.libraryFailed)
            }
            return Libcrypt.matches(input, String(text.dropFirst(prehash.rawValue.count)))
        case .argon2(let parameters): derived = argon2(password, parameters)
        case .scrypt(let parameters): derived = scrypt(password, parameters, count: hash.count)
        case .pbkdf2(let parameters): derived = pbkdf2(password, parameters)
        case .firebase(let parameters, let digest):
            guard let key = scrypt(password, parameters, count: 32), let signer = decrypt(hash, key)
            else { return .failure(.libraryFailed) }
            return .success(constantTimeEqual(SHA256.hash(signer), digest))
        }
        guard let derived else { return .failure(.libraryFailed) }
        return .success(constantTimeEqual(derived, hash))
    }

    private static func prehashed(_ password: [UInt8], _ prehash: Prehash) -> [UInt8]? {
        switch prehash {
        case .none: return Array(password.prefix(longestOfBcrypt))
        case .djangoSHA256: return Array(Hex.encode(SHA256.hash(password)).utf8)
        case .wordpress:
            let key = Array("wp-sha384".utf8)
            var out = [UInt8](repeating: 0, count: 48)
            var count = 0
            guard
                EVP_Q_mac(
                    nil, "HMAC", nil, "SHA384", nil, key, key.count, password, password.count, &out,
                    out.count, &count) != nil, count == out.count
            else { return nil }
            // The base64 of 48 bytes has no padding.
            return Array(PasswordHash.base64(out).utf8)
        }
    }

    private func argon2(_ password: [UInt8], _ parameters: Argon2Parameters) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: hash.count)
        var (password, salt) = (password, salt)
        let status = out.withUnsafeMutableBufferPointer { out in
            password.withUnsafeMutableBufferPointer { password in
                salt.withUnsafeMutableBufferPointer { salt in
                    var context = argon2_context()
                    context.out = out.baseAddress
                    context.outlen = UInt32(out.count)
                    context.pwd = password.baseAddress
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    context.t_cost = UInt32(parameters.passes)
                    context.m_cost = UInt32(parameters.kibibytes)
                    context.lanes = UInt32(parameters.lanes)
                    // Run the lanes one after another, so that a hash occupies only one core,
                    // however many lanes it has.
                    context.threads = 1
                    context.version = UInt32(parameters.version)
                    return argon2_ctx(&context, parameters.isHybrid ? Argon2_id : Argon2_i)
                }
            }
        }
        return status == ARGON2_OK.rawValue ? out : nil
    }

    private func scrypt(
        _ password: [UInt8], _ parameters: ScryptParameters, count: Int
    ) -> [UInt8]? {
        var out = [UInt8](repeating: 0, count: count)
        // The memory limit for OpenSSL must also include OpenSSL's other buffers: r · 128 bytes for
        // each lane, and two more blocks of r · 128 bytes.
        let most = parameters.memory + parameters.blocks * (parameters.lanes + 2) * 128
        let status = EVP_PBE_scrypt(
            password.map { CChar(bitPattern: $0) }, password.count, salt, salt.count,
            1 << UInt64(parameters.log), UInt64(parameters.blocks), UInt64(parameters.lanes),
            UInt64(most), &out, count)
        return status == 1 ? out : nil
    }

    private func pbkdf2(_ password: [UInt8], _ parameters: PBKDF2Parameters) -> [UInt8]? {
        let digest =
            switch parameters.digest {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            case .sha512: EVP_sha512()
            }
        var out = [UInt8](repeating: 0, count: hash.count)
        let status = PKCS5_PBKDF2_HMAC(
            password.map { CChar(bitPattern: $0) }, Int32(password.count), salt, Int32(salt.count),
            Int32(parameters.iterations), digest, Int32(out.count), &out)
        return status == 1 ? out : nil
    }

    /// Decrypts AES-256-CTR with a counter that starts at zero, as Firebase encrypts.
    private func decrypt(_ text: [UInt8], _ key: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        let counter = [UInt8](repeating: 0, count: 16)
        var out = [UInt8](repeating: 0, count: text.count)
        var count: Int32 = 0
        guard EVP_DecryptInit_ex2(context, EVP_aes_256_ctr(), key, counter, nil) == 1,
            EVP_DecryptUpdate(context, &out, &count, text, Int32(text.count)) == 1,
            count == Int32(text.count)
        else { return nil }
        return out
    }
}

/// Computes foreign hashes on threads of their own, one at a time for each tenant. So a tenant with
/// costly hashes delays neither other tenants nor the computation of our own hashes.
final class ForeignHashQueue: Sendable {
    /// How many sign-ins of one tenant may wait in the queue. An IP address has to pause after
    /// fewer failed sign-ins than this, so one address cannot fill the queue. For the same reason,
    /// no address can provoke the refusal of a full queue, which would reveal that a user has a
    /// foreign hash.
    static let waitingLimit = 64

    private let pool: WorkerPool
    private let slots: FairSlots<UUID>

    init(threads: Int, waitingLimit: Int = ForeignHashQueue.waitingLimit) {
        pool = WorkerPool(threads: threads, queueLimit: PasswordHasher.queueLimit)
        slots = FairSlots(waitingLimit: waitingLimit)
    }

    /// Returns how many sign-ins of the tenant wait for their turn.
    func waiting(_ tenant: UUID) -> Int { slots.waiting(tenant) }

    /// Whether the password matches the hash. `hash.mayBe(of: password)` must be true.
    func matches(
        _ password: [UInt8], _ hash: ForeignPasswordHash, in tenant: UUID
    ) async throws(PasswordFault) -> Bool {
        try await alone(tenant, account: hash.text.hashValue) { hash.matches(password) }
    }

    /// Runs `work` while no other work of the tenant runs. The accounts of a tenant take turns, so
    /// repeated attempts at one account delay any other account by at most one check.
    func alone<Value: Sendable>(
        _ tenant: UUID, account: Int = 0,
        _ work: @escaping @Sendable () -> Result<Value, PasswordFault>
    ) async throws(PasswordFault) -> Value {
        guard await slots.enter(tenant, limit: 1, group: account) else { throw .busy }
        let result = await pool.run(work)
        slots.leave(tenant)
        guard let result else { throw .busy }
        return try result.get()
    }
}
