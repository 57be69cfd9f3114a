import Domain
import Postgres
import Text

/// What the quotas of a tenant's policy still allow an inviter.
package struct InviteQuotas: Sendable {
    fileprivate var policy: TenantPolicy
    /// How many more invites may be pending, and how many more this inviter may make.
    fileprivate var pendingLeft: Int
    fileprivate var hourlyLeft: Int
    /// When the inviter's quota has room again.
    fileprivate var hourlySeconds: Int64

    /// One more invite was made in this transaction.
    package mutating func use() {
        pendingLeft -= 1
        hourlyLeft -= 1
    }
}

/// The quotas limit what one tenant, and one inviter in it, can make of the service's own mail
/// address; the limits of `MailLimit` stand beside them.
extension Change {
    private static let hour: Int64 = 3600
    private static let day: Int64 = 86_400
    /// When to try again, where no moment is known.
    private static let pendingSeconds: Int64 = 3600

    /// The quotas of the policy in force, for a whole list of invites.
    package func inviteQuotas() async throws -> InviteQuotas {
        try await inviteQuotas(policy().policy)
    }

    func inviteQuotas(_ policy: TenantPolicy) async throws -> InviteQuotas {
        let (pending, made) = (policy.invitesPendingMax, policy.invitesPerInviterHour)
        let since = now.adding(seconds: -Self.hour)
        let own: SQL =
            """
            FROM invites WHERE tenant_id = \(tenant) AND inviter_type = \(actor.type)
                AND inviter_id = \(actor.id) AND created_at > \(since)
            """
        let row = try await query(
            """
            SELECT (SELECT count(*) FROM (SELECT 1 FROM invites WHERE tenant_id = \(tenant)
                    AND status = 'pending' AND expires_at > \(now) LIMIT \(pending)) AS pending),
                (SELECT count(*) FROM (SELECT 1 \(own) LIMIT \(made)) AS made),
                (SELECT min(created_at) \(own))
            """
        ).first
        let first: Timestamp? = try row?.get(2, as: Timestamp?.self)
        return InviteQuotas(
            policy: policy, pendingLeft: pending - (try row?.get(0) ?? 0),
            hourlyLeft: made - (try row?.get(1) ?? 0),
            hourlySeconds: first.map { left(of: Self.hour, since: $0) } ?? Self.hour)
    }

    /// Throws `InviteRefusal.quota` if the address would get one more pending invite than may be. An
    /// address that has one already is not another.
    func requireRoom(_ quotas: InviteQuotas, at emailKey: String) async throws {
        guard quotas.pendingLeft <= 0 || quotas.hourlyLeft <= 0 else { return }
        let own = try await query(
            """
            SELECT 1 FROM invites WHERE tenant_id = \(tenant) AND email_key = \(emailKey)
                AND \(SQL.unindexed("status")) = 'pending' AND expires_at > \(now)
            """)
        guard own.isEmpty else { return }
        let isHourly = quotas.hourlyLeft <= 0
        throw InviteRefusal.quota(
            isHourly ? "invites_per_inviter_hour" : "invites_pending_max",
            limit: isHourly
                ? quotas.policy.invitesPerInviterHour : quotas.policy.invitesPendingMax,
            seconds: isHourly ? quotas.hourlySeconds : Self.pendingSeconds)
    }

    /// Throws `InviteRefusal.quota` if the address was mailed as many invites of this tenant today
    /// as it may be.
    func requireRecipient(
        _ address: String, _ policy: TenantPolicy, _ database: Database
    ) async throws {
        let most = policy.invitesPerRecipientDay
        let rows = try await query(
            """
            SELECT created_at FROM mail WHERE tenant_id = \(tenant)
                AND kind = \(OutgoingMail.Kind.invite.rawValue)
                AND recipient = \(database.recipient(address))
                AND created_at > \(now.adding(seconds: -Self.day))
            ORDER BY created_at DESC OFFSET \(most - 1) LIMIT 1
            """)
        guard let first: Timestamp = try rows.first?.get(0) else { return }
        throw InviteRefusal.quota(
            "invites_per_recipient_day", limit: most, seconds: left(of: Self.day, since: first))
    }

    private func left(of span: Int64, since first: Timestamp) -> Int64 {
        let end = first.adding(seconds: span)
        return max(1, (end.microseconds - now.microseconds + 999_999) / 1_000_000)
    }
}
