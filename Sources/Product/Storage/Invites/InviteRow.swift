import Domain
import Postgres
import Text

/// An invite as stored; of the token only a hash.
package struct InviteRow: ListedRow {
    package var id: UUID
    package var tenantID: UUID
    package var email: String
    package var emailKey: String
    package var role: UserRole
    package var message: String?
    /// mail or link.
    package var delivery: String
    /// pending, accepted or revoked: `expired` follows from the time.
    var stored: String
    package var userID: UUID?
    package var inviterType: String
    package var inviterID: String
    package var inviterName: String
    package var sentCount: Int
    package var expiresAt: Timestamp
    package var acceptedAt: Timestamp?
    package var acceptedUserID: UUID?
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp

    static let columns: SQL =
        """
        id, tenant_id, email, email_key, role, message, delivery, status, user_id, inviter_type,
        inviter_id, inviter_name, sent_count, expires_at, accepted_at, accepted_user_id, version,
        created_at, updated_at
        """

    init(_ row: Row) throws(PostgresError) {
        id = try row.get(0)
        tenantID = try row.get(1)
        email = try row.get(2)
        emailKey = try row.get(3)
        role = try row.get(4)
        message = try row.get(5)
        delivery = try row.get(6)
        stored = try row.get(7)
        userID = try row.get(8)
        inviterType = try row.get(9)
        inviterID = try row.get(10)
        inviterName = try row.get(11)
        sentCount = try row.get(12)
        expiresAt = try row.get(13)
        acceptedAt = try row.get(14)
        acceptedUserID = try row.get(15)
        version = try row.get(16)
        createdAt = try row.get(17)
        updatedAt = try row.get(18)
    }

    /// Expiry is exclusive: at `expiresAt` itself the invite is no longer live.
    package func status(at now: Timestamp) -> Invite.Status {
        switch stored {
        case "accepted": .accepted
        case "revoked": .revoked
        default: now < expiresAt ? .pending : .expired
        }
    }

    package func value(of sort: ListQuery.Sort) -> String {
        sort == .email ? emailKey : "\(createdAt.microseconds)"
    }

    var target: AuditTarget { AuditTarget("invite", id, email) }
}
