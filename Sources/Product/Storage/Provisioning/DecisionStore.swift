import Domain
import JSON
import Postgres
import Text

/// A recorded decision. `tenantID` is nil if it belongs to no tenant.
package struct DecisionRow: ListedRow {
    package var id: UUID
    /// When the decision was made; lists sort by it.
    package var createdAt: Timestamp
    package var outcome: String
    /// Why the attempt was refused, as a `Reason` raw value; nil if it was not refused.
    package var reason: String?
    /// The reference by which the decision can be found: six characters that the person was shown.
    package var reference: String
    /// The address as the person wrote it; `nil` if it was missing or malformed.
    package var email: String?
    /// A `ProviderKind` raw value.
    package var provider: String
    /// The issuer. For a Cognito pool it is the pool's id, followed by `/upstream` if the user came
    /// from an unmapped upstream.
    package var issuer: String
    package var subject: String
    package var tenantID: UUID?
    /// The tenant's name. It is set only if the row was read by itself or in a list. `nil` without
    /// a tenant, or if the tenant no longer exists.
    package var tenantName: String?
    /// The name of the registered provider that the call meant. It is set only if the row was read
    /// by itself or in a list. `nil` if there is no such provider.
    package var providerName: String?
    /// The user found or created; `nil` if there is none.
    package var userID: UUID?
    /// The invite that was used or refused; `nil` if there is none.
    package var inviteID: UUID?
    /// The version of the tenant's policy that the rules read; `nil` without a tenant.
    package var policyVersion: Int?
    /// What each rule found, as `[{rule, result, detail, about}]`; see `Verdict.traceDocument`.
    package var trace: JSONValue
    /// Milliseconds from the start of the transaction to the recording of the decision.
    package var durationMilliseconds: Double
    package var requestID: String?
    /// Whether this row is only a part of a decision, namely what one tenant may read although the
    /// decision belongs to no tenant. Such a part has no subject, issuer or duration.
    package var isPart: Bool
    /// The changes that would have admitted the attempt; `nil` if they were not computed.
    package var wouldAdmit: [NearestYes]?

    /// The columns of a decision as a tenant reads it or, if `tenant` is nil, as the platform reads
    /// it.
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
        // If `tenant` is nil, this is the condition of the index over all rows. Nearly all rows
        // have no `part`. If the condition were `part IS NULL`, PostgreSQL without statistics would
        // expect few rows without a part, and would sort all of them for one page.
        let condition: SQL =
            tenant.map { "tenant_id = \($0)" } ?? "num_nulls(part) > 0 AND created_at > '-infinity'"
        return ListStatement(
            columns: columns(of: tenant), source: "decisions WHERE \(condition)\(filter.condition)",
            isWide: tenant != nil && filter.isWide)
    }
}

