import API
import Gatehouse
import HTTP
import JSON
import Storage
import Synchronization
import TestSupport
import Testing
import Text

/// How an export runs: how many at once, how far, and what ends it.
@Suite(.serialized, .cleansUp) struct ExportRunTests {
    /// A list of numbers that fails behind six hundred.
    private final class Fixture: Sendable {
        let service: TestService
        let clock = TestClock()
        let log = CapturedLog()
        let failure = Mutex<(from: Int, error: any Error)>((600, Broken()))

        init() async throws {
            service = try await TestService.make(
                logger: log.logger, clock: { [clock] in clock.now })
        }

        /// The statuses that were logged for exports.
        var statuses: [Int] {
            get throws { try log.records(of: "/numbers").compactMap { $0["status"]?.int } }
        }

        /// A key of the platform, or of a tenant if its path is given.
        func key(at path: String = "/v1/api-keys", _ more: String = "") async throws -> MadeKey {
            try await service.makeKey(#""users:read""#, more, at: path)
        }

        func dispatcher(_ limits: ExportLimits = ExportLimits()) throws -> Dispatcher {
            let endpoint = Endpoint(
                .get, "/numbers", id: "listNumbers", tag: "N", summary: "", access: .principal,
                query: QueryParameter.list(sorts: ["created_at"]),
                answers: [
                    .list(
                        ObjectShape("Number", [.readOnly("n", .integer(0...Int.max), "A number.")]))
                ]
            ) { call in
                let page = try call.page()
                let from = page.after.flatMap { Int($0.key) } ?? 0
                let failure = self.failure.withLock { $0 }
                if from == failure.from { throw failure.error }
                let items = (from..<(from + page.limit)).map {
                    JSONValue.object([.init("n", .int($0))])
                }
                return call.list(
                    items, next: Cursor(key: "\(from + page.limit)", id: ThingFixture.thing),
                    total: Total(0))
            }
            return try Dispatcher(
                endpoints: [endpoint], application: service.composition.application,
                exports: limits)
        }

        /// Begins an export.
        func begin(_ key: MadeKey, _ fields: [Field] = []) async throws -> Response {
            try await dispatcher().respond(to: Self.request(key, fields))
        }

        static func request(_ key: MadeKey, _ fields: [Field] = []) -> Request {
            Request(
                .get, "/numbers",
                fields: [
                    Field("accept", "text/csv"), Field("authorization", "Bearer \(key.secret)"),
                ] + fields)
        }
    }

    private static func pieces(
        of response: Response
    ) throws -> @Sendable () async throws -> [UInt8]? {
        guard case .stream(let next) = response.body else { throw Broken() }
        return next
    }

    @Test func `a failure on the way cuts the file and is logged`() async throws {
        let fixture = try await Fixture()
        let answer = await TestAnswer.read(try await fixture.begin(fixture.key()))
        #expect(answer.isCut)
        #expect(try CSVFile(answer.bytes).rows.count == 600)
        #expect(try fixture.statuses == [200, 500])
        let fault = try fixture.log.records(of: "/numbers").last?["fault"]?.string
        #expect(fault?.hasPrefix("the export was cut behind 600 rows") == true)
    }

    @Test func `a file longer than the limit is cut`() async throws {
        let fixture = try await Fixture()
        var limits = ExportLimits()
        limits.rows = 400
        let answer = try await TestAnswer.read(
            fixture.dispatcher(limits).respond(to: Fixture.request(fixture.key())))
        #expect(answer.isCut)
        #expect(try CSVFile(answer.bytes).rows.count == 400)
    }

