import Domain
import JSON
import Postgres
import Text

/// A recorded decision; `tenantID` nil if no tenant was found.
package struct DecisionRow: ListedRow {
    package var id: UUID
    /// When the decision was made; lists sort by it.
    package var createdAt: Timestamp
    package var outcome: String
    /// A `Reason` raw value; nil unless refused.
    package var reason: String?
    /// Six characters that the person was shown.
    package var reference: String
    /// As written by the person; nil if missing or malformed.
    package var email: String?
    /// A `ProviderKind` raw value.
    package var provider: String
    /// Of a pool: its id, with `/upstream` for an unmapped upstream.
    package var issuer: String
    package var subject: String
    package var tenantID: UUID?
    /// Only in lists and of a single decision; nil without a tenant, or if it is gone.
    package var tenantName: String?
    /// Of the registered provider that the call meant, where `tenantName` is; nil: none.
    package var providerName: String?
    /// The user found or created; nil: none.
    package var userID: UUID?
    /// The invite that was used or refused; nil: none.
    package var inviteID: UUID?
    /// The tenant's policy that the rules read; nil without a tenant.
    package var policyVersion: Int?
    /// `[{rule, result, detail, about}]`, as `Verdict.traceDocument` writes it.
    package var trace: JSONValue
    /// From the transaction's start to the recording.
    package var durationMilliseconds: Double
    package var requestID: String?
    /// A tenant's part of a decision without a tenant: without subject, issuer and duration.
    package var isPart: Bool
    /// What would have admitted; nil: not computed.
    package var wouldAdmit: [NearestYes]?

    /// `tenant` nil: across tenants, for the platform.
    static func columns(of tenant: UUID?) -> SQL {
        let scope: SQL = tenant.map { "\($0)" } ?? "decisions.tenant_id"
        return """
            id, created_at, outcome, reason, reference, email, provider, issuer, subject, tenant_id,
            coalesce((SELECT merged.user_id FROM merged_users merged
                WHERE merged.tenant_id = \(scope) AND merged.id = decisions.user_id), user_id),
            invite_id, policy_version, trace::text, duration_ms, request_id,
            part IS NOT NULL
            """
    }

    init(_ row: Row) throws(PostgresError) {
        id = try row.get(0)
        createdAt = try row.get(1)
        outcome = try row.get(2)
        reason = try row.get(3, as: String?.self)
        reference = try row.get(4)
        email = try row.get(5, as: String?.self)
        provider = try row.get(6)
        issuer = try row.get(7)
        subject = try row.get(8)
        let tenant: UUID = try row.get(9)
        tenantID = tenant == .platform ? nil : tenant
        userID = try row.get(10, as: UUID?.self)
        inviteID = try row.get(11, as: UUID?.self)
        policyVersion = try row.get(12, as: Int?.self)
        trace = try row.json(13)
        durationMilliseconds = try row.get(14)
        requestID = try row.get(15, as: String?.self)
        isPart = try row.get(16)
    }
}

extension DecisionRow {
    static func list(of tenant: UUID?, _ filter: DecisionFilter) -> ListStatement {
        // For all tenants: the condition of the index over all rows. Nearly all of them have no `part`, of which
        // PostgreSQL would expect few before it has counted the table, and then sort all for one page.
        let condition: SQL =
            tenant.map { "tenant_id = \($0)" } ?? "num_nulls(part) > 0 AND created_at > '-infinity'"
        return ListStatement(
            columns: columns(of: tenant), source: "decisions WHERE \(condition)\(filter.condition)",
            isWide: tenant != nil && filter.isWide)
    }
}
