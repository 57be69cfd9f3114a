import Domain
import Postgres
import Text

/// The filters of a list of keys.
package struct APIKeyFilter: Sendable {
    package var status: APIKey.Status?
    package var owner: UUID?
    package var environment: String?
    /// Only keys that work now and end within so many days.
    package var endsWithin: Int?
    /// Part of the name; under three characters the prefix of a word of it. Searched first.
    package var text: String?

    package init(
        status: APIKey.Status? = nil, owner: UUID? = nil, environment: String? = nil,
        text: String? = nil
    ) {
        self.status = status
        self.owner = owner
        self.environment = environment
        self.text = text
    }

    static func ending(within days: Int, at now: Timestamp) -> SQL {
        let end = now.adding(seconds: Int64(days) * 86_400)
        return """
             AND revoked_at IS NULL AND owner_deleted_at IS NULL AND expires_at > \(now)
                AND expires_at <= \(end)
            """
    }

    func condition(at now: Timestamp) -> SQL {
        var sql: SQL = ""
        if let owner { sql += " AND owner_user_id = \(owner)" }
        if let environment { sql += " AND environment = \(environment)" }
        if let endsWithin { sql += Self.ending(within: endsWithin, at: now) }
        guard let status else { return sql }
        if status == .revoked {
            return sql + " AND (revoked_at IS NOT NULL OR owner_deleted_at IS NOT NULL)"
        }
        sql += " AND revoked_at IS NULL AND owner_deleted_at IS NULL"
        if status == .expired { return sql + " AND expires_at <= \(now)" }
        sql += " AND (expires_at IS NULL OR expires_at > \(now))"
        return sql
            + (status == .grace
                ? " AND previous_until > \(now)"
                : " AND (previous_until IS NULL OR previous_until <= \(now))")
    }
}
