import API
import Domain
import HTTP
import JSON
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// How an export runs: how many at once, how far, and what ends it.
@Suite(.serialized, .cleansUp) struct ExportRunTests {
    /// A list of numbers that fails behind six hundred, for callers by number.
    private final class Fixture: Sendable {
        let records = Records()
        let now = Mutex<Int64>(0)
        let refusal = Mutex<Problem?>(nil)
        let originRefusal = Mutex<Problem?>(nil)
        let role = Mutex(Operator.Role.admin)
        let tenant = Mutex<UUID?>(nil)
        let asked = Counter()
        let counted = Counter()

        private func principal(of request: Request) throws -> CallerPrincipal {
            _ = asked.next()
            if let refusal = refusal.withLock({ $0 }) { throw refusal }
            let caller = request.first("authorization").flatMap { UInt64($0) } ?? 1
            return CallerPrincipal(
                .operator(
                    id: UUID(high: 7, low: caller), role: role.withLock { $0 },
                    tenant: tenant.withLock { $0 }))
        }

        func dispatcher(_ limits: ExportLimits = ExportLimits()) throws -> Dispatcher {
            let endpoint = Endpoint(
                .get, "/numbers", id: "listNumbers", tag: "N", summary: "", access: .principal,
                query: QueryParameter.list(sorts: ["created_at"]),
                answers: [.list(ObjectShape("Number", [.readOnly("n", .integer(0...Int.max))]))]
            ) { call in
                let page = try call.page()
                let from = page.after.flatMap { Int($0.key) } ?? 0
                if from == 600 { throw Broken() }
                let items = (from..<(from + page.limit)).map {
                    JSONValue.object([.init("n", .int($0))])
                }
                return call.list(
                    items, next: Cursor(key: "\(from + page.limit)", id: ThingFixture.thing),
                    total: Total(0))
            }
            return try Dispatcher(
                endpoints: [endpoint], services: Services(),
                hooks: Hooks(
                    authenticate: {
                        _ = self.counted.next()
                        return try self.principal(of: $0)
                    },
                    recheck: { try self.principal(of: $0) },
                    resolveTenant: { _, _ in nil }, authorize: { _, _, _ in nil },
                    enforceCORS: { _, _ in
                        self.originRefusal.withLock { $0.map { CORSVerdict(.refuse($0)) } }
                            ?? .proceed
                    },
                    record: { self.records.append($0) },
                    now: { Timestamp(microseconds: self.now.withLock { $0 }) }),
                exports: limits)
        }
    }

    private func request(_ caller: Int = 1) -> Request {
        Request(
            .get, "/numbers",
            fields: [Field("accept", "text/csv"), Field("authorization", "\(caller)")])
    }

    @Test func `a failure on the way cuts the file and is logged`() async throws {
        let fixture = Fixture()
        let answer = await TestAnswer.read(try fixture.dispatcher().respond(to: request()))
        #expect(answer.isCut)
        #expect(try CSVFile(answer.bytes).rows.count == 600)
        let records = fixture.records.all
        #expect(records.map(\.status) == [200, 500])
        #expect(records.last?.fault?.hasPrefix("the export was cut behind 600 rows") == true)
    }

    @Test func `a file longer than the limit is cut`() async throws {
        let fixture = Fixture()
        var limits = ExportLimits()
        limits.rows = 400
        let answer = await TestAnswer.read(try fixture.dispatcher(limits).respond(to: request()))
        #expect(answer.isCut)
        #expect(try CSVFile(answer.bytes).rows.count == 400)
    }

