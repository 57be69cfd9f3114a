import CArgon2
import CCommonPasswords
import Runtime
import Text

/// Why a password could not be checked or hashed.
package enum PasswordFault: Error, Sendable, Equatable {
    /// The queue is full. The caller gets 429 and may retry.
    case busy
    /// The stored text is not an argon2id PHC string within the bounds.
    case badHash
    case libraryFailed
}

/// Hashes passwords with argon2id (RFC 9106) on its own threads. The input of argon2id is the HMAC
/// of the password under the pepper, a key that is not in the database. The HMAC has 32 bytes and
/// depends on every byte of the password, however long it is. The stored string names the secret
/// key from which the pepper is derived.
package final class PasswordHasher: Sendable {
    /// The result of checking a password against a stored hash.
    package struct Verdict: Sendable, Equatable {
        package var matches: Bool
        /// Whether the password matches but must be hashed again, because its hash is foreign, has
        /// another pepper than new hashes, or has weaker parameters.
        package var needsRehash: Bool
        /// Whether only the first 72 bytes of the password were checked. The new hash must then
        /// cover only these bytes too, because the bytes after them may differ from those of the
        /// original password.
        package var isCut: Bool

        package init(matches: Bool, needsRehash: Bool, isCut: Bool = false) {
            self.matches = matches
            self.needsRehash = needsRehash
            self.isCut = isCut
        }
    }

    /// Parameters of argon2id (RFC 9106, section 3.1).
    package struct Cost: Sendable, Equatable {
        /// Memory of one hash in KiB.
        var kibibytes: UInt32
        var passes: UInt32
        var lanes: UInt32

        /// Makes the parameters for new hashes. They must not exceed `most`, because `verify`
        /// refuses a stored hash whose cost exceeds `most`.
        package init(kibibytes: UInt32, passes: UInt32, lanes: UInt32) {
            self.kibibytes = kibibytes
            self.passes = passes
            self.lanes = lanes
        }

        /// The cost of new hashes: 19 MiB, two passes, one lane.
        static let standard = Cost(kibibytes: 19 * 1024, passes: 2, lanes: 1)
        /// The highest cost that a stored hash may demand.
        static let most = Cost(kibibytes: 256 * 1024, passes: 16, lanes: 8)
    }

    /// How many hashes may wait for a thread. When the queue is full, a call throws `busy`.
    static let queueLimit = 64
    private static let saltLength = 16
    private static let hashLength = 32

    private let pool: WorkerPool
    private let peppers: DerivedKeys
    private let cost: Cost
    private let dummy: String
    let foreign: ForeignHashQueue

    /// Makes a hasher that computes at most `threads` hashes at once. The peppers are derived from
    /// `secrets`.
    package init(
        secrets: SecretKeys, threads: Int, queueLimit: Int = PasswordHasher.queueLimit,
        cost: Cost = .standard
    ) {
        pool = WorkerPool(threads: threads, queueLimit: queueLimit)
        peppers = secrets.derive("password pepper")
        self.cost = cost
        dummy = Self.dummyHash(cost: cost)
        foreign = ForeignHashQueue(threads: threads)
    }

    /// Returns a PHC string: `$argon2id$v=19$m=19456,t=2,p=1,keyid=…$salt$hash`. With `isCut`, the
    /// hash covers only the first 72 bytes of the password, and the string says so (`cut=72`). Pass
    /// `isCut` from the password's `Verdict`.
    package func hash(
        _ password: [UInt8], isCut: Bool = false
    ) async throws(PasswordFault) -> String {
        let id = peppers.secrets.sealing.id
        let peppered = SHA256.authenticate(
            PasswordHash.counted(password, isCut: isCut), key: peppers[id] ?? [])
        let cost = cost
        let encoded = try await run { Self.hash(peppered, cost: cost) }
        return PasswordHash.naming(id, in: encoded, isCut: isCut)
    }

    /// Checks a password against a hash of our own kind. A hash under an unknown pepper matches no
    /// password. A foreign hash throws `badHash`.
    package func verify(
        _ password: [UInt8], against phc: String
    ) async throws(PasswordFault) -> Verdict {
        guard let stored = PasswordHash(phc) else { throw .badHash }
        guard let pepper = peppers[stored.pepper] else {
            try await verifyUnknown(password)
            return Verdict(matches: false, needsRehash: false)
        }
        let matches = try await matches(
            PasswordHash.counted(password, isCut: stored.isCut), pepper, stored.encoded)
        return Verdict(
            matches: matches, needsRehash: matches && needsRehash(stored), isCut: stored.isCut)
    }

    /// Checks the password of a tenant's user against a hash that may be foreign. If a foreign hash
    /// matches, the verdict asks for a hash of our own kind. If it does not match, a check of our
    /// own kind runs as well. So, however cheap the foreign hash is, checking a wrong password
    /// takes at least as long as for any other user, and about as long as checking the right one.
    package func verify(
        _ password: [UInt8], against text: String, ofUserIn tenant: UUID
    ) async throws(PasswordFault) -> Verdict {
        guard let hash = ForeignPasswordHash(stored: text) else {
            return try await verify(password, against: text)
        }
        if hash.mayBe(of: password), try await foreign.matches(password, hash, in: tenant) {
            return Verdict(matches: true, needsRehash: true, isCut: hash.isCut(password))
        }
        try await verifyUnknown(password)
        return Verdict(matches: false, needsRehash: false)
    }

    /// Takes as long as the check of a real user's password. A sign-in as an unknown user calls
    /// this function, so that timing does not reveal whether the user exists.
    package func verifyUnknown(_ password: [UInt8]) async throws(PasswordFault) {
        _ = try await matches(password, peppers.sealing, dummy)
    }

    /// Whether the hash must be replaced. A text that is not a hash of our own kind must always be
    /// replaced.
    package func needsRehash(_ phc: String) -> Bool {
        PasswordHash(phc).map { needsRehash($0) } ?? true
    }

    private func needsRehash(_ stored: PasswordHash) -> Bool {
        stored.cost.kibibytes < cost.kibibytes || stored.cost.passes < cost.passes
            || stored.cost.lanes < cost.lanes || stored.pepper != peppers.secrets.sealing.id
    }

    private func matches(
        _ password: [UInt8], _ pepper: [UInt8], _ encoded: String
    ) async throws(PasswordFault) -> Bool {
        let peppered = SHA256.authenticate(password, key: pepper)
        return try await run { Self.matches(peppered, encoded) }
    }

    private func run<T: Sendable>(
        _ work: @escaping @Sendable () -> Result<T, PasswordFault>
    ) async throws(PasswordFault) -> T {
        guard let result = await pool.run(work) else { throw .busy }
        return try result.get()
    }

    private static func hash(_ input: [UInt8], cost: Cost) -> Result<String, PasswordFault> {
        let salt = RandomBytes.make(saltLength)
        let length = argon2_encodedlen(
            cost.passes, cost.kibibytes, cost.lanes, UInt32(saltLength), UInt32(hashLength),
            Argon2_id)
        var encoded = [CChar](repeating: 0, count: length)
        let status = argon2id_hash_encoded(
            cost.passes, cost.kibibytes, cost.lanes, input, input.count, salt, salt.count,
            hashLength, &encoded, encoded.count)
        guard status == ARGON2_OK.rawValue else { return .failure(.libraryFailed) }
        let bytes = encoded.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return .success(String(decoding: bytes, as: UTF8.self))
    }

    private static func matches(_ input: [UInt8], _ phc: String) -> Result<Bool, PasswordFault> {
        switch argon2id_verify(phc, input, input.count) {
        case ARGON2_OK.rawValue: .success(true)
        case ARGON2_VERIFY_MISMATCH.rawValue: .success(false)
        case ARGON2_MEMORY_ALLOCATION_ERROR.rawValue: .failure(.libraryFailed)
        default: .failure(.badHash)
        }
    }

    /// Returns a hash that no password matches, made of random bytes. Checking it costs as much as
    /// checking a real one.
    private static func dummyHash(cost: Cost) -> String {
        "$argon2id$v=19$m=\(cost.kibibytes),t=\(cost.passes),p=\(cost.lanes)$"
            + PasswordHash.base64(RandomBytes.make(saltLength)) + "$"
            + PasswordHash.base64(RandomBytes.make(hashLength))
    }

}

