/// What a foreign hash may cost, so that one sign-in occupies neither a core nor the memory for
/// long, and how weak it may be. security.md lists them for operators.
enum ForeignHashBounds {
    static let bcryptCosts = 4...14
    static let sha512cryptRounds = 1000...1_000_000
    static let sha512cryptDefault = 5000
    /// In KiB; below, a pass is too short to cost anything.
    static let argon2Kibibytes = 512...256 * 1024
    /// KiB times passes: what a hash costs, whose lanes run one after another.
    static let argon2Work = 512...10 * 256 * 1024
    static let argon2Lanes = 1...64
    /// N · r · 128 bytes.
    static let scryptMemory = 1 << 20...64 << 20
    static let scryptLanes = 1...16
    /// N · r · p · 128 bytes: what a hash costs.
    static let scryptWork = 1 << 20...256 << 20
    /// Of all blocks of the hash together, because each costs the iterations again.
    static let pbkdf2Iterations = 1000...2_000_000
    /// Firebase's have 64 bytes. Its digest must not let anyone find a short one by trying.
    static let leastSignerKey = 32

    private static let saltLengths = 8...64
    private static let hashLengths = 16...128

    /// Lengths in bytes.
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

/// `Int.max` if it is more.
private func multiplied(_ one: Int, _ other: Int) -> Int {
    let (product, isOver) = one.multipliedReportingOverflow(by: other)
    return isOver ? Int.max : product
}

extension ForeignPasswordHash {
    /// Whether the hash is within the bounds of `GATEHOUSE_IMPORTED_HASHES=tight`. They allow about a tenth of the
    /// standard cost.
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
    /// argon2id if true, argon2i if false.
    var isHybrid: Bool
    /// 19 is version 1.3; 16 is 1.0.
    var version: Int
    var kibibytes: Int
    var passes: Int
    var lanes: Int

    /// KiB times passes.
    var work: Int { multiplied(kibibytes, passes) }

    var name: String { isHybrid ? "argon2id" : "argon2i" }

    func check() throws(ForeignPasswordHash.Refusal) {
        guard version == 19 || version == 16, passes >= 1, lanes >= 1 else { throw .malformed }
        try ForeignHashBounds.check(lanes, ForeignHashBounds.argon2Lanes)
        try ForeignHashBounds.check(kibibytes, ForeignHashBounds.argon2Kibibytes)
        try ForeignHashBounds.check(work, ForeignHashBounds.argon2Work)
        // RFC 9106, section 3.1.
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

    /// The bytes that one hash needs; `Int.max` if that is no number.
    var memory: Int {
        guard (1...40).contains(log), (1...1 << 16).contains(blocks) else { return Int.max }
        return (blocks * 128) << log
    }

    /// The bytes that one hash writes.
    var work: Int { multiplied(memory, lanes) }

    func check() throws(ForeignPasswordHash.Refusal) {
        guard log >= 1, blocks >= 1, lanes >= 1 else { throw .malformed }
        try ForeignHashBounds.check(lanes, ForeignHashBounds.scryptLanes)
        try ForeignHashBounds.check(memory, ForeignHashBounds.scryptMemory)
        try ForeignHashBounds.check(work, ForeignHashBounds.scryptWork)
        // RFC 7914, section 2: N is less than 2^(128 * r / 8).
        guard log < 16 * blocks else { throw .malformed }
    }

    /// nil if N is no power of two.
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

        /// In bytes.
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

    /// `hash`: its length in bytes.
    func check(hash: Int) throws(ForeignPasswordHash.Refusal) {
        let (total, isOver) = iterations.multipliedReportingOverflow(
            by: (hash + digest.length - 1) / digest.length)
        try ForeignHashBounds.check(iterations, ForeignHashBounds.pbkdf2Iterations)
        guard !isOver, total <= ForeignHashBounds.pbkdf2Iterations.upperBound else {
            throw .tooCostly
        }
    }
}
