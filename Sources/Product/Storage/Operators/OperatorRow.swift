import Domain
import Postgres
import Text

/// An operator as stored. The password's hash is read only to check it.
package struct OperatorRow: ListedRow {
    package var id: UUID
    package var email: String
    /// The normalised address; unique in one scope, and among confirmed operators.
    package var emailKey: String
    package var name: String?
    package var role: Operator.Role
    package var tenant: UUID?
    /// Its name, where it is shown; see `named`. Not stored here.
    package var tenantName: String?
    package var status: Operator.Status
    /// Increases with each change; the ETag is made of it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var lastSignInAt: Timestamp?
    /// The mailbox is proved, or the platform created the row: such a row owns the address.
    package var isConfirmed: Bool
    /// Increases with each change of what the operator signs in with; see `requireProof`.
    package var proofVersion: Int
    /// What the operator can prove to be present by.
    package var factors: OperatorFactors
    /// As stored; see `secondFactorDue`.
    private var dueAt: Timestamp?

    static let columns: SQL =
        """
        o.id, o.email, o.email_key, o.name, o.role, o.tenant_id, o.status, o.version, o.created_at,
        o.updated_at, o.last_sign_in_at, o.confirmed, o.proof_version,
        o.second_factor_due_at,
        \(OperatorFactors.columns)
        """
    static let columnCount = 14 + OperatorFactors.columnCount

    init(_ row: Row) throws(PostgresError) {
        factors = OperatorFactors()
        (
            id, email, emailKey, name, role, tenant, status, version, createdAt, updatedAt,
            lastSignInAt, isConfirmed, proofVersion, dueAt, factors.hasPassword,
            factors.passkeys, factors.unusablePasskeys, factors.totp, factors.isAppDisowned,
            factors.recoveryCodesLeft, factors.providerKind
        ) = try row.columns()
    }

    /// From then on the operator cannot go without a second factor; nil: has one, or may.
    package var secondFactorDue: Timestamp? { factors.hasSecondFactor ? nil : dueAt }
}
