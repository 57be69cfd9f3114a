import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Storage
import TestSupport
import Testing
import Text

/// A tenant with a rule for inactivity, a clock, and perhaps a mail server.
struct InactivityFixture {
    static let day: Int64 = 86_400
    static let policy = "/v1/tenants/acme/policy"

    let base: UserFixture
    let clock: TestClock
    let sink: SMTPSink?
    var service: TestService { base.service }
    var tenant: UUID { base.tenant.id }
    var scope: TenantScope { service.storage.scope(tenant) }

    /// The clock stands at noon, so that what counts by the day does not turn over.
    static func make(mails: Bool = false) async throws -> InactivityFixture {
        let clock = TestClock()
        clock.advance(seconds: 2 * day - (clock.now.microseconds / 1_000_000 + day / 2) % day)
        let sink = mails ? SMTPSink() : nil
        var outside = ExternalServices(providers: OutboundPolicy(allowsLoopback: true))
        if let sink {
            outside.mail = .init(url: sink.url, from: try EmailAddress("gate@mail.example"))
        }
        let service = try await TestService.make(
            externalServices: outside, clock: { clock.now })
        let tenant = try await service.makeTenant("acme")
        return InactivityFixture(
            base: UserFixture(service: service, tenant: tenant), clock: clock, sink: sink)
    }

    func put(
        _ rule: String, query: String = "", match: String = "*", more: String = ""
    ) async throws -> TestAnswer {
        try await service.send(
            .put, Self.policy + query, json: #"{"inactivity":\#(rule)\#(more)}"#,
            as: try await self.operator(.owner), fields: [Field("if-match", match)])
    }

    /// Signed in now: the days of these tests are longer than a session.
    func `operator`(
        _ role: Operator.Role, _ tenant: UUID? = nil
    ) async throws -> TestService.Credential {
        let email = "\(UUID.random())@operators.example"
        let person = try await service.storage.createOperator(
            email: email, emailKey: email, name: role.rawValue, role: role, tenant: tenant,
            passwordHash: nil, by: .system)
        let token = TokenSecret.make()
        try await service.storage.startOperatorSession(
            person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
            by: .system)
        return .session(token)
    }

    func send(_ method: Method, _ path: String, json: String? = nil) async throws -> TestAnswer {
        try await service.send(
            method, "/v1/tenants/acme/users" + path, json: json,
            as: try await self.operator(.owner, tenant))
    }

    /// Suspends the tenant, or resumes it.
    func turn(_ verb: String) async throws {
        let answer = try await service.send(
            .post, "/v1/tenants/acme/\(verb)", as: try await self.operator(.owner))
        #expect(answer.status == 200, "\(answer.text)")
    }

    @discardableResult
    func look(_ rule: String, more: String = "") async throws -> TestAnswer {
        let dry = try await put(rule, query: "?dry_run=true", more: more)
        #expect(dry.status == 200, "\(dry.text)")
        return dry
    }

    /// A dry run, then the publication.
    func publish(_ rule: String) async throws {
        try await look(rule)
        let done = try await put(rule)
        #expect(done.status == 200, "\(done.text)")
    }

    /// Active users `n@acme.example`, in the order of their ids.
    func users(_ count: Int) async throws -> [UUID] {
        try await service.storage.addUsers(1...count, to: tenant)
        return try await scope.read(
            "SELECT id FROM users WHERE tenant_id = \(tenant) AND source = 'import' ORDER BY id"
        ).map { try $0.get(0) }
    }

    func advance(days: Int64) { clock.advance(seconds: days * Self.day) }

    /// One look at all tenants, and every job.
    func run() async throws {
        try await service.composition.inactivity.round()
        try await service.composition.jobs.round()
    }

    /// So many days, one after another.
    func run(days: Int64) async throws {
        for _ in 0..<days {
            advance(days: 1)
            try await run()
        }
    }

    func write(_ sql: SQL) async throws {
        _ = try await scope.change(by: .system) { try await $0.query("/* test */" + sql) }
    }

    func user(_ id: UUID) async throws -> UserRow { try #require(await scope.user(id)) }
    func status(_ id: UUID) async throws -> User.Status { try await user(id).status }

    func count(_ status: User.Status) async throws -> Int {
        try await base.count("users WHERE tenant_id = \(tenant) AND status = \(status.rawValue)")
    }

    func jobs() async throws -> [JobRow] {
        try await scope.jobs(ListQuery(limit: 200), JobFilter(kind: "inactivity"))
            .rows
    }

    func audited(_ action: String) async throws -> Int {
        try await base.count("audit_events WHERE tenant_id = \(tenant) AND action = \(action)")
    }

    /// Mails that are waiting or sent.
    func warnings() async throws -> Int {
        try await base.count("mail WHERE tenant_id = \(tenant) AND kind = 'inactivity_warning'")
    }

    func act(_ verb: String, on job: UUID) async throws -> TestAnswer {
        try await service.send(
            .post, "/v1/tenants/acme/jobs/\(job)/\(verb)",
            as: try await self.operator(.owner, tenant))
    }
}
