import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A policy with another rule for inactivity is published only after a dry run of the same policy
/// against the same version.
extension PolicyRow {
    /// Seconds for which a dry run counts.
    package static let trialSeconds: Int64 = 3600

    /// Whether publishing `wanted` needs a dry run: the rule is another, and not off.
    package func needsTrial(_ wanted: TenantPolicy) -> Bool {
        wanted.inactivity != policy.inactivity && !wanted.inactivity.isOff
    }
}

extension TenantPolicy {
    fileprivate var digest: [UInt8] { SHA256.hash(document.encoded()) }
}

extension TenantScope {
    /// Notes that this policy was tried against this version; the last dry run counts alone.
    package func noteTrial(of wanted: TenantPolicy, against version: Int) async throws {
        _ = try await write(
            """
            INSERT INTO policy_trials (tenant_id, content, version, expires_at)
            VALUES (\(tenant), \(wanted.digest), \(version),
                \(database.clock().adding(seconds: PolicyRow.trialSeconds)))
            ON CONFLICT (tenant_id) DO UPDATE SET content = excluded.content,
                version = excluded.version, expires_at = excluded.expires_at
            """)
    }
}

extension Change {
    /// Whether this policy was tried against this version.
    package func wasTried(
        _ wanted: TenantPolicy, against version: Int
    ) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT 1 FROM policy_trials WHERE tenant_id = \(tenant)
                AND content = \(wanted.digest) AND version = \(version) AND expires_at > \(now)
            """)
        return !rows.isEmpty
    }
}
