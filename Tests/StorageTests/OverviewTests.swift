import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// The numbers of the first page.
@Suite(.cleansUp) struct OverviewTests {
    private static let week = OverviewWindow.days(7, zone: "UTC")

    @Test func `the overview estimates a large number of users without reading them`() async throws
    {
        let service = try await TestService.make()
        let acme = try await service.makeTenant("acme")
        try await service.storage.addUsers(1...9_999, to: acme.id)
        let few = try #require(try await service.storage.overview(tenant: nil, Self.week))
        #expect(few.users == ListTotal(9_999, exact: true))
        try await service.storage.addUsers(10_000...30_000, to: acme.id)
        try Shell.run([
            "psql", "-X", "-q", "-d", service.database.administrator, "-c", "ANALYZE users",
        ])
        let many = try #require(try await service.storage.overview(tenant: nil, Self.week))
        #expect(!many.users.exact)
        #expect((29_000...31_000).contains(many.users.value), "\(many.users.value)")
        let own = try #require(
            try await service.storage.overview(tenant: acme.id, Self.week))
        #expect(own.users == ListTotal(30_000, exact: true))
    }

    @Test func `a day of the overview begins at midnight of the time zone`() async throws {
        let noon = try #require(Timestamp("2026-11-22T12:00:00.000Z"))
        let service = try await TestService.make(clock: { noon })
        let acme = try await service.makeTenant("acme")
        // Seven in the evening of November 21 in Los Angeles.
        try await service.storage.scope(acme.id).change(by: .system) { change in
            try await change.query(
                """
                INSERT INTO decisions (tenant_id, id, created_at, outcome, reference, provider, issuer,
                    subject, trace, duration_ms)
                VALUES (\(acme.id), \(UUID.random()), '2026-11-22T03:00:00Z', 'refused', 'r', 'oidc', 'i', 's',
                    '[]', 1)
                """)
        }
        func days(_ zone: String) async throws -> [Overview.Bucket] {
            try #require(
                try await service.storage.overview(tenant: nil, .days(7, zone: zone))
            ).signUps
        }
        let world = try await days("UTC")
        #expect(world.map(\.refused) == [0, 0, 0, 0, 0, 0, 1])
        #expect(world.last?.at == Timestamp("2026-11-22T00:00:00.000Z"))
        let west = try await days("America/Los_Angeles")
        #expect(west.map(\.refused) == [0, 0, 0, 0, 0, 1, 0])
        #expect(west.last?.at == Timestamp("2026-11-22T08:00:00.000Z"))
        let unknown = try await service.storage.overview(
            tenant: nil, .days(7, zone: "Nowhere/City"))
        #expect(unknown == nil)
    }

    @Test func `days before and after a change of the clocks begin at midnight`() async throws {
        let noon = try #require(Timestamp("2026-11-22T12:00:00.000Z"))
        let service = try await TestService.make(clock: { noon })
        let month = try #require(
            try await service.storage.overview(tenant: nil, .days(30, zone: "America/New_York")))
        let starts = month.signUps.map(\.at.description)
        // The clocks went back on November 1, 2026.
        #expect(starts.contains("2026-10-31T04:00:00.000Z"))
        #expect(starts.contains("2026-11-02T05:00:00.000Z"))
        #expect(starts.count == 30)
    }
}