    @Test func `a third export of one caller waits, and so does a ninth of all`()
        async throws
    {
        let dispatcher = try Fixture().dispatcher()
        var running: [Response] = []
        for caller in [1, 1, 2, 2, 3, 3, 4, 4] {
            running.append(await dispatcher.respond(to: request(caller)))
        }
        #expect(running.allSatisfy { $0.status == 200 })
        let third = await dispatcher.respond(to: request(1))
        #expect(third.status == 429 && third.first("retry-after") == "5")
        #expect(try third.code() == "rate_limited")
        let ninth = await dispatcher.respond(to: request(5))
        #expect(ninth.status == 503 && ninth.first("retry-after") == "5")
        let page = await dispatcher.respond(
            to: Request(.get, "/numbers", fields: [Field("authorization", "1")]))
        #expect(page.status == 200)
        // One is read to its end, one is given up by its client.
        _ = await TestAnswer.read(running.removeFirst())
        #expect(await dispatcher.respond(to: request(5)).status == 200)
        running.removeAll()
        #expect(await dispatcher.respond(to: request(1)).status == 200)
    }

    @Test func `a credential that is revoked on the way ends the export`() async throws {
        let fixture = Fixture()
        let response = try await fixture.dispatcher().respond(to: request())
        guard case .stream(let next) = response.body else { throw Broken() }
        #expect(try await next() != nil && fixture.asked.count == 1)
        #expect(try await next() != nil && fixture.asked.count == 2)
        fixture.refusal.withLock { $0 = .unauthorized("The key has been revoked.") }
        await #expect(throws: Problem.self) { try await next() }
        #expect(fixture.records.all.map(\.status) == [200, 401])
    }

    @Test func `an origin that is taken off the list on the way ends the export`() async throws {
        let fixture = Fixture()
        let response = try await fixture.dispatcher().respond(to: request())
        guard case .stream(let next) = response.body else { throw Broken() }
        _ = try await next()
        fixture.originRefusal.withLock { $0 = .forbidden("The origin is not on the list.") }
        await #expect(throws: Problem.self) { try await next() }
        #expect(fixture.records.all.map(\.status) == [200, 403])
    }

    @Test func `the looks at a credential are no uses of it`() async throws {
        let fixture = Fixture()
        let response = try await fixture.dispatcher().respond(to: request())
        guard case .stream(let next) = response.body else { throw Broken() }
        _ = try await next()
        #expect(try await next() != nil && fixture.asked.count == 2 && fixture.counted.count == 1)
    }

    @Test func `rights that change on the way cut the file`() async throws {
        let fixture = Fixture()
        let response = try await fixture.dispatcher().respond(to: request())
        guard case .stream(let next) = response.body else { throw Broken() }
        _ = try await next()
        fixture.role.withLock { $0 = .auditor }
        await #expect(throws: Problem.self) { try await next() }
        #expect(fixture.records.all.map(\.status) == [200, 403])
    }

    @Test func `one tenant's credentials share four places, and none is held for over an hour`()
        async throws
    {
        let fixture = Fixture()
        fixture.tenant.withLock { $0 = UUID(high: 1, low: 1) }
        let dispatcher = try fixture.dispatcher()
        var running: [Response] = []
        for caller in 1...4 { running.append(await dispatcher.respond(to: request(caller))) }
        #expect(running.allSatisfy { $0.status == 200 })
        #expect(await dispatcher.respond(to: request(5)).status == 429)
        fixture.tenant.withLock { $0 = UUID(high: 1, low: 2) }
        #expect(await dispatcher.respond(to: request(5)).status == 200)
        fixture.tenant.withLock { $0 = UUID(high: 1, low: 1) }
        guard case .stream(let next) = running[0].body else { throw Broken() }
        _ = try await next()
        fixture.now.withLock { $0 = 3_600_000_000 }
        await #expect(throws: (any Error).self) { try await next() }
        #expect(fixture.records.all.last?.status == 500)
    }

    @Test func `a first page that fails is an answer of its own`() async throws {
        let fixture = Fixture()
        fixture.refusal.withLock { $0 = .unavailable }
        let answer = try await fixture.dispatcher().respond(to: request())
        #expect(answer.status == 503)
    }
}
