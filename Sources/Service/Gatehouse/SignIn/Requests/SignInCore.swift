import API
import Cryptography
import HTTP
import Outbound
import Storage
import Synchronization

/// The core that every contract calls, whatever its app's wire format.
package struct SignInCore: Sendable {
    package let database: Database
    package let passwords: PasswordHasher
    /// The public URL of this server, without a trailing slash.
    package let publicURL: String
    /// Seals what the database stores until the end of a sign-in.
    let sealer: Sealer
    package let tokens: AccessTokens
    /// The HTTP client for providers' endpoints, and the documents that providers publish.
    let http: OutboundHTTP
    package let documents: ProviderDocuments
    /// Checks an API key as `/v1` does.
    let checkKey: @Sendable (_ key: String, Request) async throws -> CallerPrincipal
    /// Sleeps between two requests to a provider.
    let pause: @Sendable (Duration) async throws -> Void
    let slowedAttempts = SlowedAttempts()

    package init(
        database: Database, passwords: PasswordHasher, publicURL: String,
        tokens: AccessTokens, http: OutboundHTTP, documents: ProviderDocuments,
        checkKey: @escaping @Sendable (_ key: String, Request) async throws -> CallerPrincipal,
        pause: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.database = database
        self.passwords = passwords
        self.publicURL = publicURL
        self.tokens = tokens
        self.http = http
        self.documents = documents
        self.checkKey = checkKey
        self.pause = pause
        sealer = Sealer(database.secrets.derive("login states"))
    }
}

/// Attempts that are being slowed down: at most one per address, and a limit for all.
final class SlowedAttempts: Sendable {
    static let limit = 1000

    private let running = Mutex<Set<String>>([])

    /// False if the address has a running attempt, or too many run. If true, call `end` afterwards.
    func begin(_ address: String) -> Bool {
        running.withLock { $0.count < Self.limit && $0.insert(address).inserted }
    }

    func end(_ address: String) { running.withLock { _ = $0.remove(address) } }
}