    @Test func `a third export of one caller waits, and so does a ninth of all`()
        async throws
    {
        let fixture = try await Fixture()
        let dispatcher = try fixture.dispatcher()
        var keys: [MadeKey] = []
        for _ in 0..<5 { keys.append(try await fixture.key()) }
        var running: [Response] = []
        for caller in [0, 0, 1, 1, 2, 2, 3, 3] {
            running.append(await dispatcher.respond(to: Fixture.request(keys[caller])))
        }
        #expect(running.allSatisfy { $0.status == 200 })
        let third = await dispatcher.respond(to: Fixture.request(keys[0]))
        #expect(third.status == 429 && third.first("retry-after") == "5")
        #expect(try third.code() == "rate_limited")
        let ninth = await dispatcher.respond(to: Fixture.request(keys[4]))
        #expect(ninth.status == 503 && ninth.first("retry-after") == "5")
        let page = await dispatcher.respond(
            to: Request(
                .get, "/numbers", fields: [Field("authorization", "Bearer \(keys[0].secret)")]))
        #expect(page.status == 200)
        // One is read to its end, one is given up by its client.
        _ = await TestAnswer.read(running.removeFirst())
        #expect(await dispatcher.respond(to: Fixture.request(keys[4])).status == 200)
        running.removeAll()
        #expect(await dispatcher.respond(to: Fixture.request(keys[0])).status == 200)
    }

    @Test func `a credential that is revoked on the way ends the export`() async throws {
        let fixture = try await Fixture()
        let key = try await fixture.key()
        let next = try Self.pieces(of: try await fixture.begin(key))
        #expect(try await next() != nil)
        #expect(try await next() != nil)
        try await fixture.service.manage(.post, "/v1/api-keys/\(key.id)/revoke", "{}")
        await #expect(throws: Problem.self) { try await next() }
        #expect(try fixture.statuses == [200, 401])
    }

    @Test func `removing the origin from the list during an export ends it`() async throws {
        let fixture = try await Fixture()
        let service = fixture.service
        let listed = try await service.manage(
            .post, "/v1/cors-origins", #"{"origin":"\#(ThingFixture.origin)"}"#)
        let next = try Self.pieces(
            of: try await fixture.begin(fixture.key(), [Field("origin", ThingFixture.origin)]))
        _ = try await next()
        let removed = try await service.send(
            .delete, "/v1/cors-origins/\(listed["id"]?.string ?? "")", as: .platformOwner)
        #expect(removed.status == 204)
        await #expect(throws: Problem.self) { try await next() }
        #expect(try fixture.statuses == [200, 403])
    }

    @Test func `the looks at a credential are no uses of it`() async throws {
        let fixture = try await Fixture()
        fixture.clock.startMinute()
        let key = try await fixture.key(at: "/v1/api-keys", #","rate_limit":{"per_minute":1}"#)
        let next = try Self.pieces(of: try await fixture.begin(key))
        #expect(try await next() != nil)
        #expect(try await next() != nil)
        #expect(try await fixture.begin(key).status == 429)
    }

    @Test func `rights that change on the way cut the file`() async throws {
        let fixture = try await Fixture()
        let key = try await fixture.key()
        let next = try Self.pieces(of: try await fixture.begin(key))
        _ = try await next()
        let narrowed = try await fixture.service.send(
            .patch, "/v1/api-keys/\(key.id)", json: #"{"scopes":["invites:read"]}"#,
            as: .platformOwner)
        #expect(narrowed.status == 200, "\(narrowed.text)")
        await #expect(throws: Problem.self) { try await next() }
        #expect(try fixture.statuses == [200, 403])
    }

    @Test func `one tenant's credentials share four places, and none is held for over an hour`()
        async throws
    {
        let fixture = try await Fixture()
        for slug in ["acme", "other"] { try await fixture.service.makeTenant(slug) }
        let dispatcher = try fixture.dispatcher()
        func begin(_ tenant: String) async throws -> Response {
            let key = try await fixture.key(at: "/v1/tenants/\(tenant)/api-keys")
            return await dispatcher.respond(to: Fixture.request(key))
        }
        var running: [Response] = []
        for _ in 0..<4 { running.append(try await begin("acme")) }
        #expect(running.allSatisfy { $0.status == 200 })
        #expect(try await begin("acme").status == 429)
        #expect(try await begin("other").status == 200)
        let next = try Self.pieces(of: running[0])
        _ = try await next()
        fixture.clock.advance(seconds: 3600)
        await #expect(throws: (any Error).self) { try await next() }
        #expect(try fixture.statuses.last == 500)
    }

    @Test func `a first page that fails is an answer of its own`() async throws {
        let fixture = try await Fixture()
        fixture.failure.withLock { $0 = (0, Problem.unavailable) }
        #expect(try await fixture.begin(fixture.key()).status == 503)
    }
}
