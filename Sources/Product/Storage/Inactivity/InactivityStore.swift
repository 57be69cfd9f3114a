import Domain
import Postgres
import Text

extension Database {
    /// Returns the next tenants after the id `after` that have an inactivity rule, in the order of
    /// their ids. `isDue` is whether the tenant is active and was not processed today (in UTC).
    package func tenantsWithInactivity(
        after: UUID?, limit: Int
    ) async throws(PostgresError) -> [(id: UUID, isDue: Bool)] {
        try await platform.read(
            """
            SELECT t.id, t.status = 'active' AND (SELECT count(*) FROM inactivity_days d
                WHERE d.tenant_id = t.id AND d.day >= \(clock().startOfDay)) = 0
            FROM (SELECT id, status FROM tenants WHERE inactivity_since IS NOT NULL
                AND id > \(after ?? .platform) ORDER BY id LIMIT \(limit)) AS t
            ORDER BY t.id
            """
        ).all { row throws(PostgresError) in (try row.get(0), try row.get(1)) }
    }
}

extension Timestamp {
    /// The start of the day in UTC that contains the time.
    fileprivate var startOfDay: Timestamp {
        Timestamp(microseconds: microseconds / 86_400_000_000 * 86_400_000_000)
    }
}

extension TenantScope {
    /// Returns the inactivity rule in force; `nil` if the policy has none.
    package func standingInactivity() async throws(PostgresError) -> StandingInactivity? {
        try await read(InactivityReading.standing(tenant)).standingInactivity()
    }

    package func inactiveUsers(
        after: UUID?, limit: Int, activeUntil latest: Timestamp
    ) async throws(PostgresError) -> InactivityPage {
        try await read(
            InactivityReading.page(of: tenant, after: after, limit: limit, activeUntil: latest)
        ).inactivityPage(limit)
    }
}

extension Change {
    /// Returns the inactivity rule in force; `nil` if the policy has none. The rule cannot change
    /// before the transaction ends, since the batch locks the tenant's row.
    package func standingInactivity() async throws(PostgresError) -> StandingInactivity? {
        try await query(InactivityReading.standing(tenant)).standingInactivity()
    }

    package func inactiveUsers(
        after: UUID?, limit: Int, activeUntil latest: Timestamp
    ) async throws(PostgresError) -> InactivityPage {
        try await query(
            InactivityReading.page(of: tenant, after: after, limit: limit, activeUntil: latest)
        ).inactivityPage(limit)
    }

    /// Returns the user's current row, locked; `nil` if the rule no longer applies to the user.
    package func lockInactive(
        _ id: UUID, activeUntil latest: Timestamp
    ) async throws -> (row: UserRow, facts: InactivityFacts)? {
        let row: UserRow
        do {
            row = try await lockUser(id)
        } catch StorageFailure.notFound {
            return nil
        }
        let found = try await query(
            InactivityReading.one(id, of: tenant, activeUntil: latest)
        ).inactiveUsers()
        return found.first.map { (row, $0.facts) }
    }

    /// The maximum number of users that are counted for the daily limit, so that one statement does
    /// not read all of a very large tenant.
    private static let countedUsers = 1_000_000

    /// Returns the maximum number of users on whom the rule may act in one day: 5 % of the users
    /// who are not deleted, and at least one user.
    package func inactivityCap() async throws -> Int {
        let live = try await query(
            """
            SELECT count(*) FROM (SELECT 1 FROM users
                WHERE tenant_id = \(tenant) AND status <> 'deleted'
                LIMIT \(Self.countedUsers)) AS counted
            """
        ).only { row throws(PostgresError) in try row.get(0, as: Int.self) }
        return max(1, live / 20)
    }

    /// Returns the number of users on whom the rule has acted today. Counts of later days are
    /// included, in case the clock was set back.
    package func inactivityActs() async throws -> Int {
        try await query(
            """
            SELECT coalesce(sum(acts), 0)::bigint FROM inactivity_days
            WHERE tenant_id = \(tenant) AND day >= \(now.startOfDay)
            """
        ).only { row throws(PostgresError) in try row.get(0) }
    }

