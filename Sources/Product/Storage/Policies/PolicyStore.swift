import Cryptography
import Domain
import JSON
import Postgres
import Text

/// A published version of a policy, with its author and time.
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
    /// The policy that currently applies.
    package func policy() async throws -> PolicyRow {
        try await read(PolicyRow.current(tenant)).onlyPolicy()
    }

    /// The published policies, the newest first. If there are more than `limit`, returns one more
    /// than `limit`.
    package func policyVersions(limit: Int, before version: Int?) async throws -> [PolicyRow] {
        let rows = try await read(
            """
            SELECT \(PolicyRow.columns) FROM policies p
            WHERE p.tenant_id = \(tenant) AND p.version < \(version ?? Int(Int32.max))
            ORDER BY p.version DESC LIMIT \(limit + 1)
            """)
        return try rows.map(PolicyRow.init)
    }

    /// The number of published policies, which is the newest version, since versions count from 1
    /// without gaps.
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
    /// The policy that currently applies. It cannot be replaced until this transaction ends.
    func policy() async throws -> PolicyRow {
        try await query(PolicyRow.current(tenant) + " FOR SHARE OF t").onlyPolicy()
    }

    /// Locks the tenant and returns the policy that currently applies, which cannot change until
    /// this transaction ends.
    package func lockPolicy() async throws -> PolicyRow {
        _ = try await lockTenant()
        return try await policy()
    }

    /// Publishes a policy as the next version after `current`, which `lockPolicy` returned. If the
    /// policy is identical to `current`, nothing changes.
    package func publish(_ wanted: TenantPolicy, after current: PolicyRow) async throws -> PolicyRow
    {
        var policy = wanted
        policy.version = current.policy.version
        if policy == current.policy {
            alreadyApplied()
            return current
        }
        policy.version += 1
        // A changed inactivity rule counts inactivity from now on.
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
            UPDATE tenants SET policy_version = \(Int(policy.version)),
                version = version + 1, updated_at = \(now),
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
            // Addresses of persons must not get into the audit trail, so the audit trail gets only
            // the number of blocked addresses.
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

/// A policy as stored in `policies.document`: the members that `/v1` shows, except `version`. A
/// member that is absent gets the default of a new tenant, so that documents from older servers can
/// still be read.
extension TenantPolicy {
    package init(document: JSONValue, version: Int) {
        self.init()
        self.version = Int64(version)
        if let text = document["sign_up"]?.string, let value = SignUp(rawValue: text) {
            signUp = value
        }
        if let text = document["default_role"]?.string, let value = UserRole(rawValue: text) {
            defaultRole = min(value, .manager)
        }
        if let text = document["auto_link"]?.string, let value = AutoLink(rawValue: text) {
            autoLink = value
        }
        if let items = document["scope_catalogue"]?.array {
            scopeCatalogue = items.compactMap(\.string)
        }
        if let items = document["allowed_domains"]?.array {
            allowedDomains = items.compactMap(\.string)
        }
        devOrigins = document["dev_origins"]?.bool ?? devOrigins
        privateNetwork = document["private_network"]?.bool ?? privateNetwork
        externalInvites = document["external_invites"]?.bool ?? externalInvites
        inviteEmailMustMatch = document["invite_email_must_match"]?.bool ?? inviteEmailMustMatch
        passwordMin = max(document["password_min"]?.int ?? passwordMin, Self.passwordFloor)
        passwordBlocklist = document["password_blocklist"]?.bool ?? passwordBlocklist
        blockDisposable = document["block_disposable"]?.bool ?? blockDisposable
        blockedDomains = (document["blocked_domains"]?.array ?? []).compactMap(\.string)
        blockedEmails = (document["blocked_emails"]?.array ?? []).compactMap(\.string)
        invitesPendingMax = document["invites_pending_max"]?.int ?? invitesPendingMax
        invitesPerInviterHour = document["invites_per_inviter_hour"]?.int ?? invitesPerInviterHour
        invitesPerRecipientDay =
            document["invites_per_recipient_day"]?.int ?? invitesPerRecipientDay
        inactivity = InactivityRule(document: document["inactivity"])
    }

    package var document: JSONValue {
        .object([
            .init("sign_up", .string(signUp.rawValue)),
            .init("default_role", .string(defaultRole.rawValue)),
            .init("scope_catalogue", .array(scopeCatalogue.map { .string($0) })),
            .init("dev_origins", .bool(devOrigins)),
            .init("private_network", .bool(privateNetwork)),
            .init("allowed_domains", .array(allowedDomains.map { .string($0) })),
            .init("external_invites", .bool(externalInvites)),
            .init("invite_email_must_match", .bool(inviteEmailMustMatch)),
            .init("auto_link", .string(autoLink.rawValue)),
            .init("password_min", .int(passwordMin)),
            .init("password_blocklist", .bool(passwordBlocklist)),
            .init("block_disposable", .bool(blockDisposable)),
            .init("blocked_domains", .array(blockedDomains.map { .string($0) })),
            .init("blocked_emails", .array(blockedEmails.map { .string($0) })),
            .init("invites_pending_max", .int(invitesPendingMax)),
            .init("invites_per_inviter_hour", .int(invitesPerInviterHour)),
            .init("invites_per_recipient_day", .int(invitesPerRecipientDay)),
            .init("inactivity", inactivity.document),
        ])
    }
}

extension InactivityRule {
    /// Creates the rule from its document. A step whose number of days is null or absent is never
    /// taken.
    package init(document: JSONValue?) {
        self.init(
            warnDays: document?["warn_days"]?.int, suspendDays: document?["suspend_days"]?.int,
            deleteDays: document?["delete_days"]?.int)
    }

    /// The rule as in `/v1`: each step with its number of days, or null.
    package var document: JSONValue {
        .object(
            Step.allCases.map { step in
                .init("\(step.rawValue)_days", self[step].map { .int($0) } ?? .null)
            })
    }
}

/// Dry runs of the inactivity rule. A policy that changes the rule, except to turn it off, can be
/// published only after a dry run of exactly this policy. The current policy must not have changed
/// since the dry run.
extension PolicyRow {
    /// Seconds for which a dry run is valid.
    static let trialSeconds: Int64 = 3600

    /// Whether publishing `wanted` requires a dry run, because its inactivity rule differs and is
    /// not off.
    package func needsTrial(_ wanted: TenantPolicy) -> Bool {
        wanted.inactivity != policy.inactivity && !wanted.inactivity.isOff
    }
}

extension TenantPolicy {
    fileprivate var digest: [UInt8] { SHA256.hash(document.encoded()) }
}

extension TenantScope {
    /// Records that this policy had a dry run while `version` was the current version. Only the
    /// last dry run counts.
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
    /// Whether this policy recently had a dry run while `version` was the current version.
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
