import Domain
import JSON
import Postgres
import Text

/// A published policy, its author and its time.
package struct PolicyRow: Sendable {
    package var policy: TenantPolicy
    package var createdBy: String
    package var createdAt: Timestamp

    static let columns: SQL = "p.version, p.document::text, p.created_by, p.created_at"

    init(_ row: Row) throws {
        let text: String = try row.get(1)
        policy = TenantPolicy(
            document: try JSONValue(parsing: Array(text.utf8)), version: try row.get(0))
        createdBy = try row.get(2)
        createdAt = try row.get(3)
    }

    package var version: Int { Int(policy.version) }
}

extension TenantScope {
    /// The policy in force.
    package func policy() async throws -> PolicyRow {
        try await read(PolicyRow.current(tenant)).onlyPolicy()
    }

    /// Every published policy, the newest first; one more than `limit` if more follow.
    package func policyVersions(limit: Int, before version: Int?) async throws -> [PolicyRow] {
        let rows = try await read(
            """
            SELECT \(PolicyRow.columns) FROM policies p
            WHERE p.tenant_id = \(tenant) AND p.version < \(version ?? Int(Int32.max))
            ORDER BY p.version DESC LIMIT \(limit + 1)
            """)
        return try rows.map(PolicyRow.init)
    }

    /// Their number: versions count from 1 without gaps.
    package func policyVersionCount() async throws -> Int { try await policy().version }
}

extension Rows {
    fileprivate func onlyPolicy() throws -> PolicyRow {
        guard let row = first else { throw StorageFailure.notFound("tenant") }
        return try PolicyRow(row)
    }
}

extension PolicyRow {
    static func current(_ tenant: UUID) -> SQL {
        """
        SELECT \(columns) FROM policies p JOIN tenants t ON t.id = p.tenant_id
        WHERE p.tenant_id = \(tenant) AND p.version = t.policy_version
        """
    }
}

extension Change {
    /// The policy in force, which cannot be replaced until this transaction ends.
    package func policy() async throws -> PolicyRow {
        try await query(PolicyRow.current(tenant) + " FOR SHARE OF t").onlyPolicy()
    }

    /// Locks the tenant, so that the policy in force stays until this transaction ends.
    package func lockPolicy() async throws -> PolicyRow {
        _ = try await lockTenant()
        return try await policy()
    }

    /// Publishes a policy after the one locked. Publishing an identical one changes nothing.
    package func publish(_ wanted: TenantPolicy, after current: PolicyRow) async throws -> PolicyRow
    {
        var policy = wanted
        policy.version = current.policy.version
        if policy == current.policy {
            alreadyApplied()
            return current
        }
        policy.version += 1
        // Another rule counts from now on.
        let isOff = policy.inactivity.isOff
        let isSame = policy.inactivity == current.policy.inactivity
        try await query(
            """
            INSERT INTO policies (tenant_id, version, document, created_by, created_at)
            VALUES (\(tenant), \(Int(policy.version)), \(JSONB(policy.document)),
                \(actor.name), \(now))
            """)
        try await query(
            """
            UPDATE tenants SET policy_version = \(Int(policy.version)), updated_at = \(now),
                inactivity_since = CASE WHEN \(isOff) THEN NULL WHEN \(isSame) THEN inactivity_since
                    ELSE \(now) END
            WHERE id = \(tenant)
            """)
        let changes = Self.changes(from: current.policy.document, to: policy.document)
        try await audit(.policyUpdated, AuditTarget("policy", tenant, "policy"), changes)
        return try await self.policy()
    }

    private static func changes(from before: JSONValue, to after: JSONValue) -> AuditChanges {
        var changes = AuditChanges()
        for member in after.members ?? [] {
            // The log holds no address of a person: how many are blocked is enough.
            let holdsAddresses = sameBytes(member.name, "blocked_emails")
            let (old, new) = (before[member.name] ?? .null, member.value)
            guard old != new else { continue }
            changes.add(
                member.name, holdsAddresses ? number(of: old) : old,
                holdsAddresses ? number(of: new, after: old) : new)
        }
        return changes
    }

    private static func number(of list: JSONValue, after old: JSONValue? = nil) -> JSONValue {
        let count = list.array?.count ?? 0
        let others = old?.array?.count == count ? "other " : ""
        return .string("\(count) \(others)address\(count == 1 ? "" : "es")")
    }
}
