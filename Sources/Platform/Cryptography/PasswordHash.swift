/// A stored password: an argon2id PHC string of version 1.3 within the cost bounds, whose parameter
/// `keyid` names the secret key of its pepper (PHC string format; libargon2 does not read it). Behind
/// it `cut=72` says that the hash is of a password's first 72 bytes, as bcrypt's was.
struct PasswordHash {
    /// What libargon2 reads: the string without `keyid`.
    let encoded: String
    let cost: PasswordHasher.Cost
    /// 4 bytes.
    let pepper: [UInt8]
    /// Only the first 72 bytes of a password count.
    let isCut: Bool

    /// nil if the text is no such string.
    init?(_ phc: String) {
        let fields = phc.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
        guard fields.count == 6, fields[0].isEmpty, fields[1].elementsEqual("argon2id".utf8),
            fields[2].elementsEqual("v=19".utf8)
        else { return nil }
        let parameters = fields[3].split(
            separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        isCut = parameters.count == 5
        guard parameters.count == 4 || isCut && parameters[4].elementsEqual(Self.cut.utf8),
            let kibibytes = Self.number(parameters[0], "m="),
            let passes = Self.number(parameters[1], "t="),
            let lanes = Self.number(parameters[2], "p="), parameters[3].starts(with: "keyid=".utf8),
            let pepper = Self.bytes(parameters[3].dropFirst(6)),
            pepper.count == SecretKeys.idLength,
            kibibytes <= PasswordHasher.Cost.most.kibibytes,
            passes <= PasswordHasher.Cost.most.passes, lanes <= PasswordHasher.Cost.most.lanes
        else { return nil }
        cost = PasswordHasher.Cost(kibibytes: kibibytes, passes: passes, lanes: lanes)
        self.pepper = pepper
        let costs = parameters.prefix(3).map { String(decoding: $0, as: UTF8.self) }
        encoded =
            "$argon2id$v=19$" + costs.joined(separator: ",")
            + "$" + String(decoding: fields[4], as: UTF8.self)
            + "$" + String(decoding: fields[5], as: UTF8.self)
    }

    private static let cut = "cut=72"

    /// What of a password the hash is of.
    static func counted(_ password: [UInt8], isCut: Bool) -> [UInt8] {
        isCut ? Array(password.prefix(ForeignPasswordHash.longestOfBcrypt)) : password
    }

    /// libargon2's string with the pepper's name added, and the note of a cut.
    static func naming(_ pepper: [UInt8], in encoded: String, isCut: Bool = false) -> String {
        var fields = encoded.split(separator: "$", omittingEmptySubsequences: false).map(
            String.init)
        fields[3] += keyID(pepper) + (isCut ? "," + cut : "")
        return fields.joined(separator: "$")
    }

    /// How a string names the pepper of this secret key.
    static func keyID(_ id: [UInt8]) -> String { ",keyid=" + base64(id) }

    /// PHC strings use the standard alphabet without padding.
    static func base64(_ bytes: [UInt8]) -> String {
        translated(Base64URL.encode(bytes).utf8, "-_", "+/")
    }

    private static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        Base64URL.decode(translated(text, "+/", "-_"))
    }

    private static func translated(
        _ text: some Sequence<UInt8>, _ from: StaticString, _ to: StaticString
    ) -> String {
        let bytes = text.map { byte in
            byte == from.utf8Start[0]
                ? to.utf8Start[0] : byte == from.utf8Start[1] ? to.utf8Start[1] : byte
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func number(_ field: Substring.UTF8View, _ name: String) -> UInt32? {
        guard field.starts(with: name.utf8) else { return nil }
        return UInt32(String(decoding: field.dropFirst(2), as: UTF8.self))
    }
}

extension SecretKeys.Key {
    /// The part of a password's hash that names this key as the pepper's.
    package var passwordMark: String { PasswordHash.keyID(id) }
}
