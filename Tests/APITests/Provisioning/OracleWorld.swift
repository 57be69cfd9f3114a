import Domain
import JSON
import Postgres
import Storage
import TestSupport
import Text

// What was answered, beside what was due.
extension Oracle {
    /// The answer of a dry run beside that of the real one.
    func differences(
        _ tried: ProvisioningResult, _ done: ProvisioningResult, due: Answer
    ) -> [String] {
        var wrong = differences(tried.verdict, due).map { "tried: " + $0 }
        if tried.verdict.trace != done.verdict.trace { wrong.append("the traces differ") }
        if tried.verdict.publicReason != done.verdict.publicReason {
            wrong.append("the told reasons differ")
        }
        if tried.verdict.userID != id(of: due), due.outcome != .refused {
            wrong.append("tried: another user")
        }
        return wrong + differences(done, due: due)
    }

    func differences(_ done: ProvisioningResult, due: Answer) -> [String] {
        var wrong = differences(done.verdict, due).map { "done: " + $0 }
        if due.user == .new {
            let isOld = done.verdict.userID.map { user in
                tenants.contains { [$0.rowID, $0.otherID, $0.elsewhereID].contains(user) }
            }
            if isOld != false { wrong.append("done: no new user") }
        } else if done.verdict.userID != id(of: due), due.outcome != .refused {
            wrong.append("done: another user")
        }
        if due.outcome == .existing || due.outcome == .linked, due.tenant != nil,
            done.user?.id != done.verdict.userID
        {
            wrong.append("done: the user is not shown")
        }
        return wrong
    }

    /// nil for none, and for one who is new.
    private func id(of due: Answer) -> UUID? {
        guard let tenant = due.tenant.map({ tenants[$0] }) else { return nil }
        return switch due.user {
        case .none, .new: nil
        case .row: tenant.rowID
        case .other: tenant.otherID
        case .elsewhere: tenant.elsewhereID
        }
    }

    private func differences(_ verdict: Verdict, _ due: Answer) -> [String] {
        var wrong: [String] = []
        func index(_ id: UUID) -> Int { tenants.firstIndex { $0.id == id } ?? -1 }
        if verdict.outcome != due.outcome { wrong.append("outcome \(verdict.outcome)") }
        if verdict.reason != due.reason {
            wrong.append("reason \(verdict.reason?.rawValue ?? "-")")
        }
        if verdict.tenantID.map(index) != due.tenant { wrong.append("tenant") }
        if Set(verdict.choices.map(index)) != due.choices { wrong.append("choices") }
        let rule = Self.decidingRule(verdict.trace.map { ($0.rule.rawValue, $0.result) }, due)
        if rule != due.rule { wrong.append("rule \(rule ?? "-") instead of \(due.rule)") }
        if !state.isNative, due.outcome == .refused {
            let isAsked = !named.isEmpty
            let told = verdict.publicReason ?? verdict.reason
            if told != self.told(due, asked: isAsked) {
                wrong.append("told \(told?.rawValue ?? "-")")
            }
        }
        return wrong
    }

    /// The rule of the first step that came to what was due. Steps behind a refusal only name what was
    /// seen and did not help.
    static func decidingRule(_ steps: [(rule: String, result: String)], _ due: Answer) -> String? {
        let word =
            due.reason == .tenantChoiceRequired
            ? due.outcome.rawValue : due.reason?.rawValue ?? due.outcome.rawValue
        return steps.first { $0.result == word }?.rule
    }
}

/// Users, sign-ins, invites and what else the runs left, of every tenant.
struct OracleWorld {
    /// `status role proved` by user.
    private var users: [UUID: String] = [:]
    /// The user of a tenant's sign-in of a subject.
    private var holders: [UUID: [String: UUID]] = [:]
    private var invites: [UUID: String] = [:]
    /// `uses` of a join link.
    private var links: [UUID: Int] = [:]
    /// The link that let a user in.
    private var joined: [UUID: UUID] = [:]
    /// Tenants whose grant is used.
    private var used: Set<UUID> = []
    private var barred: Set<UUID> = []
    private var chosen: Set<UUID> = []
    /// `tenant invite link` by subject.
    private var reservations: [String: String] = [:]
    /// `tenant outcome reason rule…` by id.
    private var decisions: [UUID: JSONValue] = [:]

