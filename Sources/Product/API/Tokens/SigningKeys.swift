import Cryptography
import Storage
import Synchronization
import Text

/// The keys that sign access tokens, read from the database and cached for a minute. A key signs
/// for 30 days. The next key is published a day before it begins to sign. A key remains published
/// as long as tokens that it signed may be valid.
final class SigningKeys: Sendable {
    private static let signs: Int64 = 30 * 86_400
    private static let overlap: Int64 = 86_400
    private static let longestToken: Int64 = 366 * 86_400
    private static let keptFor: Int64 = 60
    private struct Key: Sendable {
        var row: SigningKeyRow
        var key: SigningKey
        var verifier: VerificationKey
    }

    private let database: Database
    private let given: SigningKey?
    private let kept = Mutex<(keys: [Key], at: Timestamp)?>(nil)

    init(database: Database, given: String?) throws {
        self.database = database
        self.given = try given.map { try SigningKey(pem: $0) }
    }

    /// The current signing key.
    func signer() async throws -> SigningKey {
        let now = database.clock()
        var keys = try await keys(at: now)
        if let given {
            if keys.contains(where: { $0.row.kid == given.thumbprint }) { return given }
            try await database.republishSigningKey(
                given.thumbprint, until: now.adding(seconds: Self.signs + Self.longestToken))
            try await add(given, from: now)
            kept.withLock { $0 = nil }
            return given
        }
        let isDue = { (keys: [Key]) in
            !keys.contains {
                $0.row.signsFrom <= now && now < $0.row.signsUntil
            } || !keys.contains { now.adding(seconds: Self.overlap) < $0.row.signsUntil }
        }
        if isDue(keys) {
            let last = keys.map(\.row.signsUntil).max() ?? now
            try await add(try SigningKey(), from: max(last, now))
            keys = try await read(at: now)
        }
        guard
            let current = keys.first(where: {
                $0.row.signsFrom <= now && now < $0.row.signsUntil
            })
        else { throw StorageFailure.unavailable }
        return current.key
    }

    /// The published key with this id; `nil` if there is none. An unknown id is looked up again in
    /// the database, since another replica may have just begun to sign with that key.
    func verifier(_ kid: String) async throws -> VerificationKey? {
        let now = database.clock()
        func named(_ keys: [Key]) -> VerificationKey? {
            keys.first { $0.row.kid.utf8.elementsEqual(kid.utf8) && now < $0.row.publishedUntil }?
                .verifier
        }
        if let found = named(try await keys(at: now)) { return found }
        return named(try await read(at: now))
    }

    /// The published keys as JWKs, newest first. The first call creates the first key.
    func published() async throws -> [String] {
        _ = try await signer()
        return try await keys(at: database.clock()).map(\.row.publicJWK)
    }

    private func keys(at now: Timestamp) async throws -> [Key] {
        if let found = kept.withLock({ $0 }), now < found.at.adding(seconds: Self.keptFor) {
            return found.keys
        }
        return try await read(at: now)
    }

    private func read(at now: Timestamp) async throws -> [Key] {
        var keys: [Key] = []
        for row in try await database.signingKeys() {
            let pem = try database.signingKeySealer.open(row.sealed, context: Array(row.kid.utf8))
            let key = try SigningKey(pem: String(decoding: pem, as: UTF8.self))
            keys.append(Key(row: row, key: key, verifier: try VerificationKey(x: key.x, y: key.y)))
        }
        let found = keys
        kept.withLock { $0 = (found, now) }
        return keys
    }

    private func add(_ key: SigningKey, from: Timestamp) async throws {
        let kid = key.thumbprint
        let until = from.adding(seconds: Self.signs)
        try await database.addSigningKey(
            SigningKeyRow(
                generation: try await database.newestSigningKey() + 1, kid: kid,
                sealed: try database.signingKeySealer.seal(
                    Array(try key.privatePEM().utf8), context: Array(kid.utf8)),
                publicJWK: key.publicJWK(), signsFrom: from, signsUntil: until,
                publishedUntil: until.adding(seconds: Self.longestToken)))
    }
}
