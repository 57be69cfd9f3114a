import Cryptography
import Postgres
import Text

/// The rotation from one secret key to the next, in steps that can each be repeated: a command that
/// was killed is run again.
extension Database {
    /// How many sealed values, or users, one transaction renews.
    static let rotationBatch = 200

    /// From now on the current key seals. Throws if a running replica does not know both keys. Does
    /// nothing if it was done before.
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

    /// Whether every running replica seals with the current key. A request that began earlier may
    /// still write under the previous one until it ends.
    package func secretsAreFollowed() async throws -> Bool {
        guard try await followSecrets(replica: nil) else { return false }
        let others = try await app.query(
            "\(Self.holders("count(*)")) AND sealing <> \(secrets.current.id)")
        return try others.only { (row) throws(PostgresError) in try row.get(0, as: Int.self) } == 0
    }

    /// How many replicas run now, or were killed within the last minute.
    package func secretHolders() async throws -> Int {
        try await app.query(Self.holders("count(*)")).only {
            (row) throws(PostgresError) in try row.get(0)
        }
    }

    /// Reseals what another key sealed; reports to `progress` how many of each kind.
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

    /// The previous key is no longer needed, except for what expires by itself.
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

    /// Former addresses: a user is still found by these (V7).
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