/// A stored password: an argon2id PHC string of version 1.3 within the cost bounds. Its parameter
/// `keyid`, which libargon2 does not read, names the secret key from which the pepper is derived.
/// If `cut=72` follows, the hash covers only the first 72 bytes of the password, like the bcrypt
/// hash that it replaced.
struct PasswordHash {
    /// The string that libargon2 reads: the stored string without `keyid` and `cut`.
    let encoded: String
    let cost: PasswordHasher.Cost
    /// The name of the secret key from which the pepper is derived (4 bytes).
    let pepper: [UInt8]
    /// Whether the hash covers only the first 72 bytes of a password.
    let isCut: Bool

    /// Reads a stored string. Returns `nil` unless it is an argon2id string with a `keyid` whose
    /// cost is within the bounds.
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

    /// Returns the bytes of a password that its hash covers: all, or the first 72.
    static func counted(_ password: [UInt8], isCut: Bool) -> [UInt8] {
        isCut ? Array(password.prefix(ForeignPasswordHash.longestOfBcrypt)) : password
    }

    /// Returns libargon2's string with the `keyid` of the pepper added, and with `cut=72` if
    /// `isCut`.
    static func naming(_ pepper: [UInt8], in encoded: String, isCut: Bool = false) -> String {
        var fields = encoded.split(separator: "$", omittingEmptySubsequences: false).map(
            String.init)
        fields[3] += keyID(pepper) + (isCut ? "," + cut : "")
        return fields.joined(separator: "$")
    }

    /// Returns the parameter `keyid` for the secret key with this name.
    static func keyID(_ id: [UInt8]) -> String { ",keyid=" + base64(id) }

    /// Encodes bytes as base64 in the standard alphabet without padding, as PHC strings require.
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
    /// The part of a stored password hash that names this key. The pepper of such a hash is derived
    /// from this key.
    package var passwordMark: String { PasswordHash.keyID(id) }
}

/// A list of the most frequently guessed passwords (NIST SP 800-63B section 3.1.1.2).
package enum CommonPasswords {
    /// Whether a password is on the list; the case of ASCII letters does not matter. All entries
    /// have 8 or more bytes.
    package static func contains(_ password: some Sequence<UInt8>) -> Bool {
        let wanted = password.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        let list = UnsafeRawBufferPointer(
            start: common_passwords(), count: Int(common_passwords_length()))
        var low = 0
        var high = list.count
        while low < high {
            let line = Self.line(at: (low + high) / 2, in: list)
            let entry = list[line]
            if entry.elementsEqual(wanted) { return true }
            if entry.lexicographicallyPrecedes(wanted) {
                low = line.upperBound + 1
            } else {
                high = line.lowerBound
            }
        }
        return false
    }

    /// Returns the range of the line that contains an offset, without its newline.
    private static func line(at offset: Int, in list: UnsafeRawBufferPointer) -> Range<Int> {
        var start = offset
        while start > 0, list[start - 1] != 0x0A { start -= 1 }
        var end = start
        while end < list.count, list[end] != 0x0A { end += 1 }
        return start..<end
    }
}
