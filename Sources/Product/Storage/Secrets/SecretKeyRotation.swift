import Cryptography
import Postgres
import Text

/// The rotation from one secret key to the next. Each step can be repeated, so a command that was
/// killed can simply be run again.
extension Database {
    /// How many sealed values, or users, are written anew in one transaction.
    static let rotationBatch = 200

    /// Switches the encryption of new values to the current key; does nothing if it was switched
    /// already. Throws if a running replica does not know both keys.
    package func switchSecrets() async throws {
        guard let previous = secrets.previous else { throw SecretKeyFault.noPrevious }
        try await app.transaction { transaction in
            // No replica can register while this row is locked.
            let rows = try await transaction.query(
                "SELECT id FROM secret_keys WHERE seals FOR UPDATE")
            guard try rows.first?.get(0, as: [UInt8].self) == previous.id else { return }
            let both = [secrets.current.id, previous.id]
            let lacking = try await transaction.query(
                "\(Self.holders("count(*)")) AND NOT keys @> \(both)")
            let count: Int = try lacking.only { (row) throws(PostgresError) in try row.get(0) }
            guard count == 0 else { throw SecretKeyFault.heldByTooFew(replicas: count) }
            _ = try await transaction.query(
                "UPDATE secret_keys SET seals = false WHERE id = \(previous.id)")
            try await writeCanary(transaction, of: secrets.current, seals: true)
        }
    }

    /// Whether every running replica encrypts with the current key. A request that began earlier
    /// may still write with the previous key until it ends.
    package func secretsAreFollowed() async throws -> Bool {
        guard try await followSecrets(replica: nil) else { return false }
        let others = try await app.query(
            "\(Self.holders("count(*)")) AND sealing <> \(secrets.current.id)")
        return try others.only { (row) throws(PostgresError) in try row.get(0, as: Int.self) } == 0
    }

    /// The number of replicas that are running or were seen within the last minute.
    package func secretHolders() async throws -> Int {
        try await app.query(Self.holders("count(*)")).only {
            (row) throws(PostgresError) in try row.get(0)
        }
    }

    /// Encrypts anew every value that was encrypted with a key other than the current one. Reports
    /// to `progress` how many values of each kind are done.
    package func resealAll(
        _ progress: @Sendable (SealedColumnKind, Int) -> Void = { _, _ in }
    ) async throws {
        for kind in SealedColumnKind.allCases {
            while true {
                let entries = try await app.query(
                    kind.entries(not: [secrets.current.id], most: Self.rotationBatch)
                ).map(SealedColumnKind.Entry.init)
                if entries.isEmpty { break }
                try await app.transaction { transaction in
                    for entry in entries {
                        let plain = try kind.open(entry, in: self)
                        let sealed = try kind.seal(plain, entry, in: self)
                        _ = try await transaction.query(kind.replace(entry, by: sealed))
                    }
                }
                progress(kind, entries.count)
            }
        }
    }

    /// Writes every user of every tenant into the directory under the current key, and deletes the
    /// entries under other keys.
    package func rebuildDirectory(
        _ progress: @Sendable (_ people: Int) -> Void = { _ in }
    ) async throws {
        let tenants = try await platform.query("SELECT id FROM tenants ORDER BY id")
        for row in tenants {
            let scope = scope(try row.get(0))
            try await scope.writePeople(progress)
            _ = try await scope.write("SELECT directory_keep_people(\([secrets.current.id]))")
        }
    }

    /// Deletes the previous key from the database. Whatever still depends on that key expires by
    /// itself.
    package func finishRotation() async throws {
        _ = try await app.query(
            "DELETE FROM secret_keys WHERE NOT seals AND id <> \(secrets.current.id)")
    }

    private static func holders(_ columns: SQL) -> SQL {
        """
        SELECT \(columns) FROM secret_key_holders AS holder
        WHERE (seen_at > clock_timestamp() - \(Int(holderSeconds)) * interval '1 second'
            OR EXISTS (SELECT FROM replicas WHERE id = holder.replica
                AND lease_until > clock_timestamp()))
        """
    }
}

extension TenantScope {
    fileprivate func writePeople(_ progress: @Sendable (Int) -> Void) async throws {
        var last = UUID.platform
        while true {
            let rows = try await read(
                """
                SELECT id, email_key FROM users
                WHERE tenant_id = \(tenant) AND id > \(last)\(SQL.everyID)
                ORDER BY id LIMIT \(Database.rotationBatch)
                """)
            guard !rows.isEmpty else { break }
            var keys: [[UInt8]] = []
            for row in rows {
                last = try row.get(0)
                keys.append(database.personKey(emailKey: try row.get(1)))
            }
            let users = try rows.all { row throws(PostgresError) in try row.get(0, as: UUID.self) }
            keys += try await identityKeys(of: users)
            keys += try await formerAddressKeys(of: users)
            _ = try await write("SELECT directory_add_people(\(keys))")
            progress(rows.count)
        }
    }

    /// The directory keys of the users' former addresses, by which they can still be found.
    private func formerAddressKeys(of users: [UUID]) async throws -> [[UInt8]] {
        try await read(
            """
            SELECT email_key FROM former_addresses
            WHERE tenant_id = \(tenant) AND user_id = ANY (\(users))
            """
        ).map { row throws(PostgresError) in database.personKey(emailKey: try row.get(0)) }
    }

