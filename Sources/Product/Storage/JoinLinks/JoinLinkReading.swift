import Domain
import Postgres
import Text

/// The token that a page passes on when a sign-in begins there, as its hash.
package enum BroughtToken: Sendable, Equatable {
    case invite([UInt8])
    case join([UInt8])

    var inviteHash: [UInt8]? { if case .invite(let hash) = self { hash } else { nil } }
    var joinHash: [UInt8]? { if case .join(let hash) = self { hash } else { nil } }
}

extension Change {
    /// The join link of a token or of a reservation, without a lock: who takes a place asks again.
    func joinLink(where condition: SQL) async throws(PostgresError) -> JoinLinkFacts? {
        let rows = try await query(
            """
            SELECT \(JoinLinkRow.columns), \(inviterColumns("join_links.maker_type", "join_links.maker_id"))
            FROM join_links WHERE tenant_id = \(tenant) AND \(condition)
            """)
        guard let found = rows.first else { return nil }
        let row = try JoinLinkRow(found)
        let mayInvite =
            switch try await inviter(found, from: JoinLinkRow.end) {
            case .key: true
            case .person(let widest): widest != nil
            }
        return JoinLinkFacts(link: row.link, makerMayInvite: mayInvite)
    }
}

/// A live join link, with its tenant, as its page shows it.
package struct OfferedJoinLink: Sendable {
    package var row: JoinLinkRow
    package var tenant: TenantRow
}

extension Database {
    /// nil for a token that lets no one in: it is unknown, or its link is no longer live. Uses
    /// nothing up.
    package func offeredJoinLink(_ token: String) async throws -> OfferedJoinLink? {
        guard let id = try await tenant(ofToken: token) else { return nil }
        let scope = scope(id)
        let rows = try await scope.read(
            """
            SELECT \(JoinLinkRow.columns) FROM join_links
            WHERE tenant_id = \(id) AND token_hash = \(TenantToken.hash(token))
            """)
        guard let row = try rows.first.map(JoinLinkRow.init),
            row.link.status(at: clock()) == .active,
            let tenant = try await scope.tenantRow(), tenant.status == .active
        else { return nil }
        return OfferedJoinLink(row: row, tenant: tenant)
    }
}
