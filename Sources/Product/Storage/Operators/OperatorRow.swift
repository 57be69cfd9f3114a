import Domain
import Postgres
import Text

/// An operator as stored. The password's hash is read only to check it.
package struct OperatorRow: ListedRow {
    /// Unique across tenants.
    package var id: UUID
    /// As written by the person.
    package var email: String
    /// The normalised address; unique in one scope, and among confirmed operators.
    package var emailKey: String
    /// nil: no name is known.
    package var name: String?
    package var role: Operator.Role
    /// nil: an operator of the platform.
    package var tenant: UUID?
    package var status: Operator.Status
    /// Increases with each change; the ETag is made of it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// nil: never signed in.
    package var lastSignInAt: Timestamp?
    /// The mailbox is proved, or the platform created the row: such a row owns the address.
    package var isConfirmed: Bool

    static let columns: SQL =
        """
        o.id, o.email, o.email_key, o.name, o.role, o.tenant_id, o.status, o.version, o.created_at,
        o.updated_at, o.last_sign_in_at, o.confirmed
        """
    static let columnCount = 12

    init(_ row: Row) throws(PostgresError) {
        id = try row.get(0)
        email = try row.get(1)
        emailKey = try row.get(2)
        name = try row.get(3)
        role = try row.get(4)
        tenant = try row.get(5)
        status = try row.get(6)
        version = try row.get(7)
        createdAt = try row.get(8)
        updatedAt = try row.get(9)
        lastSignInAt = try row.get(10)
        isConfirmed = try row.get(11)
    }
}
