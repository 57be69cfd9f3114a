import CCrypt

/// The methods of libcrypt that are used here: bcrypt and sha512crypt. libcrypt chooses the method
/// by the first characters of the setting that it gets. It never gets a setting for any other
/// method.
enum Libcrypt {
    typealias Refusal = ForeignPasswordHash.Refusal

    static let bcryptPrefixes = ["$2a$", "$2b$", "$2y$"]
    private static let sha512Prefix = "$6$"
    private static let roundsName = "rounds="

    /// The characters of libcrypt's base64. bcrypt uses the same characters in another order.
    private static let alphabet = Set(
        "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    private static let bcryptAlphabet = Array(
        "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

    static func isBcrypt(_ text: String) -> Bool { bcryptPrefixes.contains { text.hasPrefix($0) } }
    static func isSHA512(_ text: String) -> Bool { text.hasPrefix(sha512Prefix) }

    /// Reads `$2b$10$` followed by 22 characters of salt and 31 of hash. The stored text begins
    /// with the name of the prehash, if there is one.
    static func readBcrypt(
        _ text: String, _ prehash: ForeignPasswordHash.Prehash = .none
    ) throws(Refusal) -> ForeignPasswordHash {
        guard isBcrypt(text) else { throw .unknown }
        var bytes = Array(text.utf8)
        guard bytes.count == 60, bytes[6] == UInt8(ascii: "$"),
            bytes[4] &- 0x30 <= 9, bytes[5] &- 0x30 <= 9,
            bytes[7...].allSatisfy(alphabet.contains)
        else { throw .malformed }
        try ForeignHashBounds.check(
            Int(bytes[4] - 0x30) * 10 + Int(bytes[5] - 0x30), ForeignHashBounds.bcryptCosts)
        // Clear the unused bits in the last character of the salt and of the hash. Some systems
        // leave these bits set, but libcrypt writes zeros.
        bytes[28] = cleared(bytes[28], of: 0x0F)
        bytes[59] = cleared(bytes[59], of: 0x03)
        return ForeignPasswordHash(
            .bcrypt(prehash), checked: prehash.rawValue + String(decoding: bytes, as: UTF8.self))
    }

    /// Returns the cost in a bcrypt text: the base-2 logarithm of the number of rounds. The text
    /// must have been checked.
    static func cost(ofBcrypt text: String) -> Int {
        // The text ends with the two digits of the cost, a `$`, and 53 characters of salt and hash.
        // Count from the end, because the name of a prehash may come first.
        Int(String(decoding: Array(text.utf8).dropLast(54).suffix(2), as: UTF8.self)) ?? Int.max
    }

    /// Returns the number of rounds in a sha512crypt text. The text must have been checked.
    static func rounds(ofSHA512 text: String) -> Int {
        let field = text.dropFirst(sha512Prefix.count).prefix { $0 != "$" }
        guard field.hasPrefix(roundsName) else { return ForeignHashBounds.sha512cryptDefault }
        return Int(field.dropFirst(roundsName.count)) ?? Int.max
    }

    private static func cleared(_ character: UInt8, of bits: Int) -> UInt8 {
        let value = bcryptAlphabet.firstIndex(of: character) ?? 0
        return bcryptAlphabet[value & ~bits]
    }

    /// Reads `$6$salt$hash` or `$6$rounds=5000$salt$hash`, with 8 to 16 characters of salt and 86
    /// of hash.
    static func readSHA512(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        var fields = text.dropFirst(sha512Prefix.count).split(
            separator: "$", omittingEmptySubsequences: false)
        var rounds = ForeignHashBounds.sha512cryptDefault
        if fields.count == 3 {
            let field = fields.removeFirst()
            guard field.hasPrefix(roundsName),
                let number = ForeignHashReader.number(field.dropFirst(roundsName.count))
            else { throw .malformed }
            rounds = number
        }
        guard fields.count == 2, fields[0].utf8.allSatisfy(alphabet.contains),
            fields[1].utf8.allSatisfy(alphabet.contains), fields[1].utf8.count == 86,
            fields[0].utf8.count <= 16
        else { throw .malformed }
        guard fields[0].utf8.count >= 8 else { throw .tooWeak }
        try ForeignHashBounds.check(rounds, ForeignHashBounds.sha512cryptRounds)
        return ForeignPasswordHash(.sha512crypt, checked: text)
    }

    /// Whether the text is the hash of this password. The password must contain no NUL, and one of
    /// the functions above must have read the text.
    static func matches(_ password: [UInt8], _ text: String) -> Result<Bool, PasswordFault> {
        guard isBcrypt(text) || isSHA512(text) else { return .failure(.badHash) }
        let phrase = (password + [0]).map { CChar(bitPattern: $0) }
        var out = [CChar](repeating: 0, count: Int(GH_CRYPT_OUTPUT_SIZE))
        guard gh_crypt(phrase, text, &out) == 1 else { return .failure(.libraryFailed) }
        let made = out.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return .success(constantTimeEqual(made, Array(text.utf8)))
    }
}
