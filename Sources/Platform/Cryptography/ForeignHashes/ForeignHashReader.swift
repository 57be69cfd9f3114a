import Text

/// Reads password hashes that are crypt or PHC strings. The input may come from an untrusted file.
enum ForeignHashReader {
    typealias Refusal = ForeignPasswordHash.Refusal

    /// Our own identifier for Firebase's scrypt in a PHC string.
    static let firebaseName = "firebase-scrypt"

    /// The largest value of scrypt's `ln` that is read as the logarithm of N. A larger value is
    /// read as N itself.
    private static let mostOfLog = 40

    /// The maximum length of a stored hash's text, in bytes. A text whose salt and hash are within
    /// the bounds is never longer.
    private static let longest = 512

    static func read(_ text: String) throws(Refusal) -> ForeignPasswordHash {
        guard text.utf8.count <= longest else { throw .malformed }
        guard text.utf8.first == UInt8(ascii: "$") else { throw .unknown }
        if Libcrypt.isBcrypt(text) { return try Libcrypt.readBcrypt(text) }
        if Libcrypt.isSHA512(text) { return try Libcrypt.readSHA512(text) }
        for prehash in ForeignPasswordHash.Prehash.allCases.dropFirst()
        where text.hasPrefix(prehash.rawValue + "$") {
            return try Libcrypt.readBcrypt(String(text.dropFirst(prehash.rawValue.count)), prehash)
        }
        var fields = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        fields.removeFirst()
        switch fields.removeFirst() {
        case "argon2i": return try argon2(fields, isHybrid: false)
        case "argon2id": return try argon2(fields, isHybrid: true)
        case "scrypt": return try scrypt(fields)
        case "pbkdf2", "pbkdf2-sha1": return try pbkdf2(fields, .sha1)
        case "pbkdf2-sha256": return try pbkdf2(fields, .sha256)
        case "pbkdf2-sha512": return try pbkdf2(fields, .sha512)
        case firebaseName: return try firebase(fields)
        default: throw .unknown
        }
    }

    /// Reads `$argon2id$v=19$m=65536,t=3,p=4$salt$hash`. Without `v`, the version is 1.0.
    private static func argon2(
        _ fields: [String], isHybrid: Bool
    ) throws(Refusal) -> ForeignPasswordHash {
        guard fields.count == 3 || fields.count == 4, let salt = fields.dropLast().last,
            let hash = fields.last
        else { throw .malformed }
        var version = 16
        if fields.count == 4 { version = try only("v", of: fields[0]) }
        let values = try parameters(fields[fields.count - 3])
        // Refuse a hash that was made with a key or with associated data, because this service has
        // neither.
        guard values["keyid"] == nil, values["data"] == nil else { throw .unknown }
        guard values.count == 3, let kibibytes = values["m"].flatMap(number),
            let passes = values["t"].flatMap(number), let lanes = values["p"].flatMap(number)
        else { throw .malformed }
        return try ForeignPasswordHash(
            .argon2(
                Argon2Parameters(
                    isHybrid: isHybrid, version: version, kibibytes: kibibytes, passes: passes,
                    lanes: lanes)),
            salt: bytes(salt), hash: bytes(hash))
    }

    /// Reads `$scrypt$ln=15,r=8,p=1$salt$hash`.
    private static func scrypt(_ fields: [String]) throws(Refusal) -> ForeignPasswordHash {
        guard fields.count == 3 else { throw .malformed }
        return try ForeignPasswordHash(
            .scrypt(scryptParameters(fields[0])), salt: bytes(fields[1]), hash: bytes(fields[2]))
    }

    private static func scryptParameters(_ text: String) throws(Refusal) -> ScryptParameters {
        let values = try parameters(text)
        guard values.count == 3, let log = values["ln"].flatMap(number),
            let blocks = values["r"].flatMap(number), let lanes = values["p"].flatMap(number)
        else { throw .malformed }
        // Ory Kratos writes N itself instead of its logarithm.
        if log > Self.mostOfLog {
            guard let parameters = ScryptParameters(cost: log, blocks: blocks, lanes: lanes) else {
                throw log == Int.max ? .tooCostly : .malformed
            }
            return parameters
        }
        return ScryptParameters(log: log, blocks: blocks, lanes: lanes)
    }

    /// Reads `$pbkdf2-sha256$i=600000,l=32$salt$hash`, the same without `l`, and passlib's form,
    /// where the iterations are a bare number.
    private static func pbkdf2(
        _ fields: [String], _ digest: PBKDF2Parameters.Digest
    ) throws(Refusal) -> ForeignPasswordHash {
        guard fields.count == 3 else { throw .malformed }
        let hash = try bytes(fields[2])
        var iterations = number(fields[0])
        if iterations == nil {
            let values = try parameters(fields[0])
            iterations = values["i"].flatMap(number)
            let length = values["l"].map { number($0) == hash.count } ?? true
            guard length, values.count == (values["l"] == nil ? 1 : 2) else { throw .malformed }
        }
        guard let iterations else { throw .malformed }
        return try ForeignPasswordHash(
            .pbkdf2(PBKDF2Parameters(digest: digest, iterations: iterations)),
            salt: bytes(fields[1]), hash: hash)
    }

