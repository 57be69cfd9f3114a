import Cryptography
import Postgres

/// What still depends on a certain secret key.
package struct SecretKeyRemains: Sendable, Equatable {
    package var name: String
    package var count: Int
    /// Whether it ends without a further command: by expiry or at the user's next sign-in.
    package var endsByItself: Bool

    package init(name: String, count: Int, endsByItself: Bool) {
        self.name = name
        self.count = count
        self.endsByItself = endsByItself
    }
}

extension Database {
    /// Users are counted up to this many.
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

    /// Deletes what none of our keys opens, and rewrites the canary and the directory. What is
    /// deleted has to be entered or created again.
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
