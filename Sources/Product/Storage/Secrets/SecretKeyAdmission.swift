import Cryptography
import Postgres
import Text

/// Why the secret key of the settings does not fit this database.
package enum SecretKeyFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database was sealed with another key.
    case foreign([String])
    /// Other replicas run without one of the two keys.
    case heldByTooFew(replicas: Int)
    /// Replicas still seal with the previous key.
    case notFollowed
    case noPrevious

    package var description: String {
        switch self {
        case .foreign(let kinds):
            "GATEHOUSE_SECRET_KEY is not the key of this database: it does not open "
                + "\(kinds.joined(separator: ", ")). Set the key that the database was used with; "
                + "if it is lost, gatehouse secrets forget goes on without what it sealed"
        case .heldByTooFew(let replicas):
            "\(replicas) running replicas do not know both keys: restart each with GATEHOUSE_SECRET_KEY "
                + "and GATEHOUSE_SECRET_KEY_PREVIOUS first (one that was killed counts for a minute)"
        case .notFollowed:
            "a replica still seals with the previous key; run the command again"
        case .noPrevious:
            "GATEHOUSE_SECRET_KEY_PREVIOUS is missing: the key that is to be replaced"
        }
    }
}

/// Which secret key this database is sealed with, read from the canary.
extension Database {
    private static let canary = Array("gatehouse canary".utf8)
    /// Seconds for which a replica counts as running after it was last seen.
    static let holderSeconds: Int64 = 60

    private var canarySealer: Sealer { Sealer(secrets.derive("canary")) }

    /// Finds the key with which new texts are sealed; throws `SecretKeyFault.foreign` if it is
    /// neither of ours. The first replica writes the canary, after it has opened a value of every
    /// kind that exists. `replica`: the process that goes on running with these keys.
    package func admitSecrets(replica: UUID?) async throws {
        if try await followSecrets(replica: replica) { return }
        let foreign = try await foreignPlaces()
        guard foreign.isEmpty else { throw SecretKeyFault.foreign(foreign) }
        try await app.transaction { try await writeCanary($0, of: secrets.sealing, seals: true) }
        guard try await followSecrets(replica: replica) else { throw StorageFailure.unavailable }
    }

    /// Reads which key seals and uses it. False if no key has been used here yet.
    package func followSecrets(replica: UUID?) async throws -> Bool {
        try await app.transaction { transaction -> Bool in
            // Held until this replica is registered: a rotation of the key waits for it.
            let rows = try await transaction.query(
                "SELECT id, canary FROM secret_keys WHERE seals FOR SHARE")
            guard let row = rows.first else { return false }
            let id: [UInt8] = try row.get(0)
            let sealed: [UInt8] = try row.get(1)
            guard (try? canarySealer.open(sealed, context: id)) == Self.canary,
                secrets.seal(with: id)
            else { throw SecretKeyFault.foreign(["the canary"]) }
            guard let replica else { return true }
            _ = try await transaction.query(
                """
                INSERT INTO secret_key_holders (replica, keys, sealing, seen_at)
                VALUES (\(replica), \(secrets.all.map(\.id)), \(id), clock_timestamp())
                ON CONFLICT (replica) DO UPDATE
                SET keys = excluded.keys, sealing = excluded.sealing, seen_at = excluded.seen_at
                """)
            return true
        }
    }

    /// The process ends.
    package func leaveSecrets(replica: UUID) async {
        _ = try? await app.query("DELETE FROM secret_key_holders WHERE replica = \(replica)")
    }

    func writeCanary(_ transaction: Transaction, of key: SecretKeys.Key, seals: Bool) async throws {
        let sealed = try canarySealer.seal(Self.canary, with: key, context: key.id)
        _ = try await transaction.query(
            """
            INSERT INTO secret_keys (id, canary, seals, created_at)
            VALUES (\(key.id), \(sealed), \(seals), \(clock())) ON CONFLICT DO NOTHING
            """)
    }

    /// The kinds of sealed rows of which our keys open none.
    package func foreignPlaces() async throws -> [String] {
        let ids = secrets.all.map(\.id)
        var foreign: [String] = []
        let canaries = try await app.read("SELECT id FROM secret_keys WHERE seals")
        if let id = try canaries.first?.get(0, as: [UInt8].self), !ids.contains(id) {
            foreign.append("the canary")
        }
        for kind in SealedColumnKind.allCases {
            let others = try await app.read(kind.entries(not: ids, most: 1))
            let ours = try await app.read(kind.entries(not: [], most: 1))
            let opens = try ours.first.map(SealedColumnKind.Entry.init).map { entry in
                (try? kind.open(entry, in: self)) != nil
            }
            if !others.isEmpty || opens == false { foreign.append(kind.rawValue) }
        }
        let people = try await app.read("SELECT directory_people_elsewhere(\(ids))")
        if try people.first?.get(0, as: Bool.self) ?? false { foreign.append("the directory") }
        return foreign
    }
}
