import Postgres
import Text

/// Replaces the hash of a password or PIN by a hash with the current parameters and pepper. `old`
/// is the hash that the caller read before. If another hash is stored by now, nothing changes.
extension Change {
    package func rehashPassword(
        _ hash: String, of user: UUID, from old: String
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE users SET password_hash = \(hash)
            WHERE tenant_id = \(tenant) AND id = \(user) AND password_hash = \(old)
            """)
    }

    package func rehashPin(
        _ hash: String, of user: UUID, from old: String
    ) async throws(PostgresError) {
        try await query(
            """
            UPDATE users SET pin_hash = \(hash)
            WHERE tenant_id = \(tenant) AND id = \(user) AND pin_hash = \(old)
            """)
    }
}

extension Database {
    package func rehashPassword(
        _ hash: String, ofOperator id: UUID, from old: String
    ) async throws(PostgresError) {
        _ = try await app.query(
            "UPDATE operators SET password_hash = \(hash) WHERE id = \(id) AND password_hash = \(old)"
        )
    }
}
