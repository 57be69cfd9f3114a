import Postgres

/// A user's password and PIN as PHC strings; read only to check them.
package struct UserSecrets: Sendable {
    package var passwordHash: String?
    package var pinHash: String?
    /// An operator chose the password, so the user has to choose another.
    package var mustChangePassword: Bool

    /// Directly after `UserRow.columns`.
    static let columns: SQL = "users.password_hash, users.pin_hash, users.must_change_password"
    static let start = UserRow.end
    static let end = start + 3

    init(_ row: Row) throws(PostgresError) {
        passwordHash = try row.get(Self.start)
        pinHash = try row.get(Self.start + 1)
        mustChangePassword = try row.get(Self.start + 2)
    }
}
