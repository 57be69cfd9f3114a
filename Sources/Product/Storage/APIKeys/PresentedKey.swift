import Domain
import Postgres
import Text

/// A key found by its secret, with the states that can refuse it. A class, since the cache hands it
/// to every request: a copy of its parts would cost more than the verdict.
package final class PresentedKey: Sendable {
    package let tenant: UUID
    /// Stays the same when the secret rotates.
    package let id: UUID
    package let environment: String
    /// The secret is the one before the last rotation.
    package let isPrevious: Bool
    /// End of the old secret's grace, exclusive; nil: none.
    package let previousUntil: Timestamp?
    /// Management scopes and the tenant's own catalogue.
    package let scopes: [String]
    package let ownerType: String
    package let ownerUser: UUID?
    package let rateLimit: Int?
    /// The key whose count of uses the limit is checked against: its own, or its creator's.
    package let limitKey: UUID
    /// Addresses and CIDR blocks; empty: from everywhere.
    package let allowedIPs: [String]
    /// Origin patterns; empty: from every page.
    package let allowedOrigins: [String]
    package let expiresAt: Timestamp?
    package let revokedAt: Timestamp?
    /// Nil: the platform's key.
    package let tenantStatus: Tenant.Status?
    /// Nil if no user owns it, or if the user does not exist.
    package let userStatus: User.Status?
    package let userRole: UserRole?
    /// Of the user who owns it; nil if none does.
    package let attributes: Attributes?
    /// The id that the tenant's own system gives the key's user; nil if it gives none.
    package let externalID: String?
    package let name: String

    /// A row of `KeyLookUp`; `owner`: the row of the user who owns it.
    init(_ row: Row, of holder: KeyHolder, isPrevious: Bool, owner: Row?) throws(PostgresError) {
        tenant = holder.tenant
        tenantStatus = holder.status
        self.isPrevious = isPrevious
        id = try row.get(0)
        environment = try row.get(1)
        previousUntil = try row.get(2)
        scopes = try row.get(3)
        ownerType = try row.get(4)
        ownerUser = try row.get(KeyLookUp.ownerColumn)
        rateLimit = try row.get(6)
        limitKey = try row.get(12, as: UUID?.self) ?? id
        allowedIPs = try row.get(7)
        allowedOrigins = try row.get(8)
        expiresAt = try row.get(9)
        revokedAt = try row.get(10)
        name = try row.get(11)
        userStatus = try owner.map { row throws(PostgresError) in try row.get(0) }
        userRole = try owner.map { row throws(PostgresError) in try row.get(1) }
        attributes = try owner.map { row throws(PostgresError) in
            Attributes(stored: try row.get(2))
        }
        externalID = try owner.flatMap { row throws(PostgresError) in
            try row.get(3, as: String?.self)
        }
    }
}
