import Domain
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// How PostgreSQL reads every list, with the values known and, as a prepared statement does after
/// a while, without: by an index that names the tenant, and never ordering more than a page.
@Suite(.cleansUp) struct ListPlanTests {
    private struct Listed {
        var name: String
        var sql: SQL
        /// The platform's lists name no tenant.
        var isOfAllTenants = false
    }

    /// So many rows are ordered sooner than an index is walked.
    private static let few = 500

    @Test(.onOneServer, arguments: [2, 7])
    func `every list reads by an index of its tenant and orders no more than a page`(
        tenants: Int
    )
        async throws
    {
        let service = try await TestService.make()
        let scope = try await GrownTenant.make(service, tenants: tenants)
        for one in try await lists(of: scope) {
            for mode in ["force_custom_plan", "force_generic_plan"] {
                let plan = try await plan(one.sql, scope, mode)
                for fault in faults(in: plan, isOfAllTenants: one.isOfAllTenants)
                // Half a small table may be read by reading it all.
                where tenants > 2 || fault.contains("without the tenant") {
                    Issue.record("\(one.name), \(mode): \(fault)\n\(plan.encodedText)")
                }
            }
        }
    }

    private func lists(of scope: TenantScope) async throws -> [Listed] {
        let at = Timestamp(microseconds: 1_672_600_000_000_000)
        let last = (value: "\(at.microseconds)", id: UUID.random())
        let newest = ListQuery()
        let further = ListQuery(after: last, total: ListTotal(9, exact: true))
        let byEmail = ListQuery(sort: .email, descending: false)
        let byEmailFurther = ListQuery(sort: .email, after: ("lee", UUID.random()))
        var all: [Listed] = []
        var never = UserFilter()
        never.neverSignedIn = true
        var asking = UserFilter()
        asking.awaitingApproval = true
        var late = UserFilter()
        late.signedInSince = at
        var team = UserFilter()
        team.attributes = [("plan", "free")]
        var lateTeam = late
        lateTeam.attributes = team.attributes
        var alone = UserFilter()
        alone.attributes = [("plan", "enterprise")]
        let filters: [(String, UserFilter)] = [
            ("all", UserFilter()), ("suspended", UserFilter(status: .suspended)),
            ("admins", UserFilter(role: .admin)), ("github", UserFilter(provider: "github")),
            ("a rare text", UserFilter(text: "5999@")), ("a name", UserFilter(text: "lovelace")),
            ("a frequent text", UserFilter(text: "example")),
            ("a beginning", UserFilter(text: "gr")), ("who never came", never),
            ("who ask to join", asking),
            ("who came of late", late), ("an attribute of many", team),
            ("an attribute of few", alone), ("an attribute of many, of late", lateTeam),
        ]
        for (name, filter) in filters {
            let search = try await scope.search(filter)
            for (order, list) in [
                ("newest", newest), ("further", further), ("by email", byEmail),
                ("by email, further", byEmailFurther),
            ] {
                all.append(
                    Listed(
                        name: "users, \(name), \(order)",
                        sql: scope.userList(filter).sql(search, list)))
            }
        }
        all += try await searches(of: scope)
        for list in [newest, further] {
            for status in [nil, APIKey.Status.active, .revoked] {
                let keys = scope.apiKeyList(APIKeyFilter(status: status))
                all.append(
                    Listed(
                        name: "keys, \(status?.rawValue ?? "all")",
                        sql: keys.sql(ListSearch(), list)))
            }
            all.append(
                Listed(
                    name: "keys of a user",
                    sql: scope.apiKeyList(APIKeyFilter(owner: .random()))
                        .sql(ListSearch(), list)))
            all.append(
                Listed(
                    name: "decisions",
                    sql: DecisionRow.list(of: scope.tenant, DecisionFilter()).page(list)))
            all.append(
                Listed(
                    name: "decisions of all",
                    sql: DecisionRow.list(of: nil, DecisionFilter()).page(list),
                    isOfAllTenants: true))
        }
        for list in [newest, further, byEmail] {
            all.append(
                Listed(
                    name: "invites", sql: scope.inviteList(InviteFilter()).sql(ListSearch(), list)))
            all.append(
                Listed(
                    name: "pending invites",
                    sql: scope.inviteList(InviteFilter(status: .pending))
                        .sql(ListSearch(), list)))
            var failed = InviteFilter()
            failed.deliveries = [.refused, .bounced]
            all.append(
                Listed(
                    name: "invites that came back",
                    sql: scope.inviteList(failed).sql(ListSearch(), list)))
            failed.job = .random()
            all.append(
                Listed(
                    name: "invites of a job that came back",
                    sql: scope.inviteList(failed).sql(ListSearch(), list)))
        }
        all += try await audit(of: scope)
        all += histograms(of: scope, at)
        all += try await duplicates(of: scope)
        return all
    }

