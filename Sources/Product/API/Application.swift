import Cryptography
import Domain
import HTTP
import Outbound
import Runtime
import Storage
import Text

/// The parts of the service that requests and background work share, created once for each process.
/// Code that needs only one part should be given that part.
package final class Application: Sendable {
    package let database: Database
    package let passwords: PasswordHasher
    package let tokens: AccessTokens
    /// Calls the endpoints of identity providers.
    package let http: OutboundHTTP
    /// What providers publish: their endpoints, and the keys that verify their tokens.
    package let documents: ProviderDocuments
    private let resolver: TXTResolver
    /// The server's public URL, without a trailing slash; the base of links.
    package let publicURL: String
    /// Whether mail is sent. If not, links are shown to the operator, who delivers them.
    let sendsMail: Bool
    /// Whether imported password hashes must be within the tighter limits on their cost parameters.
    let holdsImportedHashesTightly: Bool
    /// The built-in client contracts.
    let clients: [ClientDescription]
    /// The methods of each documented path.
    let documentedRoutes: RouteTable<Endpoint>?
    package let authenticator: Authenticator
    package let origins: CORSPolicyEnforcer
    /// The stored responses of requests with an `Idempotency-Key`.
    let responses: ResponseStore
    /// Encrypts the state of an unfinished sign-in, inside and outside the database.
    package let signInSealer: Sealer
    package let metrics: ServiceMetrics
    package let requests: RequestLog
    /// Waits for a duration without blocking a thread. It is used before a provider is polled
    /// again, and before a sign-in attempt that is slowed down.
    package let pause: @Sendable (Duration) async throws -> Void

    /// The imports that are being received, by tenant.
    let uploads = InFlight<UUID>(perKey: 2, total: 8, isFair: true)
    /// Limits how many batches of key verifications a caller may run at the same time, so that no
    /// caller occupies the database alone. Each batch makes `Database.lookUpsAtOnce` concurrent
    /// look-ups.
    package let batches = InFlight<UUID?>(perKey: 8)
    /// The attempts that are being slowed down, by address.
    package let slowedAttempts = InFlight<String>(perKey: 1, total: 1000)

    /// The settings of the application. The environment supplies values such as the public URL; the
    /// modules above this one supply others, such as the endpoints and the client contracts.
    package struct Options: Sendable {
        var publicURL: String
        package var sendsMail = false
        package var holdsImportedHashesTightly = false
        /// Limits for requests to identity providers.
        package var providers = OutboundPolicy()
        /// The name server to use in place of the system's own; `nil` for the system's own.
        package var nameServer: TXTResolver.Server?
        package var pause: @Sendable (Duration) async throws -> Void = { await EventLoop.pause($0) }
        package var clients: [ClientDescription] = []
        /// The endpoints of `/openapi.json`.
        package var endpoints: [Endpoint] = []

        package init(publicURL: String) { self.publicURL = publicURL }
    }

    /// `signingKey` is the PEM text of a P-256 key. If it is given, it signs access tokens in place
    /// of the database's key.
    package init(
        database: Database, passwords: PasswordHasher, signingKey: String? = nil,
        metrics: ServiceMetrics, logger: Logger?, options: Options
    ) throws {
        self.database = database
        self.passwords = passwords
        self.metrics = metrics
        publicURL = options.publicURL
        sendsMail = options.sendsMail
        holdsImportedHashesTightly = options.holdsImportedHashesTightly
        clients = options.clients
        pause = options.pause
        tokens = try AccessTokens(
            database: database, issuer: options.publicURL, signingKey: signingKey)
        http = OutboundHTTP(policy: options.providers) { slug in
            try? await database.tenant(slug)?.id
        }
        documents = ProviderDocuments(http: http, clock: database.clock)
        resolver = TXTResolver(server: options.nameServer)
        authenticator = Authenticator(database: database, tokens: tokens)
        origins = CORSPolicyEnforcer(
            database: database, publicURL: options.publicURL,
            profiles: Dictionary(
                uniqueKeysWithValues: options.clients.map { ($0.name, $0.profile) }))
        documentedRoutes = try? RouteTable(
            options.endpoints.map { ($0.method, try RoutePattern($0.path), $0) })
        responses = ResponseStore(database: database)
        signInSealer = Sealer(database.secrets.derive("login states"))
        requests = RequestLog(metrics: metrics, logger: logger)
    }

    package var now: Timestamp { database.clock() }

    /// The TXT records of a name; `nil` if the name servers are unavailable. `owner` is the tenant
    /// that asks; `nil` for the service itself.
    func txtRecords(of name: String, for owner: UUID?) async -> [String]? {
        try? await resolver.records(of: name, for: owner)
    }

    /// The error response for a problem, if the clients of the request's path expect a form of
    /// their own. `nil` if they expect a problem document (RFC 9457).
    func encode(_ problem: Problem, _ request: Request) -> Response? {
        guard let name = CORSScope.client(of: request.path) else {
            return LambdaEndpoint.encode(problem, request)
        }
        return clients.first { sameBytes($0.name, name) }?.encode(problem, request)
    }
}
