import Cryptography
import Domain
import Postgres

/// The set-up: the first owner is created with a token that the server logs.
extension Database {
    /// What a start finds of the set-up.
    package enum OpenSetup: Sendable {
        /// There is an operator, or was.
        case closed
        case token(String)
        /// A link is good that only who made it knows.
        case hidden
    }

    /// The token of the set-up: the one that an earlier start showed, which stays good, or a new one.
    package func openSetup() async throws -> OpenSetup {
        try await storeSetup(RandomBytes.make(32), "DO NOTHING")
        let rows = try await app.query(
            """
            SELECT salt, token_hash FROM setup
            WHERE completed_at IS NULL AND NOT EXISTS (SELECT 1 FROM operators)
            """)
        guard let row = rows.first else { return .closed }
        let (salt, hash): ([UInt8]?, [UInt8]?) = try row.columns()
        // Under another key another token follows from it.
        guard let salt, TokenSecret.hash(setupToken(salt)) == hash else { return .hidden }
        return .token(setupToken(salt))
    }

    /// A new token in the place of an earlier one; nil if there is an operator already.
    package func renewSetup() async throws(PostgresError) -> String? {
        let salt = RandomBytes.make(32)
        let rows = try await storeSetup(
            salt,
            """
            DO UPDATE SET token_hash = excluded.token_hash, salt = excluded.salt
                WHERE s.completed_at IS NULL
            """)
        return rows.first == nil ? nil : setupToken(salt)
    }

    @discardableResult
    private func storeSetup(_ salt: [UInt8], _ conflict: SQL) async throws(PostgresError) -> Rows {
        try await app.query(
            """
            INSERT INTO setup AS s (single, token_hash, salt)
            SELECT true, \(TokenSecret.hash(setupToken(salt))), \(salt)
            WHERE NOT EXISTS (SELECT 1 FROM operators)
            ON CONFLICT (single) \(conflict)
            RETURNING single
            """)
    }

    /// Only who has the server's key can tell it.
    private func setupToken(_ salt: [UInt8]) -> String {
        Base64URL.encode(SHA256.authenticate(Array("set-up".utf8) + salt, key: directoryKey))
    }

    package enum SetupState: Sendable {
        case closed, wrongToken, open
    }

    /// Whether the set-up is open, and the token right; uses nothing up.
    package func setupState(tokenHash: [UInt8]) async throws(PostgresError) -> SetupState {
        let rows = try await app.read(Self.setupQuery(tokenHash, locking: false))
        return try Self.setupState(rows)
    }

    /// Creates the first owner and closes the set-up in one transaction; nil if it is closed.
    package func completeSetup(
        tokenHash: [UInt8], email: String, emailKey: String, name: String, passwordHash: String,
        by actor: Actor
    ) async throws -> OperatorRow? {
        try await platformScope.change(by: actor) { change in
            let rows = try await change.query(Self.setupQuery(tokenHash, locking: true))
            guard case .open = try Self.setupState(rows) else { return nil }
            try await change.query(
                "UPDATE setup SET token_hash = NULL, completed_at = \(change.now) WHERE single")
            return try await change.insertOperator(
                email: email, emailKey: emailKey, name: name, role: .owner, tenant: nil,
                passwordHash: passwordHash, isConfirmed: true)
        }
    }

    private static func setupQuery(_ tokenHash: [UInt8], locking: Bool) -> SQL {
        let sql: SQL =
            """
            SELECT completed_at IS NULL AND token_hash IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM operators),
                coalesce(token_hash = \(tokenHash), false)
            FROM setup WHERE single
            """
        return locking ? "\(sql) FOR UPDATE" : sql
    }

    private static func setupState(_ rows: Rows) throws(PostgresError) -> SetupState {
        guard let row = rows.first, try row.get(0, as: Bool.self) else { return .closed }
        return try row.get(1, as: Bool.self) ? .open : .wrongToken
    }
}