    private func searches(of scope: TenantScope) async throws -> [Listed] {
        var all: [Listed] = []
        let together = try await scope.users(ListQuery(limit: 400), UserFilter()).rows.map(\.id)
        let found = ListSearch(ids: [together], some: together)
        for list in [
            ListQuery(), ListQuery(after: ("1", together[9]), total: ListTotal(9, exact: true)),
        ] {
            all.append(
                Listed(
                    name: "users found by a frequent text",
                    sql: scope.userList(UserFilter()).sql(found, list)))
        }
        for text in ["5999@", "grace hopper", "lovelace", "gr", "e"] {
            let keys = APIKeyFilter(text: text)
            let invites = InviteFilter(text: text)
            let foundKeys = try await scope.search(text, in: .apiKeys)
            let foundInvites = try await scope.search(text, in: .invites)
            for list in [ListQuery(), ListQuery(sort: .name, descending: false)] {
                all.append(
                    Listed(
                        name: "keys, \(text), \(list.sort)",
                        sql: scope.apiKeyList(keys).sql(foundKeys, list)))
            }
            for list in [ListQuery(), ListQuery(sort: .email, descending: false)] {
                all.append(
                    Listed(
                        name: "invites, \(text), \(list.sort)",
                        sql: scope.inviteList(invites).sql(foundInvites, list)))
            }
        }
        return all
    }

    private func histograms(of scope: TenantScope, _ at: Timestamp) -> [Listed] {
        let starts = (0..<60).map { at.adding(seconds: $0 * 60) }
        let until = at.adding(seconds: 3600)
        return [UUID?.some(scope.tenant), nil].flatMap { tenant in
            let decisions = ListHistogram.counting(starts, until: until, of: "created_at") {
                DecisionRow.list(of: tenant, DecisionFilter()).source + $0
            }
            let events = ListHistogram.counting(starts, until: until, of: "occurred_at") {
                AuditRow.met(of: tenant, AuditFilter(), nil, most: ListHistogram.most + 1, $0)
            }
            return [("decisions", decisions), ("events", events)].map { name, sql in
                Listed(name: "histogram of \(name)", sql: sql, isOfAllTenants: tenant == nil)
            }
        }
    }

    private func duplicates(of scope: TenantScope) async throws -> [Listed] {
        let page = try await scope.users(ListQuery(limit: 500), UserFilter()).rows
        let search = DuplicateSearch(page)
        return [
            Listed(name: "duplicates, plain spellings", sql: search.spellings(in: scope.tenant)),
            Listed(name: "duplicates, spellings", sql: search.sharedSpellings(in: scope.tenant)),
            Listed(name: "duplicates, external ids", sql: search.externalIDs(in: scope.tenant)),
        ]
    }

