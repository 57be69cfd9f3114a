import API
import Cryptography
import Federation
import HTTP
import Outbound
import Storage

/// What every contract calls, whichever way its app speaks.
package struct SignInCore: Sendable {
    package let database: Database
    let passwords: PasswordHasher
    /// Where people reach this server, without a trailing slash.
    let publicURL: String
    /// Seals what waits in the database for the end of a sign-in.
    let sealer: Sealer
    package let tokens: AccessTokens
    /// Providers' own endpoints, and what they publish.
    let http: OutboundHTTP
    let documents: ProviderDocuments
    /// Checks an API key as `/v1` does.
    let checkKey: @Sendable (_ key: String, Request) async throws -> API.Principal
    /// Lets time pass between two questions to a provider.
    let pause: @Sendable (Duration) async throws -> Void
    let slowedAttempts = SlowedAttempts()

    package init(
        database: Database, passwords: PasswordHasher, publicURL: String,
        tokens: AccessTokens, http: OutboundHTTP, documents: ProviderDocuments,
        checkKey: @escaping @Sendable (_ key: String, Request) async throws -> API.Principal,
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
