import Domain
import Postgres

/// The set-up: the first owner is created with a token that the server logs once.
extension Database {
    /// Uses this token for the set-up. False if there is an operator already: it is closed.
    package func openSetup(tokenHash: [UInt8]) async throws(PostgresError) -> Bool {
        let rows = try await app.query(
            """
            INSERT INTO setup AS s (single, token_hash)
            SELECT true, \(tokenHash) WHERE NOT EXISTS (SELECT 1 FROM operators)
            ON CONFLICT (single) DO UPDATE SET token_hash = excluded.token_hash
                WHERE s.completed_at IS NULL
            RETURNING single
            """)
        return rows.first != nil
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