    /// What a sign-in may write, each table as one text.
    static func content(_ administrator: Postgres) async throws -> [String] {
        let tables = [
            "users", "identities", "invites", "decisions", "audit_events", "reservations",
            "pending_choices", "barred_identities", "provisioning_retries", "link_grants",
            "mail", "user_search", "directory_people", "join_links",
        ]
        var texts: [String] = []
        for table in tables {
            let rows = try await administrator.read(
                """
                SELECT '\(raw: table) ' || count(*) || coalesce(md5(string_agg(t::text, '|'
                    ORDER BY t::text)), '') FROM \(raw: table) t
                """)
            texts.append(try rows.first?.get(0, as: String.self) ?? "")
        }
        return texts
    }

    init(_ administrator: Postgres) async throws {
        func each(_ sql: SQL, _ body: (Row) throws -> Void) async throws {
            for row in try await administrator.read(sql) { try body(row) }
        }
        let proved: SQL = "CASE WHEN email_verified_at IS NULL THEN '' ELSE ' proved' END"
        try await each("SELECT id, status || ' ' || role || \(proved) FROM users") {
            users[try $0.get(0)] = try $0.get(1, as: String.self)
        }
        try await each("SELECT tenant_id, subject, user_id FROM identities") {
            let (tenant, subject): (UUID, String) = (try $0.get(0), try $0.get(1))
            holders[tenant, default: [:]][subject] = try $0.get(2, as: UUID.self)
        }
        try await each("SELECT id, status FROM invites") {
            invites[try $0.get(0)] = try $0.get(1, as: String.self)
        }
        try await each("SELECT id, uses FROM join_links") {
            links[try $0.get(0)] = try $0.get(1, as: Int.self)
        }
        try await each("SELECT id, join_link_id FROM users WHERE source = 'join_link'") {
            joined[try $0.get(0)] = try $0.get(1, as: UUID.self)
        }
        try await each("SELECT tenant_id FROM link_grants WHERE used_at IS NOT NULL") {
            used.insert(try $0.get(0))
        }
        try await each("SELECT tenant_id FROM barred_identities") {
            barred.insert(try $0.get(0))
        }
        try await each("SELECT tenant_id FROM pending_choices") { chosen.insert(try $0.get(0)) }
        try await each(
            """
            SELECT subject, concat(tenant_id, ' ', invite_id, ' ', join_link_id) FROM reservations
            """
        ) { reservations[try $0.get(0)] = try $0.get(1, as: String.self) }
        try await each(
            """
            SELECT id, json_build_object('tenant', tenant_id, 'outcome', outcome, 'reason', reason,
                'trace', trace)::text FROM decisions WHERE part IS NULL
            """
        ) {
            decisions[try $0.get(0)] = try JSONValue(
                parsing: Array($0.get(1, as: String.self).utf8))
        }
    }

    /// Where this world is not what the answer leaves behind.
    func differences(
        from due: Oracle.Answer, _ done: ProvisioningResult, _ state: OracleState
    ) -> [String] {
        var wrong = state.tenants.indices.flatMap { index in
            let isHere = index == due.tenant
            return differences(state.tenants[index], isHere ? due : nil, done, state).map {
                "tenant \(index): " + $0
            }
        }
        let choices = due.outcome == .deferred ? due.choices : []
        let kept = state.tenants.indices.filter { chosen.contains(state.tenants[$0].id) }
        if Set(kept) != choices { wrong.append("kept choices \(kept)") }
        if reservations[state.subject] != reservation(due, state) {
            wrong.append("the reservation")
        }
        guard let decision = done.decisionID.flatMap({ decisions[$0] }) else {
            return wrong + ["no decision is recorded"]
        }
        let place = due.tenant.map { state.tenants[$0].id } ?? .platform
        let steps = (decision["trace"]?.array ?? []).map {
            ($0["rule"]?.string ?? "", $0["result"]?.string ?? "")
        }
        if decision["tenant"]?.string != place.description
            || decision["outcome"]?.string != due.outcome.rawValue
            || decision["reason"]?.string != due.reason?.rawValue
            || Oracle.decidingRule(steps, due) != due.rule
        {
            wrong.append("the recorded decision is \(decision)")
        }
        return wrong
    }