/// The filters of a list of decisions.
package struct DecisionFilter: Sendable {
    /// The outcomes to include; `nil` for all.
    var outcomes: [String]?
    var reason: String?
    package var since: Timestamp?
    /// The time before which the decisions were made.
    package var until: Timestamp?
    /// The email key of the decision's address.
    package var emailKey: String?
    /// The user of the decision. Users who were merged into this user count too.
    package var user: UUID?
    /// The ids of `user` and of the users who were merged into it.
    fileprivate var users: [UUID] = []
    /// The reference that the person was shown.
    package var reference: String?
    /// The id of the request that led to the decision, as its response showed it.
    package var requestID: String?
    /// Words to find in the address, in any order and ignoring case; the address must contain each
    /// of them. If the text is a whole reference, its decision is found too.
    package var text: String?

    /// Sets these filters; the others admit everything.
    package init(outcomes: [String]? = nil, reason: String? = nil, emailKey: String? = nil) {
        self.outcomes = outcomes
        self.reason = reason
        self.emailKey = emailKey
    }

    /// Whether the filter restricts decisions by nothing other than their time and the text.
    var isWide: Bool {
        outcomes == nil && reason == nil && user == nil && emailKey == nil && reference == nil
            && requestID == nil
    }

    var condition: SQL {
        var sql: SQL = ""
        if emailKey != nil, outcomes == [Outcome.refused.rawValue] {
            // This is a literal and not a parameter, since only a literal matches the condition of
            // the index by address.
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
    /// One page of decisions. If `tenant` is nil, the page has the decisions of all tenants and
    /// those of none, which only the platform may see.
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

    /// The filter with all ids of its user, including those of merged users.
    func merged(
        _ filter: DecisionFilter, in tenant: UUID?
    ) async throws(PostgresError) -> DecisionFilter {
        guard let user = filter.user, let tenant else { return filter }
        var filter = filter
        filter.users = try await scope(tenant).everyID(of: user)
        filter.user = filter.users.first ?? user
        return filter
    }

    /// The decision with this id; `nil` if there is none. Only the platform may pass nil as
    /// `tenant`. The decision may then belong to any tenant or to none, but a tenant's part of a
    /// decision is not found.
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
    /// A histogram of the decisions that the filter admits.
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

/// Adds display names for the rows that a trace refers to by id.
extension Database {
    /// A trace with a `name` for each object that still exists. For a `tenant`, steps that refer to
    /// rows of other tenants are omitted. If `tenant` is nil, all steps are shown, for the
    /// platform.
    package func shown(
        _ trace: JSONValue, to tenant: UUID?
    ) async throws(PostgresError) -> JSONValue {
        let steps = (trace.array ?? []).filter { $0.isAbout(nothingBut: tenant) }
        let about = steps.flatMap { $0["about"]?.array ?? [] }
        var names: [String: String] = [:]
        let owners = Set(about.compactMap { $0["tenant_id"]?.string.flatMap { UUID($0) } })
        for owner in owners.sorted() {
            let ids = about.compactMap { $0["id"]?.string.flatMap { UUID($0) } }
            let rows = try await scope(owner).read(
                """
                SELECT id, name FROM tenants WHERE id = \(owner)
                UNION ALL SELECT id, email FROM users
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                UNION ALL SELECT id, email FROM invites
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                UNION ALL SELECT id, display FROM domains
                    WHERE tenant_id = \(owner) AND id = ANY(\(ids))
                """)
            for row in rows { try Self.add(row, to: &names) }
        }
        let providers = about.filter { $0["type"]?.string == "provider" }
            .compactMap { $0["id"]?.string.flatMap { UUID($0) } }
        for (id, name) in try await providerNames(providers) { names[id.description] = name }
        return .array(steps.map { $0.naming(names) })
    }

    /// The same decisions with the names of their tenants and registered providers set. `reader` is
    /// the tenant that reads them, nil for the platform.
    func named(
        _ rows: [DecisionRow], to reader: UUID?
    ) async throws(PostgresError) -> [DecisionRow] {
        let ids = rows.map { $0.cut(to: reader).registeredProvider }
        let providers = try await providerNames(ids.compactMap { $0 })
        let tenants = try await tenantNames(rows.compactMap(\.tenantID), to: reader)
        return zip(rows, ids).map { row, provider in
            var row = row
            row.providerName = provider.flatMap { providers[$0] }
            row.tenantName = row.tenantID.flatMap { tenants[$0] }
            return row
        }
    }

    private func providerNames(_ ids: [UUID]) async throws(PostgresError) -> [UUID: String] {
        let wanted = Set(ids).subtracting([.platform])
        guard !wanted.isEmpty else { return [:] }
        return try await readLaggingAsApp(
            "SELECT id, name FROM providers WHERE id = ANY(\(wanted.sorted()))"
        ).names()
    }

    private static func add(_ row: Row, to names: inout [String: String]) throws(PostgresError) {
        names[try row.get(0, as: UUID.self).description] = try row.get(1, as: String.self)
    }
}

extension JSONValue {
    /// Whether a tenant may see this step of a trace. The step must not refer to a row of another
    /// tenant; it may refer to a provider of the platform.
    fileprivate func isAbout(nothingBut tenant: UUID?) -> Bool {
        guard let tenant else { return true }
        return (self["about"]?.array ?? []).allSatisfy { reference in
            reference["tenant_id"]?.string.map { $0 == tenant.description } ?? true
        }
    }

    fileprivate func naming(_ names: [String: String]) -> JSONValue {
        guard var members = self.members,
            let at = members.firstIndex(where: { $0.name == "about" })
        else { return self }
        members[at].value = .array(
            (members[at].value.array ?? []).map { reference in
                guard let id = reference["id"]?.string, let name = names[id] else {
                    return reference
                }
                return .object(
                    (reference.members ?? []) + [JSONValue.Member("name", .string(name))])
            })
        return .object(members)
    }
}

extension DecisionRow {
    /// The registered provider that the trace refers to; `nil` if none was found.
    fileprivate var registeredProvider: UUID? {
        let about = (trace.array ?? []).flatMap { $0["about"]?.array ?? [] }
        return about.first { $0["type"]?.string == "provider" }?["id"]?.string.flatMap { UUID($0) }
    }

    /// The row without the steps of the trace that the tenant may not read. If `tenant` is nil, the
    /// row is returned unchanged.
    package func cut(to tenant: UUID?) -> DecisionRow {
        var row = self
        row.trace = .array((trace.array ?? []).filter { $0.isAbout(nothingBut: tenant) })
        return row
    }
}

extension Verdict {
    /// The trace as JSON: `[{rule, result, detail, about: [{type, id, tenant_id}]}]`.
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
