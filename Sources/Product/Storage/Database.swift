import Cryptography
import Domain
import Postgres
import Text

/// The connections to PostgreSQL, by role. The app role sees one tenant at a time; the platform
/// role reads across tenants and cannot write.
package final class Database: Sendable {
    /// The role that requests use: under row-level security it sees one tenant at a time.
    package let app: Postgres
    /// The role that reads the rows of all tenants. It cannot write.
    package let platform: Postgres
    /// Further connections of the platform role, only for the most frequent look-ups, so that slow
    /// list queries on the same connections cannot delay them.
    let lookups: Postgres
    let keyLookUps: KeyLookUps
    /// The clock for all times in rows and rules; tests inject their own.
    package let clock: @Sendable () -> Timestamp
    package let options: Options
    /// The service's secret keys. Every other key of the service is derived from them, by purpose.
    package let secrets: SecretKeys
    /// The keys with which the look-up values of the directory, such as addresses, are hashed. So a
    /// dump of the directory alone names no person.
    package let directory: DerivedKeys
    /// Encrypts the secrets that the service must be able to read again.
    let sealer: Sealer
    /// Uses of API keys that this process has counted and not yet written.
    package let keyUses = KeyUses()
    package let wrongPasswords = WrongPasswords()
    let signIns = SignIns()
    /// Refused origins that this process has counted and not yet written.
    package let refusedOrigins = RefusedOrigins()
    /// The number and size of the responses that each credential has stored under its
    /// Idempotency-Keys.
    package let storedResponses = IdempotencyQuota()
    /// This process as one of the replicas that share the database.
    package let replica: Replica
    /// The caches of this process; their entries are used only while the replica's lease lasts.
    let caches: StorageCaches
    let overLimit = OverLimit()

    /// The settings of the database layer, which do not change after the start.
    package struct Options: Sendable {
        /// The standbys for reads that may lag; `nil` if the primary answers all reads.
        package var standbys: Standbys?
        package var personLock = PersonLock()
        /// The limits for attempts to guess secrets; tests set smaller ones.
        package var limits = AttemptLimits()
        /// Whether mail is sent. Without a mail server no informational mail is stored.
        package var sendsMail = false
        /// The number of days within which owners and admins must add a second factor; `nil` if it
        /// is not required.
        package var secondFactorDays: Int?
        /// The site (origin and host) for which operators' passkeys are valid; a failure if
        /// passkeys are not available.
        package var passkeySite: Result<PasskeySite, PasskeySite.Fault> = .failure(.address)
        /// How long expired rows are kept.
        package var retention = Retention()
        /// Called for each answered decision, including retries but not dry runs.
        package var onDecision: @Sendable (Outcome) -> Void = { _ in }

        /// Creates options without mail, passkeys or standbys.
        package init() {}
    }

    /// If `lookups` is nil, look-ups share the connections of `platform`.
    package init(
        app: Postgres, platform: Postgres, lookups: Postgres? = nil, replica: Replica,
        secrets: SecretKeys, options: Options = Options(),
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.app = app
        self.platform = platform
        self.lookups = lookups ?? platform
        keyLookUps = KeyLookUps(self.lookups)
        self.replica = replica
        caches = StorageCaches(of: replica)
        self.secrets = secrets
        directory = secrets.derive("directory")
        sealer = Sealer(secrets.derive("secrets at rest"))
        self.options = options
        self.clock = clock
    }

    /// Writes what this process has counted: uses of API keys, wrong passwords, sign-ins and
    /// refused origins. Returns the first error that is not an outage.
    package func writeCounted() async -> (any Error)? {
        let faults = [
            await writeKeyUses(), await writeWrongPasswords(), await writeSignIns(),
            await writeRefusedOrigins(),
        ]
        return faults.lazy.compactMap { $0 }.first
    }

    /// Returns access to the rows of one tenant. Does not check that the tenant exists.
    package func scope(_ tenant: UUID) -> TenantScope {
        TenantScope(tenant: tenant, database: self)
    }

    /// The HMAC key for names of counters, and for proofs that this service issued a form or a
    /// confirmation.
    package var directoryKey: [UInt8] { directory.sealing }

    /// Access to the platform's own rows in tenant tables; they have the nil UUID as their tenant.
    package var platformScope: TenantScope { scope(.platform) }
}

extension UUID {
    /// The nil UUID, which stands for the platform in tables whose rows belong to tenants.
    package static let platform = UUID(high: 0, low: 0)
}