    /// Reads our own form of a Firebase hash: `$firebase-scrypt$ln=14,r=8,p=1$salt$hash$digest`.
    private static func firebase(_ fields: [String]) throws(Refusal) -> ForeignPasswordHash {
        guard fields.count == 4 else { throw .malformed }
        return try ForeignPasswordHash(
            .firebase(scryptParameters(fields[0]), digest: bytes(fields[3])),
            salt: bytes(fields[1]), hash: bytes(fields[2]))
    }

    /// Reads `name=value` pairs; throws if a name occurs twice.
    private static func parameters(_ text: String) throws(Refusal) -> [String: String] {
        var values: [String: String] = [:]
        for field in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let equals = field.firstIndex(of: "=") else { throw .malformed }
            let value = String(field[field.index(after: equals)...])
            guard values.updateValue(value, forKey: String(field[..<equals])) == nil else {
                throw .malformed
            }
        }
        return values
    }

    private static func only(_ name: String, of text: String) throws(Refusal) -> Int {
        guard let value = try parameters(text)[name].flatMap(number), !text.contains(",") else {
            throw .malformed
        }
        return value
    }

    /// Reads decimal digits without a leading zero. A number too large for `Int` is read as
    /// `Int.max`.
    static func number(_ text: some StringProtocol) -> Int? {
        guard let first = text.utf8.first, text.utf8.allSatisfy({ $0 &- 0x30 <= 9 }),
            first != 0x30 || text.utf8.count == 1
        else { return nil }
        return Int(text) ?? Int.max
    }

    /// Decodes base64 with or without padding. The alphabet may be the standard one, the URL
    /// alphabet, or passlib's alphabet, which has `.` in place of `+`.
    static func bytes(_ text: some StringProtocol) throws(Refusal) -> [UInt8] {
        var body = Substring(text).utf8
        while body.last == UInt8(ascii: "="), text.utf8.count - body.count < 2 {
            body = body.dropLast()
        }
        let url = body.map { byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "."): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: byte
            }
        }
        guard let bytes = Base64URL.decode(url) else { throw .malformed }
        return bytes
    }

    static func hexBytes(_ text: some StringProtocol) throws(Refusal) -> [UInt8] {
        guard let bytes = Hex.decode(text) else { throw .malformed }
        return bytes
    }
}

/// The bounds of a foreign hash. An upper bound keeps one sign-in from occupying a core or much
/// memory for long; a lower bound refuses weak hashes. security.md lists the bounds for operators.
enum ForeignHashBounds {
    static let bcryptCosts = 4...14
    static let sha512cryptRounds = 1000...1_000_000
    static let sha512cryptDefault = 5000
    /// The memory of an argon2 hash, in KiB. With less memory, it would be too cheap to guess the
    /// password.
    static let argon2Kibibytes = 512...256 * 1024
    /// The cost of an argon2 hash, in KiB times passes. More lanes do not raise the cost, because
    /// the lanes run one after another and divide the memory among themselves.
    static let argon2Work = 512...10 * 256 * 1024
    static let argon2Lanes = 1...64
    /// The memory of an scrypt hash, in bytes: N · r · 128.
    static let scryptMemory = 1 << 20...64 << 20
    static let scryptLanes = 1...16
    /// The cost of an scrypt hash, in bytes: N · r · p · 128.
    static let scryptWork = 1 << 20...256 << 20
    /// The number of iterations. The upper bound applies to the iterations of all blocks of a hash
    /// together, because each block costs the full number of iterations.
    static let pbkdf2Iterations = 1000...2_000_000
    /// The fewest bytes of a Firebase signer key; Firebase's own keys have 64. An attacker could
    /// guess a shorter key, because the stored digest shows whether a guess is right.
    static let leastSignerKey = 32

    private static let saltLengths = 8...64
    private static let hashLengths = 16...128

    /// Throws if the length of the salt or of the hash, in bytes, is out of bounds.
    static func check(
        salt: [UInt8], hash: [UInt8]
    ) throws(ForeignPasswordHash.Refusal) {
        guard salt.count <= saltLengths.upperBound, hash.count <= hashLengths.upperBound else {
            throw .malformed
        }
        guard saltLengths.contains(salt.count), hashLengths.contains(hash.count) else {
            throw .tooWeak
        }
    }

    static func check(
        _ value: Int, _ bounds: ClosedRange<Int>
    ) throws(ForeignPasswordHash.Refusal) {
        guard value >= bounds.lowerBound else { throw .tooWeak }
        guard value <= bounds.upperBound else { throw .tooCostly }
    }
}

