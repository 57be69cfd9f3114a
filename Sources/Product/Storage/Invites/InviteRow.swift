import Domain
import Postgres
import Text

/// An invite as stored; of the token only a hash.
package struct InviteRow: ListedRow {
    package var id: UUID
    package var tenantID: UUID
    package var email: String
    /// The normalised address; one pending invite for each.
    package var emailKey: String
    package var role: UserRole
    /// The inviter's text in the mail; nil: none.
    package var message: String?
    /// mail or link.
    package var delivery: String
    /// pending, accepted or revoked: `expired` follows from the time.
    var stored: String
    /// The pending row that was made for the invite; nil: none.
    package var userID: UUID?
    /// The actor's type, such as `operator` or `key`.
    package var inviterType: String
    /// The actor's id as text.
    package var inviterID: String
    /// The actor's name when the invite was made.
    package var inviterName: String
    package var sentCount: Int
    /// Exclusive.
    package var expiresAt: Timestamp
    package var acceptedAt: Timestamp?
    /// The user that the acceptance led to; nil unless accepted.
    package var acceptedUserID: UUID?
    /// Increases with each change; the ETag is made of it.
    package var version: Int
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// What the user who accepts it gets.
    package var externalID: String?
    /// Where the acceptance page leads in the end; nil: nowhere.
    package var returnTo: String?
    /// The mail that the status is about; nil: none, or one of before there were states.
    package var mailID: UUID?
    /// As `Invite.DeliveryStatus`; nil for an invite by link.
    package var deliveryStatus: String?
    /// The mail server's words of a refusal, a bounce or a delay.
    package var deliveryDetail: String?
    /// What the user who accepts it gets, merged into their own.
    package var attributes: AttributePair
    /// Whether the private attributes are kept from the one who asks.
    package var hidesPrivate = false

    static let columns: SQL =
        """
        id, tenant_id, email, email_key, role, message, delivery, status, user_id, inviter_type,
        inviter_id, inviter_name, sent_count, expires_at, accepted_at, accepted_user_id, version,
        created_at, updated_at, external_id, return_to, mail_id, delivery_status, delivery_detail,
        public_attributes, private_attributes
        """

    init(_ row: Row) throws(PostgresError) {
        let (shown, kept): (String, String)
        (
            id, tenantID, email, emailKey, role, message, delivery, stored, userID, inviterType,
            inviterID, inviterName, sentCount, expiresAt, acceptedAt, acceptedUserID, version,
            createdAt, updatedAt, externalID, returnTo, mailID, deliveryStatus, deliveryDetail,
            shown, kept
        ) = try row.columns()
        attributes = AttributePair(public: shown, private: kept)
    }

    /// Expiry is exclusive: at `expiresAt` itself the invite is no longer live.
    package func status(at now: Timestamp) -> Invite.Status {
        switch stored {
        case "accepted": .accepted
        case "revoked": .revoked
        default: now < expiresAt ? .pending : .expired
        }
    }

    /// The cursor's value: the email key, or `created_at` in microseconds since 1970.
    package func value(of sort: ListQuery.Sort) -> String {
        sort == .email ? emailKey : "\(createdAt.microseconds)"
    }

    var target: AuditTarget { AuditTarget("invite", id, email) }
}