    private func audit(of scope: TenantScope) async throws -> [Listed] {
        let events = ListQuery(sort: .occurredAt)
        var filters = ["all": AuditFilter()]
        filters["of an actor", default: AuditFilter()].actor = "growth 7"
        filters["of an actor's name", default: AuditFilter()].actor = "Growth"
        filters["of a target", default: AuditFilter()].target = UUID.random().description
        filters["of a target's name", default: AuditFilter()].target = "lee"
        filters["of an action", default: AuditFilter()].action = "user.created"
        filters["of a rare action", default: AuditFilter()].action = "policy.updated"
        filters["of a group", default: AuditFilter()].action = "user."
        filters["of a rare group", default: AuditFilter()].action = "policy."
        var all: [Listed] = []
        for (name, filter) in filters {
            let actions = try await scope.actions(of: filter)
            all.append(
                Listed(
                    name: "audit, \(name)",
                    sql: AuditRow.list(of: scope.tenant, filter, actions, events)))
        }
        all.append(
            Listed(
                name: "audit, the actions of a group",
                sql: AuditRow.actions(of: "api_key.", in: scope.tenant)))
        all.append(
            Listed(
                name: "audit of all tenants",
                sql: AuditRow.list(of: nil, AuditFilter(), nil, events),
                isOfAllTenants: true))
        return all
    }

    /// The plan of `sql` under row-level security, made in `mode`. The values of a generic plan do
    /// not matter; a custom one is made for the true ones.
    private func plan(_ sql: SQL, _ scope: TenantScope, _ mode: String) async throws -> JSONValue {
        struct End: Error { var plan: JSONValue }
        do {
            return try await scope.change(by: .system) { change in
                try await change.query(SQL(raw: "SET LOCAL plan_cache_mode = \(mode)"))
                var explain: SQL = "EXPLAIN (FORMAT JSON) \(sql)"
                if mode == "force_generic_plan" {
                    let name = "plan_\(UInt64.random(in: 0...UInt64.max))"
                    try await change.query(SQL(raw: "PREPARE \(name) AS \(sql.text)"))
                    let count = (1...200).prefix { sql.text.contains("$\($0)") }.count
                    let nulls = [String](repeating: "NULL", count: count).joined(separator: ", ")
                    let values = nulls.isEmpty ? "" : "(\(nulls))"
                    explain = SQL(raw: "EXPLAIN (FORMAT JSON) EXECUTE \(name)\(values)")
                }
                let text: String = try await change.query(explain)[0].get(0)
                throw End(plan: try JSONValue(parsing: Array(text.utf8)))
            }
        } catch let end as End {
            return end.plan
        }
    }

    /// Whether the rows of a page are met by reading on until enough of the ids have come.
    private func walksToIDs(_ node: JSONValue) -> Bool {
        guard let below = node["Plans"]?.array?.last else { return false }
        if below["Node Type"]?.string == "Result" { return walksToIDs(below) }
        return below["Filter"]?.string?.contains("id = ANY") == true
    }

    private func faults(in plan: JSONValue, isOfAllTenants: Bool) -> [String] {
        var faults: [String] = []
        for node in plan.nodes {
            let type = node["Node Type"]?.string ?? ""
            let condition = node["Index Cond"]?.string ?? ""
            // The page; a count ends elsewhere.
            if type == "Limit", node["Plan Rows"]?.int == 51, walksToIDs(node) {
                faults.append("walks the list's order to ids that it knows")
            }
            switch type {
            case "Seq Scan": faults.append("reads all of \(node["Relation Name"]?.string ?? "")")
            case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
                if !isOfAllTenants, !condition.contains("tenant_id") {
                    faults.append("\(node["Index Name"]?.string ?? "") without the tenant")
                }
            case "Sort", "Incremental Sort":
                let below = node.nodes.dropFirst()
                let rows = below.first?["Plan Rows"]?.int ?? .max
                let isBounded =
                    rows <= Self.few
                    || below.contains {
                        $0["Node Type"]?.string == "Limit"
                            || $0["Index Cond"]?.string?.contains("ANY (") ?? false
                    }
                if !isBounded { faults.append("orders more than a page") }
            default: break
            }
        }
        return faults
    }
}

extension JSONValue {
    fileprivate var encodedText: String { String(decoding: encoded(), as: UTF8.self) }

    /// Every node of a plan, itself first.
    fileprivate var nodes: [JSONValue] {
        if let list = array { return list.flatMap(\.nodes) }
        if let root = self["Plan"] { return root.nodes }
        return [self] + (self["Plans"]?.array ?? []).flatMap(\.nodes)
    }
}