/// Multiplies two numbers; returns `Int.max` on overflow.
private func multiplied(_ one: Int, _ other: Int) -> Int {
    let (product, isOver) = one.multipliedReportingOverflow(by: other)
    return isOver ? Int.max : product
}

extension ForeignPasswordHash {
    /// Whether the hash is within the tight bounds, which `GATEHOUSE_IMPORTED_HASHES=tight` sets.
    /// The tight bounds allow between a tenth and a half of the cost that the standard bounds
    /// allow.
    package var isWithinTightBounds: Bool {
        switch function {
        case .bcrypt: return Libcrypt.cost(ofBcrypt: text) <= 12
        case .sha512crypt: return Libcrypt.rounds(ofSHA512: text) <= 200_000
        case .argon2(let parameters):
            return parameters.kibibytes <= 64 * 1024 && parameters.work <= 4 * 64 * 1024
        case .scrypt(let parameters), .firebase(let parameters, _):
            return parameters.memory <= 32 << 20 && parameters.work <= 32 << 20
        case .pbkdf2(let parameters):
            let blocks = (hash.count + parameters.digest.length - 1) / parameters.digest.length
            return multiplied(parameters.iterations, blocks) <= 1_000_000
        }
    }
}

/// Parameters of argon2i or argon2id (RFC 9106).
struct Argon2Parameters: Sendable, Equatable {
    /// Whether the function is argon2id; otherwise it is argon2i.
    var isHybrid: Bool
    /// The version number: 19 means version 1.3, and 16 means version 1.0.
    var version: Int
    var kibibytes: Int
    var passes: Int
    var lanes: Int

    /// The cost of a hash, in KiB times passes.
    var work: Int { multiplied(kibibytes, passes) }

    var name: String { isHybrid ? "argon2id" : "argon2i" }

    func check() throws(ForeignPasswordHash.Refusal) {
        guard version == 19 || version == 16, passes >= 1, lanes >= 1 else { throw .malformed }
        try ForeignHashBounds.check(lanes, ForeignHashBounds.argon2Lanes)
        try ForeignHashBounds.check(kibibytes, ForeignHashBounds.argon2Kibibytes)
        try ForeignHashBounds.check(work, ForeignHashBounds.argon2Work)
        // RFC 9106, section 3.1, requires at least 8 KiB for each lane.
        guard kibibytes >= 8 * lanes else { throw .malformed }
    }
}

/// Parameters of scrypt (RFC 7914).
struct ScryptParameters: Sendable, Equatable {
    /// The logarithm of N to base 2.
    var log: Int
    var blocks: Int
    var lanes: Int

    var text: String { "ln=\(log),r=\(blocks),p=\(lanes)" }

    /// The memory that one hash needs, in bytes; `Int.max` if the parameters are out of range.
    var memory: Int {
        guard (1...40).contains(log), (1...1 << 16).contains(blocks) else { return Int.max }
        return (blocks * 128) << log
    }

    /// The cost of a hash: the bytes that all its lanes write.
    var work: Int { multiplied(memory, lanes) }

    func check() throws(ForeignPasswordHash.Refusal) {
        guard log >= 1, blocks >= 1, lanes >= 1 else { throw .malformed }
        try ForeignHashBounds.check(lanes, ForeignHashBounds.scryptLanes)
        try ForeignHashBounds.check(memory, ForeignHashBounds.scryptMemory)
        try ForeignHashBounds.check(work, ForeignHashBounds.scryptWork)
        // RFC 7914, section 2: N is less than 2^(128 * r / 8).
        guard log < 16 * blocks else { throw .malformed }
    }

    /// Makes the parameters from `cost`, which is N itself; `nil` unless N is a power of two above
    /// 1.
    init?(cost: Int, blocks: Int, lanes: Int) {
        guard cost > 1, cost & (cost - 1) == 0 else { return nil }
        self.init(log: cost.trailingZeroBitCount, blocks: blocks, lanes: lanes)
    }

    init(log: Int, blocks: Int, lanes: Int) {
        self.log = log
        self.blocks = blocks
        self.lanes = lanes
    }
}

/// Parameters of PBKDF2 (RFC 8018) with HMAC.
struct PBKDF2Parameters: Sendable, Equatable {
    enum Digest: String, Sendable {
        case sha1, sha256, sha512

        /// The length in bytes of the digest's output.
        var length: Int {
            switch self {
            case .sha1: 20
            case .sha256: 32
            case .sha512: 64
            }
        }
    }

    var digest: Digest
    var iterations: Int

    /// Throws if the iterations are out of bounds. `hash` is the length of the hash in bytes.
    func check(hash: Int) throws(ForeignPasswordHash.Refusal) {
        let (total, isOver) = iterations.multipliedReportingOverflow(
            by: (hash + digest.length - 1) / digest.length)
        try ForeignHashBounds.check(iterations, ForeignHashBounds.pbkdf2Iterations)
        guard !isOver, total <= ForeignHashBounds.pbkdf2Iterations.upperBound else {
            throw .tooCostly
        }
    }
}
