/// How the exports of other systems spell a hash. Each function throws why a hash is not kept, and
/// gives what `users.password_hash` keeps as `text`.
extension ForeignPasswordHash {
    /// A crypt or PHC string, as in Supabase's `encrypted_password`, Auth0's `passwordHash`, and in
    /// a column of CSV:
    ///
    /// - `$2a$`, `$2b$`, `$2y$` (bcrypt), `$6$` (sha512crypt)
    /// - `$argon2i$`, `$argon2id$`, `$scrypt$ln=…`
    /// - `$pbkdf2$`, `$pbkdf2-sha1$`, `$pbkdf2-sha256$`, `$pbkdf2-sha512$` with `i=…`, `i=…,l=…` or
    ///   passlib's bare number
    ///
    /// WordPress' `$wp$2y$…`, Django's `pbkdf2_sha256$…`, `pbkdf2_sha1$…`, `argon2$argon2id$…`,
    /// `bcrypt$$2b$…`, `bcrypt_sha256$$2b$…` and `scrypt$salt$N$r$p$…`, and Werkzeug's
    /// `scrypt:N:r:p$…`, `pbkdf2:sha256:N$…`. Each may stand behind a scheme in braces, as in Spring's
    /// `{bcrypt}` and LDAP's `{CRYPT}`.
    package static func parse(_ given: String) throws(Refusal) -> ForeignPasswordHash {
        let text = try unwrapped(given)
        guard text.utf8.first != UInt8(ascii: "$") else {
            let hash = try ForeignHashReader.read(text)
            // Its digest is ours alone to write.
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

    /// The text behind a scheme in braces. What stands there begins with its own name, and is read as
    /// any text is: libcrypt would take other texts for DES.
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

    /// `scrypt$salt$16384$8$5$hash`: the salt is text, the hash base64.
    private static func djangoScrypt(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        let fields = split(text)
        guard fields.count == 6, let cost = ForeignHashReader.number(fields[2]),
            let blocks = ForeignHashReader.number(fields[3]),
            let lanes = ForeignHashReader.number(fields[4])
        else { throw .malformed }
        return try scrypt(
            cost, blocks, lanes, Array(fields[1].utf8), ForeignHashReader.bytes(fields[5]))
    }

    /// The text of its kind alone.
    private static func parse(
        _ text: String, _ prefixes: [String]
    ) throws(Refusal) -> ForeignPasswordHash {
        guard prefixes.contains(where: { text.hasPrefix($0) }) else { throw .malformed }
        return try parse(text)
    }

    /// `pbkdf2_sha256$600000$salt$hash`: the salt is text, the hash base64.
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

    /// `scrypt:32768:8:1$salt$hash` or `pbkdf2:sha256:600000$salt$hash`: the salt is text, the hash
    /// hexadecimal.
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

    /// Clerk's `password_digest` with its `password_hasher`: bcrypt, argon2i, argon2id,
    /// pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha256_django, pbkdf2_sha512, pbkdf2_sha512_hex,
    /// scrypt_firebase (`hash$salt$signer key$salt separator$rounds$memory cost`), scrypt_werkzeug.
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
        // The hash of pbkdf2_sha1 may be followed by its length, which the hash has already.
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
