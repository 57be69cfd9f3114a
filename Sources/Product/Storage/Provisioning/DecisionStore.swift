import Domain
import Postgres
import Text

/// The filters of a list of decisions.
package struct DecisionFilter: Sendable {
    /// Any of these.
    package var outcomes: [String]?
    package var reason: String?
    package var since: Timestamp?
    /// Exclusive.
    package var until: Timestamp?
    /// The key of an address.
    package var emailKey: String?
    /// The user of the decision; those who were merged into it count as it.
    package var user: UUID?
    /// All ids of that user.
    fileprivate var users: [UUID] = []
    /// The reference that the person was shown.
    package var reference: String?
    /// Of the request that was decided, as its answer named it.
    package var requestID: String?
    /// Words that each are part of the address, in any order and without case; or a whole reference.
    package var text: String?

    /// The other filters start unset.
    package init(outcomes: [String]? = nil, reason: String? = nil, emailKey: String? = nil) {
        self.outcomes = outcomes
        self.reason = reason
        self.emailKey = emailKey
    }

    /// Whether every decision passes, but for its time and the text.
    var isWide: Bool {
        outcomes == nil && reason == nil && user == nil && emailKey == nil && reference == nil
            && requestID == nil
    }

    var condition: SQL {
        var sql: SQL = ""
        if emailKey != nil, outcomes == [Outcome.refused.rawValue] {
            // The condition of the index by address, which a parameter cannot meet.
            sql += " AND outcome = 'refused'"
        } else if let outcomes {
            sql +=
                outcomes.count == 1
                ? " AND outcome = \(outcomes[0])" : " AND outcome = ANY (\(outcomes))"
        }
        if let since { sql += " AND created_at >= \(since)" }
        if let until { sql += " AND created_at < \(until)" }
        if let reason { sql += " AND reason = \(reason)" }
        if let user {
            sql += users.count > 1 ? " AND user_id = ANY (\(users))" : " AND user_id = \(user)"
        }
        if let emailKey { sql += " AND email_key = \(emailKey)" }
        if let reference { sql += " AND reference = \(reference)" }
        if let requestID { sql += " AND request_id = \(requestID)" }
        if let text {
            sql += """
                 AND CASE WHEN email_key LIKE ALL (\(Database.patterns(of: text)))
                    OR reference = \(text) THEN true ELSE false END
                """
        }
        return sql
    }
}

extension Database {
    /// `tenant` nil: of all tenants, and those without one, for the platform.
    package func decisions(
        _ list: ListQuery, tenant: UUID?, _ filter: DecisionFilter
    ) async throws(PostgresError) -> ListPage<DecisionRow> {
        let filter = try await merged(filter, in: tenant)
        var page = try await readLagging(
            DecisionRow.list(of: tenant, filter).page(list), in: tenant
        )
        .page(list, DecisionRow.init)
        page.rows = try await named(page.rows, to: tenant)
        return page
    }

    /// The filter with the ids of those who were merged into its user.
    func merged(
        _ filter: DecisionFilter, in tenant: UUID?
    ) async throws(PostgresError) -> DecisionFilter {
        guard let user = filter.user, let tenant else { return filter }
        var filter = filter
        filter.users = try await scope(tenant).everyID(of: user)
        filter.user = filter.users.first ?? user
        return filter
    }

    /// `tenant` nil: of any tenant or of none, for the platform, never a tenant's part.
    package func decision(_ id: UUID, tenant: UUID?) async throws(PostgresError) -> DecisionRow? {
        var sql: SQL = "SELECT \(DecisionRow.columns(of: tenant)) FROM decisions WHERE "
        sql +=
            tenant.map { "tenant_id = \($0) AND id = \(id)" }
            ?? "part IS NULL AND id::text = \(id.description)"
        guard let row = try await read(sql, of: tenant).first else { return nil }
        return try await named([DecisionRow(row)], to: tenant).first
    }

    private func read(_ sql: SQL, of tenant: UUID?) async throws(PostgresError) -> Rows {
        guard let tenant else { return try await platform.read(sql) }
        return try await scope(tenant).read(sql)
    }
}

extension Database {
    /// Of the decisions that pass the filter.
    package func histogram(
        _ request: HistogramRequest, of filter: DecisionFilter, tenant: UUID?
    ) async throws(PostgresError) -> ListHistogram? {
        let filter = try await merged(filter, in: tenant)
        let all = DecisionRow.list(of: tenant, DecisionFilter()).source
        return try await histogram(
            request, of: "created_at",
            oldest: "SELECT created_at FROM \(all) ORDER BY created_at, id LIMIT 1", in: tenant
        ) { DecisionRow.list(of: tenant, filter).source + $0 }
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
        var audited: SQL = ""
        if let events = decision?.takeInsertion(by: self) {
            audited = "WITH audited AS (\(events))\n"
        }
        queryLater(
            audited + """
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
