import Domain
import JSON
import Postgres
import Text

/// A recorded decision; `tenantID` nil if no tenant was found.
package struct DecisionRow: ListedRow {
    /// Unique across tenants.
    package var id: UUID
    /// When the decision was made; lists sort by it.
    package var createdAt: Timestamp
    /// An `Outcome` raw value.
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
    /// As the provider gave it, byte for byte.
    package var subject: String
    /// nil: no tenant was found.
    package var tenantID: UUID?
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
    /// nil if the actor had no request id.
    package var requestID: String?
    /// A tenant's part of a decision without a tenant: without subject, issuer and duration.
    package var isPart: Bool
    /// What would have admitted; nil: not computed.
    package var wouldAdmit: [NearestYes]?

    static let columns: SQL =
        """
        id, created_at, outcome, reason, reference, email, provider, issuer, subject, tenant_id,
        user_id, invite_id, policy_version, trace::text, duration_ms, request_id,
        part IS NOT NULL
        """

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

/// The filters of a list of decisions.
package struct DecisionFilter: Sendable {
    /// Any of these.
    package var outcomes: [String]?
    /// A `Reason` raw value.
    package var reason: String?
    /// Inclusive.
    package var since: Timestamp?
    /// Exclusive.
    package var until: Timestamp?
    /// The key of an address.
    package var emailKey: String?
    /// The user of the decision.
    package var user: UUID?
    /// The reference that the person was shown.
    package var reference: String?
    /// Part of an address without case, a prefix if it is short; or a whole reference.
    package var text: String?

    /// The other filters start unset.
    package init(
        outcomes: [String]? = nil, reason: String? = nil, emailKey: String? = nil
    ) {
        self.outcomes = outcomes
        self.reason = reason
        self.emailKey = emailKey
    }

    var condition: SQL {
        var sql: SQL = ""
        if let outcomes {
            sql +=
                outcomes.count == 1
                ? " AND outcome = \(outcomes[0])" : " AND outcome = ANY (\(outcomes))"
        }
        if let since { sql += " AND created_at >= \(since)" }
        if let until { sql += " AND created_at < \(until)" }
        if let reason { sql += " AND reason = \(reason)" }
        if let user { sql += " AND user_id = \(user)" }
        if let emailKey { sql += " AND email_key = \(emailKey)" }
        if let reference { sql += " AND reference = \(reference)" }
        if let text {
            let patterns = SearchedText(text).patterns
            sql += """
                 AND CASE WHEN email_key LIKE ANY (\(patterns)) OR reference = \(text)
                    THEN true ELSE false END
                """
        }
        return sql
    }
}

extension DecisionRow {
    static func list(of tenant: UUID?, _ filter: DecisionFilter) -> ListStatement {
        // For all tenants: the condition of the index over all rows.
        let condition: SQL =
            tenant.map { "tenant_id = \($0)" } ?? "part IS NULL AND created_at > '-infinity'"
        return ListStatement(
            columns: columns, source: "decisions WHERE \(condition)\(filter.condition)")
    }
}

extension Database {
    /// `tenant` nil: of all tenants, and those without one, for the platform.
    package func decisions(
        _ list: ListQuery, tenant: UUID?, _ filter: DecisionFilter
    ) async throws(PostgresError) -> ListPage<DecisionRow> {
        try await read(DecisionRow.list(of: tenant, filter).page(list), of: tenant)
            .page(list, DecisionRow.init)
    }

    /// `tenant` nil: of any tenant or of none, for the platform, never a tenant's part.
    package func decision(
        _ id: UUID, tenant: UUID?
    ) async throws(PostgresError) -> DecisionRow? {
        var sql: SQL = "SELECT \(DecisionRow.columns) FROM decisions WHERE "
        sql += tenant.map { "tenant_id = \($0) AND id = \(id)" } ?? "part IS NULL AND id = \(id)"
        return try await read(sql, of: tenant).first.map(DecisionRow.init)
    }

    private func read(_ sql: SQL, of tenant: UUID?) async throws(PostgresError) -> Rows {
        guard let tenant else { return try await platform.read(sql) }
        return try await scope(tenant).read(sql)
    }
}

extension Change {
    func recordDecision(
        _ result: ProvisioningResult, _ named: ResolvedAttempt, policy: Int?,
        since started: ContinuousClock.Instant
    ) async throws(PostgresError) {
        let took = started.duration(to: .now).components
        let milliseconds = Double(took.seconds) * 1000 + Double(took.attoseconds) / 1e15
        let verdict = result.verdict
        let key = named.attempt.identity
        let email = named.attempt.email
        try await query(
            """
            INSERT INTO decisions (tenant_id, id, created_at, outcome, reason, reference, email,
                email_key, provider, issuer, subject, user_id, identity_id, invite_id,
                policy_version, trace, duration_ms, request_id, attempt)
            VALUES (\(tenant), \(result.decisionID), \(now), \(verdict.outcome.rawValue),
                \(verdict.reason?.rawValue), \(result.reference), \(email?.display),
                \(email?.key), \(key.provider.rawValue), \(key.issuer), \(key.subject),
                \(verdict.userID), \(result.identityID), \(verdict.inviteID), \(policy),
                \(JSONB(verdict.traceDocument)), \(milliseconds),
                \(actor.requestID.isEmpty ? nil : actor.requestID), \(JSONB(named.document)))
            """)
    }
}

extension Verdict {
    /// `[{rule, result, detail, about: [{type, id, tenant_id}]}]`.
    package var traceDocument: JSONValue { trace.document }
}

extension [TraceEntry] {
    var document: JSONValue {
        .array(
            map {
                .object([
                    .init("rule", .string($0.rule.rawValue)), .init("result", .string($0.result)),
                    .init("detail", .string($0.detail)),
                    .init("about", .array($0.about.map(\.document))),
                ])
            })
    }
}

extension TraceReference {
    fileprivate var document: JSONValue {
        .object([
            .init("type", .string(kind.rawValue)), .init("id", .string(id.description)),
            .init("tenant_id", tenantID.map { .string($0.description) } ?? .null),
        ])
    }
}
