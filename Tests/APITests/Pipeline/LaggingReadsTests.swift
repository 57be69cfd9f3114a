import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// Which requests a standby answers, and that no caller misses its own write.
@Suite(.cleansUp, .serialized) struct LaggingReadsTests {
    private static let header = "x-gatehouse-position"
    private static let cookie = "gatehouse-position"

    private struct Fixture {
        let rig: TestStandby
        let standbys: Standbys
        let service: TestService

        static func make() async throws -> Fixture {
            let rig = try await TestStandby.start(isMigrated: true)
            let standbys = try await rig.standbys()
            let service = try await TestService.make(over: rig.database, standbys: standbys)
            try await service.makeTenant("acme")
            try await rig.catchUp()
            return Fixture(rig: rig, standbys: standbys, service: service)
        }

        /// The reads of one request, by who answered them.
        func reads(
            _ request: () async throws -> TestAnswer
        ) async throws -> (answer: TestAnswer, standby: Int, primary: Int) {
            let before = rig.measures.reads
            let answer = try await request()
            let after = rig.measures.reads
            return (answer, after.standby - before.standby, after.primary - before.primary)
        }

        /// Lists the tenant's users from a position; nil: without one.
        func list(
            from position: String?, as key: String, to other: Composition? = nil
        ) async throws -> (answer: TestAnswer, standby: Int, primary: Int) {
            try await reads {
                try await service.send(
                    .get, "/v1/tenants/acme/users", as: .bearer(key),
                    fields: position.map { [Field(LaggingReadsTests.header, $0)] } ?? [], to: other)
            }
        }
    }

    /// The value that an answer sets the cookie to.
    private static func position(_ answer: TestAnswer) -> String? {
        let start = cookie + "="
        return answer.response.fields.last {
            $0.name == "set-cookie" && $0.value.hasPrefix(start)
        }.map { String($0.value.dropFirst(start.count).prefix { $0 != ";" }) }
    }

