import Cryptography
import Domain
import Federation
import HTTP
import Storage
import Text

/// What handlers reach through `call.services`; the composition root fills it once.
package struct Services: Sendable {
    private let storage: Database?
    private let hasher: PasswordHasher?
    private let documents: ProviderDocuments?
    /// Where people reach this server, without a trailing slash: links are made with it.
    package let publicURL: String
    /// Whether mails leave this service; without, links are shown to be handed over.
    package var sendsMail = false
    /// The TXT records of a name, nil where the name servers cannot be asked; none where no resolver
    /// is set, so that nothing is proved by DNS.
    /// `owner`: the tenant that asks; nil: the service itself.
    package var txtRecords: @Sendable (_ name: String, _ owner: UUID?) async -> [String]? = {
        _, _ in []
    }
    /// The client contracts that are built in.
    package var clients: [ClientDescription] = []

    /// Sends the holder of an invite to a provider: where their browser goes, and the cookie that ties
    /// its return to it. Takes the tenant, the provider and the hash of the token; throws `Problem`.
    package typealias Joining =
        @Sendable (Call, TenantRow, UUID, [UInt8]) async throws -> (url: String, cookie: Field)
    package var joining: Joining = { _, _, _, _ in throw Problem.internalError }

    /// Finds an app's token that is good at this moment; nil for every other text. A token of a
    /// tenant that must not be asked about is not looked for, so that the time tells nothing.
    package typealias ReadingTokens =
        @Sendable (_ token: String, _ mayAsk: (UUID) -> Bool) async throws -> ActiveToken?
    package var activeToken: ReadingTokens = { _, _ in nil }

    /// Where callers that ask about many keys at once take their places.
    package let batches = BatchIndex()

    /// Told of each verdict about a presented key.
    package var onVerification: @Sendable (APIKeyVerdict) -> Void = { _ in }

    package init(
        database: Database? = nil, passwords: PasswordHasher? = nil,
        publicURL: String = "http://127.0.0.1:8080", providerDocuments: ProviderDocuments? = nil
    ) {
        storage = database
        hasher = passwords
        documents = providerDocuments
        self.publicURL = publicURL
    }

    /// A service that was composed without a database has no handler that asks for one.
    package var database: Database {
        get throws {
            guard let storage else { throw Problem.internalError }
            return storage
        }
    }

    package var passwords: PasswordHasher {
        get throws {
            guard let hasher else { throw Problem.internalError }
            return hasher
        }
    }

    /// What providers publish, to check their id tokens by.
    package var providerDocuments: ProviderDocuments {
        get throws {
            guard let documents else { throw Problem.internalError }
            return documents
        }
    }
}