    package func count(inactivityActs count: Int) async throws(PostgresError) {
        guard count > 0 else { return }
        try await query(
            """
            INSERT INTO inactivity_days AS d (tenant_id, day, acts)
            VALUES (\(tenant), \(now.startOfDay), \(count))
            ON CONFLICT (tenant_id, day) DO UPDATE SET acts = d.acts + excluded.acts
            """)
    }

    /// Marks today as processed. Returns false if another replica has already done so.
    package func beginInactivityDay() async throws(PostgresError) -> Bool {
        try await query(
            """
            INSERT INTO inactivity_days (tenant_id, day) VALUES (\(tenant), \(now.startOfDay))
            ON CONFLICT (tenant_id, day) DO NOTHING
            """
        ).affected == 1
    }

    /// Whether a job of this kind is queued, running or paused.
    package func hasLiveJob(_ kind: String) async throws(PostgresError) -> Bool {
        let rows = try await query(
            """
            SELECT 1 FROM jobs WHERE tenant_id = \(tenant) AND kind = \(kind)
                AND status IN ('queued', 'running', 'paused') LIMIT 1
            """)
        return !rows.isEmpty
    }

    /// Counts a merge or its undo as a use of these accounts, although their users did nothing.
    func noteUse(of users: [UUID]) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO user_uses AS u (tenant_id, user_id, used_at)
            SELECT anchor.id, w.id, \(now) FROM \(SQL.anchor(of: tenant)), unnest(\(users)::uuid[]) AS w (id)
            WHERE anchor.id = \(tenant) ORDER BY w.id
            ON CONFLICT (tenant_id, user_id)
                DO UPDATE SET used_at = greatest(u.used_at, excluded.used_at)
            """)
    }

    package func noteInactivitySuspension(of id: UUID, version: Int) async throws(PostgresError) {
        try await query(
            """
            INSERT INTO inactive_users (tenant_id, user_id, suspended_at, suspended_version)
            VALUES (\(tenant), \(id), \(now), \(version))
            ON CONFLICT (tenant_id, user_id) DO UPDATE SET suspended_at = excluded.suspended_at,
                suspended_version = excluded.suspended_version
            """)
    }
}

extension Change {
    /// Seconds after which a warning that was not sent is given up.
    private static let warningSeconds: Int64 = 7 * 86_400

    /// Returns how many more users may be warned in this hour. Call it once for each batch, and
    /// count down.
    package func warningsLeft() async throws(PostgresError) -> Int {
        database.options.sendsMail ? try await mailsLeft(.inactivityWarning) : Int.max
    }

    /// Records that no mail server accepted the warning, so that the user is warned again.
    func noteUnsentWarning(of user: UUID) async throws(PostgresError) {
        try await query(
            """
            UPDATE inactive_users SET by_mail = false
            WHERE tenant_id = \(tenant) AND user_id = \(user)
            """)
    }

    /// Warns the user by mail and returns true. Without a mail server, only records the warning and
    /// returns false. `suspension` is the earliest time at which the account is suspended; `nil` if
    /// it never is. `left` comes from `warningsLeft`. Throws `MailLimitReached`.
    package func warnOfInactivity(
        _ row: UserRow, suspension: Timestamp?, left: Int
    ) async throws -> Bool {
        if database.options.sendsMail {
            let kind = OutgoingMail.Kind.inactivityWarning
            try checkMail(left: left)
            guard try await hasRoom(kind, to: row.email) else {
                throw MailLimitReached(
                    detail: "Not warned: \(MailLimit.words).", limit: MailLimit.asks,
                    seconds: MailLimit.seconds)
            }
            try await post(
                OutgoingMail(
                    kind, to: row.email, tenantName: try await tenantName(),
                    message: suspension.map { String($0.description.prefix(10)) },
                    expiresAt: now.adding(seconds: Self.warningSeconds)),
                about: row.id)
        }
        try await query(
            """
            INSERT INTO inactive_users (tenant_id, user_id, warned_at, by_mail)
            VALUES (\(tenant), \(row.id), \(now), \(database.options.sendsMail))
            ON CONFLICT (tenant_id, user_id)
                DO UPDATE SET warned_at = excluded.warned_at, by_mail = excluded.by_mail
            """)
        var changes = AuditChanges()
        changes.add("by_mail", nil, database.options.sendsMail ? "true" : "false")
        try await audit(.userInactivityWarned, row.target, changes)
        return database.options.sendsMail
    }
}