    /// Only a token keeps its invite or its link.
    private func reservation(_ due: Oracle.Answer, _ state: OracleState) -> String? {
        guard due.outcome == .reserved, let index = due.tenant else { return nil }
        let tenant = state.tenants[index]
        let invite = state.token == .of(index) ? tenant.inviteID.description : ""
        let link = state.joining == .of(index) ? tenant.link?.id.description ?? "" : ""
        return "\(tenant.id) \(invite) \(link)"
    }

    private func differences(
        _ tenant: OracleTenant, _ due: Oracle.Answer?, _ done: ProvisioningResult,
        _ state: OracleState
    ) -> [String] {
        var wrong: [String] = []
        func expect(_ isSo: Bool, _ text: @autoclosure () -> String) {
            if !isSo { wrong.append(text()) }
        }
        var due = due ?? .refused("", .noTenant)
        if due.outcome == .reserved { due.user = .none }
        var row = tenant.rowText
        var elsewhere = tenant.invited == .elsewhere ? "pending \(tenant.invitedRole)" : nil
        var holder = tenant.knownID
        switch due.change {
        case .none: break
        case .activated(let role, _) where due.user == .elsewhere:
            elsewhere = "active \(role)"
            holder = tenant.elsewhereID
        case .activated(let role, let byHand):
            row = "active \(role)\(byHand ? "" : " proved")"
            holder = tenant.rowID
        case .joined: holder = tenant.rowID
        case .created(let role, let waits):
            holder = done.verdict.userID
            let made = holder.flatMap { users[$0] }
            let due = "\(waits ? "pending" : "active") \(role) proved"
            expect(made == due, "the new user is \(made ?? "not there"), due \(due)")
            // A row of a dead invite makes way.
            if tenant.row == .byInvite { row = nil }
        }
        let (found, other) = (users[tenant.rowID], users[tenant.elsewhereID])
        expect(found == row, "the row is \(found ?? "gone"), due \(row ?? "none")")
        let words = other.map { $0.replacing(" proved", with: "") }
        expect(
            words == elsewhere, "the other row is \(words ?? "gone"), due \(elsewhere ?? "none")")
        expect(users[tenant.otherID] == tenant.otherText, "the other user has changed")
        expect(holders[tenant.id]?[state.subject] == holder, "the sign-in is another's")
        let invite =
            tenant.invited == .none ? nil : due.acceptsInvite ? "accepted" : tenant.inviteText
        let now = invites[tenant.inviteID]
        expect(now == invite, "the invite is \(now ?? "gone"), due \(invite ?? "none")")
        let isUsed = due.usesGrant || state.grants(tenant) == .used
        expect(used.contains(tenant.id) == isUsed, "the grant")
        let wasBarred = tenant.signIn == .barredBefore || tenant.signIn == .barredAfter
        expect(barred.contains(tenant.id) == (wasBarred && due.change == .none), "the bar")
        return wrong + differences(tenant.link, isUsed: due.usesLink, holder)
    }

    private func differences(
        _ link: OracleJoinLink?, isUsed: Bool, _ holder: UUID?
    ) -> [String] {
        guard let link else { return [] }
        let uses = link.uses + (isUsed ? 1 : 0)
        var wrong: [String] = []
        if links[link.id] != uses { wrong.append("the link has \(links[link.id] ?? -1)") }
        if holder.flatMap({ joined[$0] }) != (isUsed ? link.id : nil) {
            wrong.append("the user names another link")
        }
        return wrong
    }
}

extension OracleState {
    /// The tenant's grant, if it was made and came along.
    fileprivate func grants(_ tenant: OracleTenant) -> OracleTenant.Grant {
        granted.map { tenants[$0].id == tenant.id } == true ? tenant.grant : .none
    }
}

extension OracleTenant {
    fileprivate var rowText: String? {
        switch row {
        case .none: nil
        case .byOperator, .byImport, .byInvite, .awaits: "pending \(rowRole)"
        case .active: "active \(rowRole) proved"
        case .activeUnproved: "active \(rowRole)"
        case .suspended: "suspended \(rowRole) proved"
        case .deletedLately, .deletedLongAgo, .declined: "deleted \(rowRole) proved"
        }
    }

    fileprivate var otherText: String? {
        switch signIn {
        case .ofOther: "active member proved"
        case .ofOtherSuspended: "suspended member proved"
        case .ofOtherDeleted: "deleted member proved"
        default: nil
        }
    }

    fileprivate var inviteText: String {
        switch invited {
        case .revoked: "revoked"
        case .used: "accepted"
        default: "pending"
        }
    }
}
