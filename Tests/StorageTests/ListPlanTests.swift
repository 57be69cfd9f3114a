import Domain
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// How PostgreSQL reads every list, with the values known and, as a prepared statement does after
/// a while, without: by an index that names the tenant, and never ordering more than a page.
struct ListPlanTests {
    private struct Listed {
        var name: String
        var sql: SQL
        /// The platform's lists name no tenant.
        var isOfAllTenants = false
    }

    /// So many rows are ordered sooner than an index is walked.
    private static let few = 500

    @Test func `every list reads by an index of its tenant and orders no more than a page`()
        async throws
    {
        let service = try await TestService.make()
        let scope = try await grow(service, tenants: 7)
        for one in try await lists(of: scope) {
            for mode in ["force_custom_plan", "force_generic_plan"] {
                let plan = try await plan(one.sql, scope, mode)
                for fault in faults(in: plan, isOfAllTenants: one.isOfAllTenants) {
                    Issue.record("\(one.name), \(mode): \(fault)\n\(plan.encodedText)")
                }
            }
        }
        await service.stop()
    }

    @Test func `a search finds what is rare, what is frequent, and what came in together`()
        async throws
    {
        let service = try await TestService.make()
        let scope = try await grow(service, tenants: 1)
        let expected: [(text: String, least: Int, exact: Bool)] = [
            ("5999@", 1, true), ("nobody at all", 0, true), ("oldcorp", 3960, false),
            ("lovelace", 20, false), ("gr", 20, false), ("horvat5", 1, true),
        ]
        for (text, least, exact) in expected {
            let filter = UserFilter(text: text)
            var admins = filter
            admins.role = "admin"
            let all = try await scope.users(ListQuery(limit: 200), admins)
            let far = try await scope.users(ListQuery(limit: 200), admins, walking: 1)
            #expect(all.rows.map(\.id) == far.rows.map(\.id))
            for sort in [ListQuery.Sort.createdAt, .email] {
                for descending in [true, false] {
                    var list = ListQuery(limit: 20, sort: sort, descending: descending)
                    let walked = try await scope.users(list, filter)
                    // A walk that ends at once fetches by the text instead.
                    let fetched = try await scope.users(list, filter, walking: 1)
                    #expect(walked.rows.map(\.id) == fetched.rows.map(\.id), "\(text)")
                    #expect(walked.total.value >= least, "\(text)")
                    #expect(walked.total.exact == exact, "\(text)")
                    guard let next = walked.next else { continue }
                    list.after = next
                    list.total = walked.total
                    let second = try await scope.users(list, filter)
                    let far = try await scope.users(list, filter, walking: 1)
                    #expect(second.rows.map(\.id) == far.rows.map(\.id), "\(text)")
                    #expect(second.total == walked.total)
                    #expect(!second.rows.contains { $0.id == next.id })
                }
            }
        }
        await service.stop()
    }

    /// Tenants of 6,000 users each, of whom the first 5,000 came in together; one of them.
    private func grow(_ service: TestService, tenants: Int) async throws -> TenantScope {
        var scope = service.storage.platformScope
        for number in 1...tenants {
            let tenant = try await service.makeTenant("grown-\(number)")
            scope = service.storage.scope(tenant.id)
            try Shell.run([
                "psql", "-X", "-q", "-d", service.database.administrator, "-v",
                "tenant=\(tenant.id)", "-v", "first=1", "-v", "last=6000", "-f",
                "\(TestCluster.root)/deploy/growth.sql",
            ])
        }
        return scope
    }

    private func lists(of scope: TenantScope) async throws -> [Listed] {
        let at = Timestamp(microseconds: 1_672_600_000_000_000)
        let last = (value: "\(at.microseconds)", id: UUID.random())
        let newest = ListQuery()
        let further = ListQuery(after: last, total: ListTotal(9, exact: true))
        let byEmail = ListQuery(sort: .email, descending: false)
        let byEmailFurther = ListQuery(sort: .email, after: ("lee", UUID.random()))
        let events = ListQuery(sort: .occurredAt)
        var all: [Listed] = []
        let filters: [(String, UserFilter)] = [
            ("all", UserFilter()), ("suspended", UserFilter(status: "suspended")),
            ("admins", UserFilter(role: "admin")), ("github", UserFilter(provider: "github")),
            ("a rare text", UserFilter(text: "5999@")), ("a name", UserFilter(text: "lovelace")),
            ("a frequent text", UserFilter(text: "example")),
            ("a beginning", UserFilter(text: "gr")),
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
                        sql: scope.userList(filter, search, list)))
            }
        }
        for list in [newest, further] {
            for status in [nil, "active", "revoked"] {
                let keys = scope.apiKeyList(APIKeyFilter(status: status))
                all.append(Listed(name: "keys, \(status ?? "all")", sql: keys.page(list)))
            }
            all.append(
                Listed(
                    name: "keys of a user",
                    sql: scope.apiKeyList(APIKeyFilter(owner: .random())).page(list)))
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
                Listed(name: "invites", sql: scope.inviteList(InviteFilter()).page(list)))
            all.append(
                Listed(
                    name: "pending invites",
                    sql: scope.inviteList(InviteFilter(status: .pending)).page(list)))
        }
        var target = AuditFilter()
        target.target = UUID.random().description
        for (name, filter) in [("all", AuditFilter()), ("of a target", target)] {
            all.append(
                Listed(
                    name: "audit, \(name)",
                    sql: AuditRow.list(of: scope.tenant, filter).page(events)))
        }
        all.append(
            Listed(
                name: "audit of all tenants",
                sql: AuditRow.list(of: nil, AuditFilter()).page(events),
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

    private func faults(in plan: JSONValue, isOfAllTenants: Bool) -> [String] {
        var faults: [String] = []
        for node in plan.nodes {
            let type = node["Node Type"]?.string ?? ""
            let condition = node["Index Cond"]?.string ?? ""
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
