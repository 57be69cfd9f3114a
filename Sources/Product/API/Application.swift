import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// What handlers use, as `call.application`. The composition root makes it once.
package struct Application: Sendable {
    package let database: Database
    package let passwords: PasswordHasher
    /// What providers publish: their endpoints and their keys, which verify their id tokens.
    package let documents: ProviderDocuments
    /// The server's public URL, without a trailing slash; the base of links.
    package let publicURL: String
    /// Whether mail is sent; otherwise links are shown to be handed over.
    package var sendsMail = false
    /// Returns the TXT records of a name; `nil` if the name servers are unavailable. If no resolver
    /// is set, there are none, so that no domain is verified by DNS. `owner` is the tenant that
    /// asks; `nil` for the service itself.
    package var txtRecords: @Sendable (_ name: String, _ owner: UUID?) async -> [String]? = {
        _, _ in []
    }
    /// The built-in client contracts.
    package var clients: [ClientDescription] = []

    /// Begins a sign-in at a provider for the holder of an invite or a join link. Takes the tenant,
    /// the provider and the token. Returns the redirect URL and the cookie that binds the return to
    /// the browser. Throws `Problem`.
    package typealias Joining =
        @Sendable (Call, TenantRow, UUID, BroughtToken) async throws -> (url: String, cookie: Field)
    /// Throws 500 unless the composition root sets it.
    package var joining: Joining = { _, _, _, _ in throw Problem.internalError }

    /// The sign-ins of operators at a provider.
    package struct OperatorLogin: Sendable {
        /// The path that the provider redirects back to.
        package static let callback = "/v1/session/provider/callback"

        /// Takes the provider, the console's session that is to be stepped up (`nil` for a sign-in)
        /// and the token of the browser's cookie. Returns the redirect URL and the cookie that
        /// binds the return to the browser. Throws `Problem`.
        package typealias Begin =
            @Sendable (Call, _ provider: UUID, _ session: UUID?, _ device: String?) async throws ->
            (
                url: String, cookie: Field
            )
        package var begin: Begin
        /// Returns what the provider asserts at the return. Throws `Problem`.
        package var end: @Sendable (Call) async throws -> OperatorAssertion

        package init(
            begin: @escaping Begin,
            end: @escaping @Sendable (Call) async throws -> OperatorAssertion
        ) {
            self.begin = begin
            self.end = end
        }
    }
    /// Throws 500 unless the composition root sets it.
    package var operatorLogin = OperatorLogin(
        begin: { _, _, _, _ in throw Problem.internalError },
        end: { _ in throw Problem.internalError }
    )

    /// Finds an app's token if it is active; `nil` for every other text. A token of a tenant that
    /// the caller may not ask about is not looked up, so that the time reveals nothing.
    package typealias ReadingTokens =
        @Sendable (_ token: String, _ mayAsk: (UUID) -> Bool) async throws -> ActiveToken?
    /// Finds no token unless the composition root sets it.
    package var activeToken: ReadingTokens = { _, _ in nil }

    /// Signs a document with the published key and returns a JWS with this `typ`. Throws 500 unless
    /// the composition root sets it.
    package var signDocument:
        @Sendable (_ document: JSONValue, _ type: String) async throws -> String = {
            _, _ in throw Problem.internalError
        }

    /// Waits without blocking a thread; returns at once unless the composition root sets it.
    package var pause: @Sendable (Duration) async -> Void = { _ in }

    /// The number of requests that this process has answered; jobs give way to requests.
    package var answered: @Sendable () -> Int = { 0 }

    /// The kinds of jobs.
    package var jobKinds = JobKinds.all

    /// Whether imported password hashes must keep the tighter limits.
    package var holdsImportedHashesTightly = false

    /// Limits the imports that are being received.
    package let uploads = UploadSlots()

    /// Limits callers that verify many keys at the same time.
    package let batches = BatchSlots()

    /// Called for each verdict on a presented key.
    package var onVerification: @Sendable (APIKeyVerdict) -> Void = { _ in }

    /// Called for each message that was sent to a return address.
    package var onBounce: @Sendable (BounceResult) -> Void = { _ in }

    /// Whether standby databases may answer calls that may lag.
    var hasStandbys: Bool { database.hasStandbys }

    package init(
        database: Database, passwords: PasswordHasher, documents: ProviderDocuments,
        publicURL: String
    ) {
        self.database = database
        self.passwords = passwords
        self.documents = documents
        self.publicURL = publicURL
    }
}
