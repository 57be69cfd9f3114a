import Domain
import HTTP
import JSON
import Postgres
import TestSupport
import Testing
import Text

@testable import Storage

/// How the rows of a list are spread over its period.
@Suite(.cleansUp) struct HistogramTests {
    private static let decisions = "/v1/tenants/acme/provisioning/decisions"
    private static let events = "/v1/tenants/acme/audit-events"

    private struct Fixture {
        let service: TestService
        let tenant: UUID

        static func make() async throws -> Fixture {
            let service = try await TestService.make()
            return Fixture(service: service, tenant: try await service.makeTenant("acme").id)
        }

        /// So many decisions and events, one every so many seconds from a time on.
        func fill(_ count: Int, every seconds: Int, from start: String) async throws {
            _ = try await service.storage.scope(tenant).change(by: .system) { change in
                try await change.query(
                    """
                    INSERT INTO decisions (tenant_id, id, created_at, outcome, reference, provider,
                        issuer, subject, trace, duration_ms)
                    SELECT anchor.id, md5(\(start) || n)::uuid,
                        \(start)::text::timestamptz + n * \(seconds)::int * interval '1 second',
                        CASE WHEN n % 2 = 0 THEN 'refused' ELSE 'created' END,
                        'abcdef', 'google', 'i', 's', '[]', 1
                    FROM \(SQL.anchor(of: tenant)), generate_series(0, \(count - 1)::int) AS n
                    WHERE anchor.id = \(tenant)
                    """)
                try await change.query(
                    """
                    INSERT INTO audit_events (tenant_id, id, occurred_at, actor_type, actor_id,
                        actor_name, action, target_type, target_id, target_name, request_id)
                    SELECT tenant_id, id, created_at, 'system', 'x', 'x',
                        CASE WHEN outcome = 'refused' THEN 'user.created' ELSE 'user.updated' END,
                        'user', 'u', 'u', '' FROM decisions WHERE tenant_id = \(tenant)
                    """)
            }
        }

        func bars(_ path: String) async throws -> [JSONValue] {
            let answer = try await service.send(.get, path, as: .platformOwner)
            return try #require(answer.json["histogram"]?["bars"]?.array, "\(answer.text)")
        }
    }

    private static func counts(_ bars: [JSONValue]) -> [Int] {
        bars.compactMap { $0["count"]?.int }
    }

    private static let day = "since=2026-03-01T00:00:00.000Z&until=2026-03-02T00:00:00.000Z"

    @Test func `a histogram counts the same rows as the list with the same filters`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.fill(48, every: 1800, from: "2026-03-01T00:00:00Z")
        for (path, filter) in [
            (Self.decisions, "outcome=refused"), (Self.events, "action=user.created"),
            ("/v1/provisioning/decisions", "outcome=refused"),
            ("/v1/audit-events", "action=user.created"), (Self.events, "action=user.&target=u"),
        ] {
            let asked = "\(path)?histogram=24&\(Self.day)"
            let whole = try await fixture.bars(asked)
            #expect(Self.counts(whole) == Array(repeating: 2, count: 24), "\(path)")
            #expect(whole.first?["at"]?.string == "2026-03-01T00:00:00.000Z")
            let some = try await fixture.bars("\(asked)&\(filter)")
            let list = try await fixture.service.send(
                .get, "\(path)?\(Self.day)&\(filter)", as: .platformOwner)
            #expect(
                Self.counts(some).reduce(0, +) == list.json["total"]?["value"]?.int, "\(filter)")
        }
        let none = try await fixture.service.send(.get, Self.decisions, as: .platformOwner)
        #expect(none.json["histogram"] == nil)
        for wrong in ["histogram=9", "histogram=121", "histogram=24&time_zone=No/Where"] {
            let answer = try await fixture.service.send(
                .get, "\(Self.decisions)?\(wrong)&\(Self.day)", as: .platformOwner)
            #expect(answer.status == 422, "\(wrong)")
        }
    }

    @Test func `days begin at midnight in the zone, also where a day has 23 hours`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.fill(1, every: 1, from: "2026-03-10T00:00:00Z")
        let bars = try await fixture.bars(
            "\(Self.decisions)?histogram=10&time_zone=Europe/Berlin"
                + "&since=2026-03-27T23:00:00.000Z&until=2026-03-31T22:00:00.000Z")
        let starts = bars.compactMap { $0["at"]?.string }
        #expect(
            starts == [
                "2026-03-27T23:00:00.000Z", "2026-03-28T11:00:00.000Z", "2026-03-28T23:00:00.000Z",
                "2026-03-29T10:00:00.000Z", "2026-03-29T22:00:00.000Z", "2026-03-30T10:00:00.000Z",
                "2026-03-30T22:00:00.000Z", "2026-03-31T10:00:00.000Z",
            ])
    }

    @Test func `a bar of very many says that there are more, and without bounds all is shown`()
        async throws
    {
        let fixture = try await Fixture.make()
        try await fixture.fill(1500, every: 1, from: "2026-03-01T10:00:00Z")
        let whole = try await fixture.bars("\(Self.decisions)?histogram=24&\(Self.day)")
        let full = whole.filter { $0["exact"]?.bool == false }
        #expect(full.compactMap { $0["count"]?.int } == [ListHistogram.most])
        #expect(Self.counts(whole).reduce(0, +) == ListHistogram.most)
        let all = try await fixture.bars("\(Self.decisions)?histogram=60")
        #expect(all.first?["at"]?.string == "2026-03-01T10:00:00.000Z")
        #expect(all.count <= 62)
        let far = try await fixture.bars(
            "\(Self.decisions)?histogram=60&since=0001-01-01T00:00:00.000Z"
                + "&until=9999-01-01T00:00:00.000Z")
        #expect(far.count <= 62)
    }

    @Test func `another tenant's rows are not counted`() async throws {
        let fixture = try await Fixture.make()
        try await fixture.fill(3, every: 60, from: "2026-03-01T10:00:00Z")
        try await fixture.service.makeTenant("other")
        let bars = try await fixture.bars(
            "/v1/tenants/other/provisioning/decisions?histogram=24&\(Self.day)")
        #expect(Self.counts(bars).allSatisfy { $0 == 0 })
    }
}
