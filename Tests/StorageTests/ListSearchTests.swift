import Domain
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// What a text finds among thousands, whichever way it is met: by its trigrams, by the list's own
/// order, or by its trigrams in that order.
@Suite(.cleansUp) struct ListSearchTests {
    /// Out of 6,000 rows; `exact` where the total is.
    private typealias Expected = (text: String, least: Int, exact: Bool)

    @Test func `a search finds rare texts, frequent texts, and texts inserted together`()
        async throws
    {
        let service = try await TestService.make()
        let scope = try await GrownTenant.make(service, tenants: 1)
        try await scope.change(by: .system) { change in
            try await change.query(
                """
                UPDATE users SET name = 'ÅSA Öberg'
                WHERE tenant_id = \(change.tenant) AND role = 'manager'
                """)
            try await change.putInSearch("email_key || ' åsa öberg'", where: "role = 'manager'")
        }
        let expected: [Expected] = [
            ("5999@", 1, true), ("ÖBERG", 20, false), ("nobody at all", 0, true),
            ("oldcorp", 480, false),
            ("lovelace", 20, false), ("gr", 20, false), ("horvat5", 1, true),
        ]
        for one in expected {
            let filter = UserFilter(text: one.text)
            var admins = filter
            admins.role = .admin
            let all = try await scope.users(ListQuery(limit: 200), admins)
            let far = try await scope.users(ListQuery(limit: 200), admins, walking: 1)
            #expect(all.rows.map(\.id) == far.rows.map(\.id))
            try await check(one, sorts: [.createdAt, .email]) {
                try await scope.users($0, filter, walking: $1)
            }
        }
    }

    @Test func `keys are found by their name and invites by their address as users are`()
        async throws
    {
        let service = try await TestService.make()
        let scope = try await GrownTenant.make(service, tenants: 1)
        let keys: [Expected] = [
            ("key of", 20, false), ("LOVELACE", 20, false), ("grace hopper", 1, true),
            ("nobody at all", 0, true), ("gr", 20, false),
        ]
        for one in keys {
            let filter = APIKeyFilter(text: one.text)
            try await check(one, sorts: [.createdAt, .name]) {
                try await scope.apiKeys($0, filter, walking: $1)
            }
        }
        let invites: [Expected] = [
            ("5999@", 1, true), ("oldcorp", 500, false), ("lovelace", 20, false),
            ("zz", 0, true), ("gr", 20, false),
        ]
        for one in invites {
            let filter = InviteFilter(text: one.text)
            try await check(one, sorts: [.createdAt, .email]) {
                try await scope.invites($0, filter, walking: $1)
            }
        }
        let revoked = try await scope.apiKeys(
            ListQuery(), APIKeyFilter(status: .revoked, text: "lovelace"))
        #expect(revoked.rows.allSatisfy { $0.key.revokedAt != nil && $0.nameKey.contains("love") })
        #expect(!revoked.rows.isEmpty)
    }

    @Test func `events are found by actor, by a word of the target, and by group`()
        async throws
    {
        let service = try await TestService.make()
        let scope = try await GrownTenant.make(service, tenants: 1)
        let wanted: [(change: (inout AuditFilter) -> Void, total: Int)] = [
            ({ $0.actor = "growth 7" }, 6), ({ $0.actor = "Growth" }, 6000),
            ({ $0.target = "ada.hopper1@oldcorp.example" }, 0),
            ({ $0.action = "policy.updated" }, 1), ({ $0.action = "user." }, 2999),
            ({ $0.action = "policy." }, 1), ({ $0.action = "nothing." }, 0),
            (
                {
                    $0.actor = "Growth"
                    $0.action = "user."
                }, 2999
            ),
        ]
        for (change, total) in wanted {
            var filter = AuditFilter()
            change(&filter)
            var list = ListQuery(limit: 40, sort: .occurredAt)
            let first = try await scope.auditEvents(list, filter)
            #expect(first.total == ListTotal(total, exact: true), "\(filter)")
            #expect(first.rows.count == min(total, 40))
            #expect(first.rows.map(\.occurredAt) == first.rows.map(\.occurredAt).sorted(by: >))
            guard let next = first.next else { continue }
            list.after = next
            let second = try await scope.auditEvents(list, filter)
            #expect(Set(first.rows.map(\.id)).isDisjoint(with: second.rows.map(\.id)))
            #expect(second.rows.count == 40)
        }
    }

    /// The same pages whether the list is walked to a match or not.
    private func check<Row: ListedRow>(
        _ expected: Expected, sorts: [ListQuery.Sort],
        _ page: (ListQuery, _ walking: Int?) async throws -> ListPage<Row>
    ) async throws {
        for sort in sorts {
            for descending in [true, false] {
                var list = ListQuery(limit: 20, sort: sort, descending: descending)
                let text = "\(expected.text), \(sort)"
                let walked = try await page(list, nil)
                // A walk that ends at once fetches by the text instead.
                let fetched = try await page(list, 1)
                #expect(walked.rows.map(\.id) == fetched.rows.map(\.id), "\(text)")
                #expect(walked.total.value >= expected.least, "\(text)")
                #expect(walked.total.exact == expected.exact, "\(text)")
                guard let next = walked.next else { continue }
                list.after = next
                list.total = walked.total
                let second = try await page(list, nil)
                let far = try await page(list, 1)
                #expect(second.rows.map(\.id) == far.rows.map(\.id), "\(text)")
                #expect(second.total == walked.total)
                #expect(!second.rows.contains { $0.id == next.id })
            }
        }
    }
}