    private func identityKeys(of users: [UUID]) async throws -> [[UInt8]] {
        try await read(
            """
            SELECT provider, issuer, subject FROM identities
            WHERE tenant_id = \(tenant) AND user_id = ANY (\(users))
            """
        ).map { row throws(PostgresError) in
            database.personKey(
                provider: try row.get(0), issuer: try row.get(1), subject: try row.get(2))
        }
    }
}

/// Why the secret key in the settings cannot be used with this database.
package enum SecretKeyFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The database was encrypted with another key. The value lists what was encrypted with that
    /// key.
    case foreign([String])
    /// Some running replicas do not know both keys.
    case heldByTooFew(replicas: Int)
    /// Some running replicas still encrypt with the previous key.
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

/// Finds out with which secret key this database is encrypted. The canary, a known value that is
/// encrypted with the key, proves which key it is.
extension Database {
    private static let canary = Array("gatehouse canary".utf8)
    /// Seconds for which a replica counts as running after it was last seen.
    static let holderSeconds: Int64 = 60

    private var canarySealer: Sealer { Sealer(secrets.derive("canary")) }

    /// Finds the key that encrypts new values. Throws `SecretKeyFault.foreign` if that key is
    /// neither of this process's keys. If there is no canary yet, first checks that nothing is
    /// encrypted with another key, and then writes the canary. `replica` is the id under which this
    /// process is registered as running; nil if this process ends soon.
    package func admitSecrets(replica: UUID?) async throws {
        if try await followSecrets(replica: replica) { return }
        let foreign = try await foreignPlaces()
        guard foreign.isEmpty else { throw SecretKeyFault.foreign(foreign) }
        try await app.transaction { try await writeCanary($0, of: secrets.sealing, seals: true) }
        guard try await followSecrets(replica: replica) else { throw StorageFailure.unavailable }
    }

    /// Reads which key encrypts new values, and uses it from now on. Returns false if no key has
    /// been used with this database yet.
    package func followSecrets(replica: UUID?) async throws -> Bool {
        try await app.transaction { transaction -> Bool in
            // The row stays locked until this replica is registered, so a rotation of the key waits
            // for the registration.
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

    /// Removes the registration of a replica that is shutting down.
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

    /// What is encrypted with a key that this process does not have: kinds of sealed values, the
    /// canary, or the directory.
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

/// One kind of data that still depends on a secret key, and how many values of this kind do so.
package struct SecretKeyRemains: Sendable, Equatable {
    package var name: String
    package var count: Int
    /// Whether the dependence ends without a further command, because the data expires or is
    /// renewed at the user's next sign-in.
    package var endsByItself: Bool

    package init(name: String, count: Int, endsByItself: Bool) {
        self.name = name
        self.count = count
        self.endsByItself = endsByItself
    }
}

extension Database {
    /// The maximum number of users that are counted.
    private static let mostPeople: Int64 = 10_000

    /// Everything that still depends on a key; empty if the key is no longer needed.
    package func remains(of key: SecretKeys.Key) async throws -> [SecretKeyRemains] {
        var found: [SecretKeyRemains] = []
        func add(_ name: String, _ rows: Rows, endsByItself: Bool) throws(PostgresError) {
            let count = try rows.first?.get(0, as: Int.self) ?? 0
            if count > 0 {
                found.append(SecretKeyRemains(name: name, count: count, endsByItself: endsByItself))
            }
        }
        for kind in SealedColumnKind.allCases {
            try add(
                kind.rawValue, try await app.read(kind.count(under: key.id)), endsByItself: false)
        }
        try add(
            "people in the directory",
            try await app.read("SELECT directory_people_under(\(key.id), \(Self.mostPeople))"),
            endsByItself: false)
        for (name, statement) in Self.ending(key) {
            try add(name, try await app.read(statement), endsByItself: true)
        }
        try add(
            "passwords and PINs",
            try await platform.read(
                """
                SELECT count(*) FROM users
                WHERE strpos(password_hash, \(key.passwordMark)) > 0
                    OR strpos(pin_hash, \(key.passwordMark)) > 0
                """), endsByItself: true)
        return found
    }

    private static func ending(_ key: SecretKeys.Key) -> [(String, SQL)] {
        func count(_ table: SQL, _ condition: SQL) -> SQL {
            "SELECT count(*) FROM \(table) WHERE \(condition)"
        }
        return [
            (
                "passwords of operators",
                count("operators", "strpos(password_hash, \(key.passwordMark)) > 0")
            ),
            ("begun sign-ins", count("login_states", "substring(secrets FOR 4) = \(key.id)")),
            (
                "stored responses",
                count(
                    "idempotency",
                    "substring(answer FOR 1) = '\\x01' AND substring(answer FROM 2 FOR 4) = \(key.id)"
                )
            ),
            ("marks of purged users", count("tombstones", "substring(key FOR 4) = \(key.id)")),
            ("open choices", count("pending_choices", "substring(identity FOR 4) = \(key.id)")),
        ]
    }

    /// Deletes the values that none of this process's keys can decrypt, and writes the canary and
    /// the directory anew. What was deleted must be entered or created again.
    package func forgetSecrets(
        _ progress: @Sendable (_ people: Int) -> Void = { _ in }
    ) async throws {
        let ids = secrets.all.map(\.id)
        for kind in SealedColumnKind.allCases { _ = try await app.query(kind.forget(except: ids)) }
        try await app.transaction { transaction in
            _ = try await transaction.query("DELETE FROM secret_keys")
            _ = secrets.seal(with: secrets.current.id)
            try await writeCanary(transaction, of: secrets.current, seals: true)
        }
        try await rebuildDirectory(progress)
    }
}
