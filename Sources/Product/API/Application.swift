import Cryptography
import Domain
import HTTP
import Outbound
import Runtime
import Storage
import Text

/// The parts of the service that requests and background work share, made once. Each part has its
/// own behaviour; code that needs one part takes that part.
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
    /// Whether mail is sent; otherwise links are shown to be handed over.
    package let sendsMail: Bool
    /// Whether imported password hashes must keep the tighter limits.
    package let holdsImportedHashesTightly: Bool
    /// The built-in client contracts.
    package let clients: [ClientDescription]
    /// The methods of each documented path.
    let documentedRoutes: RouteTable<Endpoint>?
    package let authenticator: Authenticator
    package let origins: CORSPolicyEnforcer
    /// The stored responses of requests with an `Idempotency-Key`.
    let responses: ResponseStore
    /// Seals what is stored outside the database, or in it, until a sign-in ends.
    package let signInSealer: Sealer
    package let metrics: ServiceMetrics
    package let requests: RequestLog
    /// Waits before a provider is polled again, and before an attempt that is slowed down.
    package let pause: @Sendable (Duration) async throws -> Void

    /// The imports that are being received, by tenant.
    let uploads = InFlight<UUID>(perKey: 2, total: 8, isFair: true)
    /// The batches of verifications, by caller: one caller must not occupy the database alone. Each
    /// makes `Database.lookUpsAtOnce` concurrent look-ups.
    package let batches = InFlight<UUID?>(perKey: 8)
    /// The attempts that are being slowed down, by address.
    package let slowedAttempts = InFlight<String>(perKey: 1, total: 1000)

    /// What the environment and the layers above decide.
    package struct Options: Sendable {
        package var publicURL: String
        package var sendsMail = false
        package var holdsImportedHashesTightly = false
        /// Limits for requests to identity providers.
        package var providers = OutboundPolicy()
        /// A name server instead of those of the system.
        package var nameServer: TXTResolver.Server?
        package var pause: @Sendable (Duration) async throws -> Void = { await EventLoop.pause($0) }
        package var clients: [ClientDescription] = []
        /// The endpoints of `/openapi.json`.
        package var endpoints: [Endpoint] = []

        package init(publicURL: String) { self.publicURL = publicURL }
    }

    /// `signingKey` is PEM of a P-256 key that signs access tokens instead of the database's key.
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

    /// A refusal in the form that the path's clients expect; `nil` for the form of RFC 9457.
    func encode(_ problem: Problem, _ request: Request) -> Response? {
        guard let name = CORSScope.client(of: request.path) else {
            return LambdaEndpoint.encode(problem, request)
        }
        return clients.first { sameBytes($0.name, name) }?.encode(problem, request)
    }
}
