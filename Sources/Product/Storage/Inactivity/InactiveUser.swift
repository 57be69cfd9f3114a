import Domain
import JSON
import Postgres
import Text

/// A user to whom the tenant's inactivity rule may apply.
package struct InactiveUser: Sendable {
    package var id: UUID
    package var facts: InactivityFacts
}

/// The result of scanning the next users of a tenant, in the order of their ids.
package struct InactivityPage: Sendable {
    /// The users to whom the rule may apply.
    package var users: [InactiveUser]
    /// The id of the last scanned user; `nil` if no user is left to scan.
    package var end: UUID?
}

/// The inactivity rule of the policy in force, and the time from which it counts.
package struct StandingInactivity: Sendable {
    package var rule: InactivityRule
    package var since: Timestamp

    /// Returns a time in the past. The rule requires no action for users who were active after it.
    package func latest(at now: Timestamp) -> Timestamp { rule.latest(at: now) }
}

extension InactivityRule {
    /// Returns a time in the past. The rule requires no action for users who were active after it.
    package func latest(at now: Timestamp) -> Timestamp {
        now.adding(seconds: -Int64(leastDays ?? Self.days.upperBound) * 86_400)
    }
}

/// The SQL that finds inactive users. It reads sessions and keys only if the user's own row does
/// not settle the matter.
enum InactivityReading {
    /// Selects the next users after the id `after`, in the order of their ids. It reads row by row:
    /// without statistics of the table, PostgreSQL would read and sort the whole tenant for one
    /// page.
    static func page(
        of tenant: UUID, after: UUID?, limit: Int, activeUntil latest: Timestamp
    ) -> SQL {
        "WITH RECURSIVE page AS ((\(next(of: tenant, "\(after ?? .platform)", place: "1"))) "
            + "UNION ALL SELECT following.* FROM page p CROSS JOIN LATERAL ("
            + next(of: tenant, "p.id", place: "p.place + 1")
            + ") AS following WHERE p.place < \(limit)) " + select(of: tenant, latest, "page")
    }

    private static func next(of tenant: UUID, _ last: SQL, place: SQL) -> SQL {
        """
        SELECT \(columns), \(place) AS place FROM users
        WHERE tenant_id = \(tenant) AND id > \(last) ORDER BY id LIMIT 1
        """
    }

    static func one(_ id: UUID, of tenant: UUID, activeUntil latest: Timestamp) -> SQL {
        select(
            of: tenant, latest,
            "(SELECT \(columns) FROM users WHERE tenant_id = \(tenant) AND id = \(id)) AS page")
    }

    private static let columns: SQL =
        "id, status, version, role, keep, created_at, last_sign_in_at, resumed_at"

    /// Selects for each user the time of last activity. It is NULL for users to whom the rule does
    /// not apply: admins, users who are exempt, users who are neither active nor suspended by the
    /// rule, and those whose own row shows later activity.
    private static func select(of tenant: UUID, _ latest: Timestamp, _ rows: SQL) -> SQL {
        """
        SELECT u.id, CASE WHEN u.is_open AND (u.status = 'active' OR i.suspended_version = u.version)
                THEN greatest(u.active_at,
                    (SELECT max(s.last_seen_at) FROM sessions s
                        WHERE s.tenant_id = \(tenant) AND s.user_id = u.id),
                    (SELECT e.used_at FROM user_uses e
                        WHERE e.tenant_id = \(tenant) AND e.user_id = u.id),
                    (SELECT max(greatest(k.last_used_at, k.previous_last_used_at)) FROM api_keys k
                        WHERE k.tenant_id = \(tenant) AND k.owner_user_id = u.id)) END,
            i.warned_at, i.by_mail, CASE WHEN u.status = 'suspended' THEN i.suspended_at END
        FROM (SELECT id, status, version,
                greatest(created_at, last_sign_in_at, resumed_at) AS active_at,
                role <> 'admin' AND NOT keep AND status IN ('active', 'suspended')
                    AND greatest(created_at, last_sign_in_at, resumed_at) <= \(latest) AS is_open
            FROM \(rows) OFFSET 0) AS u
        LEFT JOIN LATERAL (SELECT * FROM inactive_users
            WHERE tenant_id = \(tenant) AND user_id = u.id OFFSET 0) AS i ON u.is_open
        ORDER BY u.id
        """
    }

    static func standing(_ tenant: UUID) -> SQL {
        """
        SELECT p.document::text, t.inactivity_since FROM policies p
        JOIN tenants t ON t.id = \(tenant) AND p.version = t.policy_version
        WHERE p.tenant_id = \(tenant) AND t.inactivity_since IS NOT NULL
        """
    }
}

extension Rows {
    func inactiveUsers() throws(PostgresError) -> [InactiveUser] {
        var found: [InactiveUser] = []
        for row in self {
            guard let activeAt = try row.get(1, as: Timestamp?.self) else { continue }
            let facts = InactivityFacts(
                activeAt: activeAt, warnedAt: try row.get(2),
                wasMailed: try row.get(3, as: Bool?.self) ?? false, suspendedAt: try row.get(4))
            found.append(InactiveUser(id: try row.get(0), facts: facts))
        }
        return found
    }

    func inactivityPage(_ limit: Int) throws(PostgresError) -> InactivityPage {
        let end: UUID? = count < limit ? nil : try self[count - 1].get(0)
        return InactivityPage(users: try inactiveUsers(), end: end)
    }

    func standingInactivity() throws(PostgresError) -> StandingInactivity? {
        guard let row = first else { return nil }
        let rule = InactivityRule(document: try row.json(0)["inactivity"])
        return rule.isOff ? nil : StandingInactivity(rule: rule, since: try row.get(1))
    }
}
