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
    /// Only keys that work now and had a scope that leads to an admin before that was asked of who
    /// gives it: the ids of the operators who may give one. Nil: all keys.
    package var givenBeforeBut: [String]?
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

    /// Whether every key passes, but for the text.
    var isWide: Bool {
        status == nil && owner == nil && environment == nil && endsWithin == nil
            && givenBeforeBut == nil
    }

    static func ending(within days: Int, at now: Timestamp) -> SQL {
        let end = now.adding(seconds: Int64(days) * 86_400)
        return """
             AND revoked_at IS NULL AND owner_deleted_at IS NULL AND expires_at > \(now)
                AND expires_at <= \(end)
            """
    }

    /// Those that are bound all the same, and those that one gave who does not cover an admin or
    /// is gone. `covering`: the ids of operators who do, and of the command line.
    static func givenBefore(but covering: [String], at now: Timestamp) -> SQL {
        func overlaps(_ scopes: [ManagementScope]) -> SQL {
            let list = scopes.map(\.rawValue).joined(separator: ",")
            return "scopes && '{\(raw: list)}'::text[]"
        }
        let leading = ManagementScope.allCases.filter(\.isAdminEquivalent)
        return """
             AND given_before AND revoked_at IS NULL AND \(overlaps(leading))
                AND owner_deleted_at IS NULL AND (expires_at IS NULL OR expires_at > \(now))
                AND (created_by_type IN ('key', 'user')
                    OR created_by_type = 'operator' AND created_by_id <> ALL (\(covering)::text[])
                    OR \(overlaps(leading.filter { !$0.mayBeBound }))
                        AND (allowed_ips <> '{}' OR allowed_origins <> '{}' OR rate_limit IS NOT NULL))
            """
    }

    func condition(at now: Timestamp) -> SQL {
        var sql: SQL = ""
        if let owner { sql += " AND owner_user_id = \(owner)" }
        if let environment { sql += " AND environment = \(environment)" }
        if let endsWithin { sql += Self.ending(within: endsWithin, at: now) }
        if let givenBeforeBut { sql += Self.givenBefore(but: givenBeforeBut, at: now) }
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
