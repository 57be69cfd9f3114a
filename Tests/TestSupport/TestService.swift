import API
import Cryptography
import Domain
import Gatehouse
import HTTP
import JSON
import Outbound
import Postgres
import Runtime
import Storage
import Synchronization
import Text

/// The real service over a real PostgreSQL, driven in process: everything but the sockets.
package final class TestService: Sendable {
    package enum Credential: Sendable {
        case anonymous
        /// A console session of an operator of the platform with the role owner.
        case platformOwner
        /// A console session of an operator of that tenant with the role owner.
        case tenantAdmin(TenantRow)
        case session(String)
        case bearer(String)

        /// The scope in the form of the body that creates an operator.
        package var scope: String {
            if case .tenantAdmin(let tenant) = self { return #"{"tenant":"\#(tenant.id)"}"# }
            return #"{"platform":true}"#
        }
    }

    package let database: TestDatabase
    package let composition: Composition
    private let clock: @Sendable () -> Timestamp
    private let servers: Servers
    private let sessions = Mutex<[String: String]>([:])

    /// The servers that answer the reads of one tenant to each role, if the cluster has several.
    private struct Servers {
        var app: CitusWorkers?
        var platform: CitusWorkers?
    }

    private init(
        database: TestDatabase, servers: Servers, publicURL: String,
        externalServices: ExternalServices,
        logger: Logger?, secondFactorDays: Int?, standbys: Standbys?,
        clock: @escaping @Sendable () -> Timestamp
    ) throws {
        self.database = database
        self.clock = clock
        self.servers = servers
        composition = try Self.compose(
            database, servers, publicURL: publicURL, externalServices: externalServices,
            logger: logger,
            secondFactorDays: secondFactorDays, standbys: standbys, clock)
    }

    private static func compose(
        _ database: TestDatabase, _ servers: Servers, publicURL: String = "http://gatehouse.test",
        externalServices: ExternalServices = ExternalServices(
            providers: OutboundPolicy(allowsLoopback: true)),
        logger: Logger? = nil,
        secrets: SecretKeys = SecretKeys([UInt8](repeating: 7, count: 32)),
        secondFactorDays: Int? = nil, standbys: Standbys? = nil,
        _ clock: @escaping @Sendable () -> Timestamp
    ) throws -> Composition {
        let app = database.client(as: database.app, workers: servers.app)
        let platform = database.client(as: database.platform, workers: servers.platform)
        // Cheap parameters: the tests are about who gets in, not about how long a hash takes.
        let passwords = PasswordHasher(
            secrets: secrets, threads: 2,
            cost: PasswordHasher.Cost(kibibytes: 64, passes: 1, lanes: 1))
        // Patient, since a test's machine may be slow: what is tested is that everyone gets their
        // turn.
        return try Composition(
            app: app, platform: platform, standbys: standbys, secrets: secrets,
            publicURL: publicURL, passwords: passwords, logger: logger,
            externalServices: externalServices, personLock: PersonLock(patience: .seconds(60)),
            secondFactorDays: secondFactorDays, clock: clock)
    }

    /// `externalServices` reach only this machine unless a test says otherwise. `standbys` are
    /// those of `database`.
    package static func make(
        publicURL: String = "http://gatehouse.test",
        externalServices: ExternalServices = ExternalServices(
            providers: OutboundPolicy(allowsLoopback: true)),
        logger: Logger? = nil, secondFactorDays: Int? = nil, over database: TestDatabase? = nil,
        standbys: Standbys? = nil,
        clock: @escaping @Sendable () -> Timestamp = TestClock.slow()
    ) async throws -> TestService {
        let made = if let database { database } else { try await TestDatabase.make() }
        let servers = Servers(
            app: try await made.workers(as: made.app),
            platform: try await made.workers(as: made.platform))
        return try TestService(
            database: made, servers: servers, publicURL: publicURL,
            externalServices: externalServices,
            logger: logger, secondFactorDays: secondFactorDays, standbys: standbys, clock: clock)
    }

    /// A service with the tenant `acme`.
    package static func makeWithTenant(
        clock: TestClock? = nil
    ) async throws -> (TestService, TenantRow) {
        let service = try await make(clock: TestClock.reading(clock))
        return (service, try await service.makeTenant("acme"))
    }

    /// A second service over the same database, as another machine would run it.
    package func replica(
        secrets: SecretKeys = SecretKeys([UInt8](repeating: 7, count: 32)),
        standbys: Standbys? = nil
    ) throws -> Composition {
        try Self.compose(database, servers, secrets: secrets, standbys: standbys, clock)
    }

    package var storage: Database { composition.application.database }

    @discardableResult
    package func makeTenant(_ slug: String) async throws -> TenantRow {
        try await storage.createTenant(
            slug: slug, name: slug, policy: .object([]), by: .system)
    }

    /// An active user with a password.
    package func makeUser(
        _ email: String, name: String, role: UserRole = .member, password: String,
        in tenant: TenantRow
    ) async throws -> UserRow {
        let hash = try await composition.application.passwords.hash(Array(password.utf8))
        return try await storage.scope(tenant.id).change(by: .system) { change in
            let row = try await change.createUser(
                email: EmailAddress(email), name: name, role: role)
            try await change.query(
                """
                UPDATE users SET status = 'active', email_verified_at = \(change.now)
                WHERE tenant_id = \(tenant.id) AND id = \(row.id)
                """)
            return try await change.setPassword(hash, of: row.id, keeping: .none)
        }
    }

    /// Sends one request, and throws if the request or the answer differs from `/openapi.json`.
    /// `json` is the body's text, `bytes` a body that is not text, `address` that of the client,
    /// and `replica` the one that answers.
    package func send(
        _ method: Method, _ target: String, json: String? = nil, bytes: [UInt8]? = nil,
        as credential: Credential = .anonymous, fields: [Field] = [],
        from address: String = "127.0.0.1", isTLS: Bool = false, to replica: Composition? = nil
    ) async throws -> TestAnswer {
        var all = fields
        switch credential {
        case .anonymous: break
        case .bearer(let key): all.append(Field("authorization", "Bearer \(key)"))
        case .session(let token): all += Self.console(token)
        case .platformOwner: all += Self.console(try await session(role: .owner, tenant: nil))
        case .tenantAdmin(let tenant):
            all += Self.console(try await session(role: .owner, tenant: tenant.id))
        }
        if json != nil, !all.contains(where: { $0.name == "content-type" }) {
            all.append(Field("content-type", "application/json"))
        }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let request = Request(
            method, String(parts[0]), query: parts.count > 1 ? String(parts[1]) : "", fields: all,
            body: bytes ?? json.map { Array($0.utf8) } ?? [], remoteAddress: address, isTLS: isTLS)
        let response = await (replica ?? composition).respond(to: request)
        // On a host that is bound to a client, only that client answers, by its own contract.
        let isBound = request.first("host").map { $0 != "gatehouse.test" } ?? false
        if !isBound { try Contract.served.check(request, response) }
        return await method == .head ? TestAnswer(response: response) : .read(response)
    }

    /// Makes one call as the platform's owner, which must succeed.
    @discardableResult
    package func manage(
        _ method: Method, _ path: String, _ json: String
    ) async throws -> JSONValue {
        let answer = try await send(method, path, json: json, as: .platformOwner)
        guard answer.status < 300 else {
            throw Refused(call: "\(method.rawValue) \(path)", answer: answer.text)
        }
        return answer.json
    }

    /// Adds a domain to the tenant, verified by the platform; returns its id.
    @discardableResult
    package func proveDomain(_ name: String, of slug: String) async throws -> String {
        let path = "/v1/tenants/\(slug)/domains"
        let id = try await manage(.post, path, #"{"domain":"\#(name)"}"#)["id"]?.string ?? ""
        try await manage(.post, "\(path)/\(id)/verify", #"{"method":"operator"}"#)
        return id
    }

    package struct Refused: Error {
        package let call: String
        package let answer: String
    }

    /// The token of a console session for an operator of this role, created once.
    package func session(role: Operator.Role, tenant: UUID?) async throws -> String {
        let email = "\(role)-\(tenant?.description ?? "platform")@operators.example"
        if let token = sessions.withLock({ $0[email] }) { return token }
        let person = try await storage.createOperator(
            email: email, emailKey: email, name: role.rawValue, role: role, tenant: tenant,
            passwordHash: nil, by: .system)
        let token = TokenSecret.make()
        try await storage.startOperatorSession(
            person, tokenHash: TokenSecret.hash(token) ?? [], userAgent: nil, method: .password,
            by: .system)
        sessions.withLock { $0[email] = token }
        return token
    }

    private static func console(_ token: String) -> [Field] {
        [
            Field("cookie", "gatehouse=\(token)"), Field("x-gatehouse-console", "1"),
            Field("sec-fetch-site", "same-origin"),
        ]
    }
}

package struct TestAnswer: Sendable {
    package let response: Response
    /// Whether the stream failed on its way; `bytes` are what came before.
    package var isCut = false

    /// The answer with its stream read, as a client on the wire gets it.
    package static func read(_ response: Response) async -> TestAnswer {
        guard case .stream(let next) = response.body else { return TestAnswer(response: response) }
        var bytes: [UInt8] = []
        var isCut = false
        do { while let piece = try await next() { bytes += piece } } catch { isCut = true }
        var whole = response
        whole.body = .bytes(bytes)
        return TestAnswer(response: whole, isCut: isCut)
    }

    package var status: Int { response.status }
    package var bytes: [UInt8] {
        if case .bytes(let bytes) = response.body { bytes } else { [] }
    }
    package var text: String { String(decoding: bytes, as: UTF8.self) }
    /// `null` if the body is not JSON.
    package var json: JSONValue { (try? JSONValue(parsing: bytes)) ?? .null }
    package func first(_ name: String) -> String? { response.first(name) }
}