    @Test func `a standby answers only requests with a position`() async throws {
        let fixture = try await Fixture.make()
        let key = try await fixture.service.makeKey(#""users:read""#).secret
        try await fixture.rig.catchUp()
        let without = try await fixture.list(from: nil, as: key)
        #expect(without.answer.status == 200 && without.standby == 0 && without.primary == 1)
        let with = try await fixture.list(from: "0/0", as: key)
        #expect(with.answer.status == 200 && with.standby == 1 && with.primary == 0)
        #expect(with.answer.first(Self.header) == nil)
        for bad in ["", "1", "x/y", "0/0, 0/0", "1/123456789"] {
            let refused = try await fixture.list(from: bad, as: key)
            #expect(refused.answer.status == 400, "\(bad)")
            #expect(refused.answer.text.contains("X-Gatehouse-Position"))
        }
        // The row that a change is conditional on is the primary's.
        let row = try await fixture.reads {
            try await fixture.service.send(
                .get, "/v1/tenants/acme", as: .platformOwner, fields: [Field(Self.header, "0/0")])
        }
        #expect(row.answer.status == 200 && row.standby == 0 && row.primary == 0)
    }

    @Test func `the answer to a write contains its position`() async throws {
        let fixture = try await Fixture.make()
        let key = try await fixture.service.makeKey(#""users:write","users:read""#).secret
        try await fixture.rig.catchUp()
        try await fixture.rig.pause()
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@acme.example"}"#,
            as: .bearer(key), fields: [Field("idempotency-key", "one")])
        #expect(made.status == 201)
        let position = try #require(made.first(Self.header))
        // At another server of ours too.
        let other = try fixture.service.replica(standbys: fixture.standbys)
        for replica: Composition? in [nil, other] {
            let list = try await fixture.list(from: position, as: key, to: replica)
            #expect(list.standby == 0 && list.primary == 1)
            #expect(list.answer.text.contains("ann@acme.example"))
        }
        let older = try await fixture.list(from: "0/0", as: key)
        #expect(older.standby == 1 && !older.answer.text.contains("ann@acme.example"))
        // The same again, after its answer was lost.
        let again = try await fixture.service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@acme.example"}"#,
            as: .bearer(key), fields: [Field("idempotency-key", "one")])
        #expect(again.first("idempotent-replayed") == "true")
        let replayed = try #require(again.first(Self.header).flatMap { ReadPosition($0) })
        #expect(try replayed >= #require(ReadPosition(position)))
        let twice = try await fixture.service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@acme.example"}"#,
            as: .bearer(key))
        #expect(twice.status == 409 && twice.first(Self.header) != nil)
        try await fixture.rig.resume()
        try await fixture.rig.catchUp()
        let list = try await fixture.list(from: position, as: key)
        #expect(list.standby == 1 && list.primary == 0)
        #expect(list.answer.text.contains("ann@acme.example"))
    }

    /// A position belongs to a request, not to the replica that answers it.
    @Test func `callers at once with other positions are answered each by their own server`()
        async throws
    {
        let fixture = try await Fixture.make()
        let writer = try await fixture.service.makeKey(#""users:write","users:read""#).secret
        let reader = try await fixture.service.makeKey(#""users:read""#).secret
        try await fixture.rig.catchUp()
        try await fixture.rig.pause()
        let made = try await fixture.service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@acme.example"}"#,
            as: .bearer(writer))
        let position = try #require(made.first(Self.header))
        let before = fixture.rig.measures.reads
        let each = 20
        let seen = try await withThrowingTaskGroup(of: (isWriter: Bool, seesAnn: Bool).self) {
            group in
            for number in 0..<(2 * each) {
                let isWriter = number.isMultiple(of: 2)
                group.addTask {
                    let answer = try await fixture.service.send(
                        .get, "/v1/tenants/acme/users",
                        as: .bearer(isWriter ? writer : reader),
                        fields: [Field(Self.header, isWriter ? position : "0/0")])
                    #expect(answer.status == 200)
                    return (isWriter, answer.text.contains("ann@acme.example"))
                }
            }
            var seen: [(isWriter: Bool, seesAnn: Bool)] = []
            for try await one in group { seen.append(one) }
            return seen
        }
        // The writer sees its own write, which the standby does not have.
        #expect(seen.count == 2 * each && seen.allSatisfy { $0.isWriter == $0.seesAnn })
        let after = fixture.rig.measures.reads
        #expect(after.primary - before.primary == each)
        #expect(after.standby - before.standby == each)
        try await fixture.rig.resume()
    }

    @Test func `the console has its position in a cookie from the sign-in on`() async throws {
        let fixture = try await Fixture.make()
        let service = fixture.service
        let hash = try await service.composition.application.passwords.hash(
            Array("a good passphrase".utf8))
        _ = try await service.storage.createOperator(
            email: "o@acme.example", emailKey: "o@acme.example", name: "O", role: .owner,
            tenant: nil, passwordHash: hash, by: .system)
        let signedIn = try await service.send(
            .post, "/v1/session",
            json: #"{"email":"o@acme.example","password":"a good passphrase"}"#)
        #expect(signedIn.status == 201)
        let session = try #require(OperatorFixture.cookie(of: signedIn))
        let first = try #require(Self.position(signedIn))
        #expect(signedIn.first(Self.header) == nil)
        try await fixture.rig.catchUp()
        func send(
            _ method: Method, _ path: String, _ json: String? = nil, _ position: String?
        ) async throws -> (answer: TestAnswer, standby: Int, primary: Int) {
            try await fixture.reads {
                try await service.send(
                    method, path, json: json, as: .session(session),
                    fields: position.map { [Field("cookie", "\(Self.cookie)=\($0)")] } ?? [])
            }
        }
        let lists = [
            "/v1/stats/overview", "/v1/search?q=acme&tenant=acme", "/v1/audit-events?histogram=10",
            "/v1/tenants/acme/users?q=ann", "/v1/tenants/acme/invites", "/v1/tenants",
            "/v1/tenants/acme/api-keys", "/v1/tenants/acme/provisioning/decisions",
            "/v1/provisioning/decisions?histogram=10", "/v1/tenants/acme/domains", "/v1/jobs",
            "/v1/tenants/acme/users/duplicates", "/v1/tenants/acme/audit-events",
        ]
        for path in lists {
            let list = try await send(.get, path, nil, first)
            #expect(list.answer.status == 200, "\(path) \(list.answer.text)")
            #expect(list.standby > 0 && list.primary == 0, "\(path)")
            #expect(Self.position(list.answer) == nil, "\(path)")
        }
        for none in [nil, "nonsense"] {
            let list = try await send(.get, "/v1/tenants", nil, none)
            #expect(list.answer.status == 200 && list.standby == 0 && list.primary > 0)
        }
        let made = try await send(
            .post, "/v1/tenants", #"{"slug":"other","name":"Other"}"#, first)
        #expect(made.answer.status == 201)
        let second = try #require(Self.position(made.answer).flatMap { ReadPosition($0) })
        #expect(try second > #require(ReadPosition(first)))
        let out = try await send(.delete, "/v1/session", nil, first)
        #expect(out.answer.status == 204)
        #expect(Self.position(out.answer) == "")
    }

    @Test func `the cookie is as well kept as the session's`() async throws {
        let fixture = try await Fixture.make()
        for isTLS in [false, true] {
            let hash = try await fixture.service.composition.application.passwords.hash(
                Array("a good one".utf8))
            _ = try await fixture.service.storage.createOperator(
                email: "o\(isTLS)@acme.example", emailKey: "o\(isTLS)@acme.example", name: "O",
                role: .owner, tenant: nil, passwordHash: hash, by: .system)
            let answer = try await fixture.service.send(
                .post, "/v1/session",
                json: #"{"email":"o\#(isTLS)@acme.example","password":"a good one"}"#,
                isTLS: isTLS)
            let lines = answer.response.fields.filter { $0.name == "set-cookie" }.map(\.value)
            func attributes(_ name: String) -> String? {
                let start = (isTLS ? "__Host-" : "") + name + "="
                return lines.first { $0.hasPrefix(start) }.map { String($0.drop { $0 != ";" }) }
            }
            #expect(attributes("gatehouse") != nil)
            #expect(attributes("gatehouse") == attributes(Self.cookie))
        }
    }

    @Test func `an export reads from the standby, and from the primary if that is lost`()
        async throws
    {
        let fixture = try await Fixture.make()
        let key = try await fixture.service.makeKey(#""users:write","users:read""#).secret
        for name in ["ann", "bob"] {
            try await fixture.service.manage(
                .post, "/v1/tenants/acme/users", #"{"email":"\#(name)@acme.example"}"#)
        }
        try await fixture.rig.catchUp()
        func export() async throws -> (answer: TestAnswer, standby: Int, primary: Int) {
            try await fixture.reads {
                try await fixture.service.send(
                    .get, "/v1/tenants/acme/users", as: .bearer(key),
                    fields: [Field("accept", "text/csv"), Field(Self.header, "0/0")])
            }
        }
        let whole = try await export()
        #expect(whole.standby > 0 && whole.primary == 0)
        try fixture.rig.crash()
        let other = try await export()
        #expect(other.standby == 0 && other.primary > 0)
        #expect(other.answer.status == 200 && other.answer.bytes == whole.answer.bytes)
    }

    @Test func `without standbys nothing is said of positions`() async throws {
        let (service, _) = try await TestService.makeWithTenant()
        let made = try await service.send(
            .post, "/v1/tenants/acme/users", json: #"{"email":"ann@acme.example"}"#,
            as: .platformOwner)
        #expect(made.status == 201)
        #expect(made.first(Self.header) == nil && Self.position(made) == nil)
        let list = try await service.send(
            .get, "/v1/tenants/acme/users", as: .platformOwner,
            fields: [Field(Self.header, "FFFF/0")])
        #expect(list.status == 200)
    }

    /// These and no others; a new one is weighed by the table in deploy/docs/scaling.md.
    private static let lagging: Set = [
        "getOverview", "search", "listAuditEvents", "listTenantAuditEvents", "listDecisions",
        "listTenantDecisions", "listUsers", "listDuplicates", "listMerges", "listInvites",
        "listJoinLinks", "listApiKeys", "listPlatformApiKeys", "listDomains", "listTenants",
        "listJobs", "listPlatformJobs", "listFailedSignIns", "listAllFailedSignIns",
    ]

    @Test func `only lists on which no change and no sign-in depends may lag`() {
        #expect(Set(Routes.all.filter(\.mayLag).map(\.id)) == Self.lagging)
        let conditional = Set(Routes.all.filter { $0.ifMatch != .ignored }.map(\.path))
        for endpoint in Routes.all where endpoint.mayLag {
            #expect(endpoint.method == .get, "\(endpoint.id)")
            #expect(endpoint.access != .open && !endpoint.isStream, "\(endpoint.id)")
            #expect(!endpoint.path.hasSuffix("}"), "\(endpoint.id)")
            #expect(!conditional.contains(endpoint.path), "\(endpoint.id)")
            for never in ["/session", "/v1/me", "/operators", "/policy", "/cors", "/verify"] {
                #expect(!endpoint.path.contains(never), "\(endpoint.id)")
            }
        }
    }
}
