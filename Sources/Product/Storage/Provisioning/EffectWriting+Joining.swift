import Domain
import Postgres
import Text

extension EffectWriting {
    /// Takes a place for the user who was just let in. One statement decides who of many that come at
    /// once has the last: without a place all runs again, and the rules refuse.
    func use(joinLink link: UUID) async throws {
        guard let userID else { throw ProvisioningRace() }
        let tenant = change.tenant
        let taken = try await change.query(
            """
            UPDATE join_links SET uses = uses + 1, version = version + 1, updated_at = \(change.now)
            WHERE tenant_id = \(tenant) AND id = \(link) AND uses < max_uses
                AND revoked_at IS NULL AND expires_at > \(change.now)
            RETURNING uses
            """)
        guard taken.count == 1 else { throw ProvisioningRace() }
        change.queryLater(
            """
            UPDATE users SET source = \(User.Source.joinLink), join_link_id = \(link)
            WHERE tenant_id = \(tenant) AND id = \(userID)
            """)
        var changes = AuditChanges()
        changes.add("user", nil, userID.description)
        try await change.audit(
            .joinLinkUsed, AuditTarget("join_link", link, link.description), changes)
    }
}
