import Cryptography
import Domain
import Postgres
import Text

/// PostgreSQL as the product sees it: the app role, which reaches one tenant at a time, and the
/// platform role, which may only read, across tenants.
package final class Database: Sendable {
    /// The role that requests use: under row-level security it sees one tenant at a time.
    package let app: Postgres
    /// Reads across tenants; has no write rights.
    package let platform: Postgres
    /// The platform role again, only for the look-ups of the hottest paths, so that slow list
    /// queries cannot delay them in a pipeline.
    let lookups: Postgres
    let keyLookUps: KeyLookUps
    /// The one clock for rows and rules; tests inject their own.
    package let clock: @Sendable () -> Timestamp
    package let options: Options
    /// The service's secret keys; all its other keys are derived from them by purpose.
    package let secrets: SecretKeys
    /// The keys of the directory's look-ups; with them a dump of the database names no person.
    package let directory: DerivedKeys
    /// Seals the secrets that must be read again.
    package let sealer: Sealer
    /// Uses of keys that this process counted and has not yet written.
    package let keyUses = KeyUses()
    package let wrongPasswords = WrongPasswords()
    let signIns = SignIns()
    /// Origins that this process refused and has not yet written.
    package let refusedOrigins = RefusedOrigins()
    /// How much each credential has stored under its Idempotency-Keys.
    package let storedResponses = IdempotencyQuota()
    /// This process among the replicas on the same database.
    package let replica: Replica
    /// Valid only while the replica's lease lasts.
    package let caches: StorageCaches
    let overLimit = OverLimit()

    /// What a service decides about its database when it starts.
    package struct Options: Sendable {
        /// Reads that may lag go to these standbys; `nil` if they go to the primary.
        package var standbys: Standbys?
        package var personLock = PersonLock()
        /// Limits for attempts at secrets; tests set smaller ones.
        package var limits = AttemptLimits()
        /// Whether mail is sent. Without a mail server no informational mail is stored.
        package var sendsMail = false
        /// Owners and admins need a second factor within this many days; `nil` if they may go
        /// without.
        package var secondFactorDays: Int?
        /// The site for which operators' passkeys are valid; without it passkeys are not available.
        package var passkeySite: Result<PasskeySite, PasskeySite.Fault> = .failure(.address)
        /// How long ended rows are kept.
        package var retention = Retention()
        /// Called for each decision that was answered, including retries but not dry runs.
        package var onDecision: @Sendable (Outcome) -> Void = { _ in }

        /// No mail, no passkeys, no standbys.
        package init() {}
    }

    /// If `lookups` is nil, hash look-ups share the connections of `platform`.
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

    /// Writes what this process has counted: uses of keys, wrong passwords, sign-ins, refused
    /// origins. Returns the first error that is not an outage.
    package func writeCounted() async -> (any Error)? {
        let faults = [
            await writeKeyUses(), await writeWrongPasswords(), await writeSignIns(),
            await writeRefusedOrigins(),
        ]
        return faults.lazy.compactMap { $0 }.first
    }

    /// The rows of one tenant. Does not check that the tenant exists.
    package func scope(_ tenant: UUID) -> TenantScope {
        TenantScope(tenant: tenant, database: self)
    }

    /// The key for counters, and for proofs that a form or a confirmation was issued here.
    package var directoryKey: [UInt8] { directory.sealing }

    /// The platform's own rows in tenant tables belong to the nil tenant.
    package var platformScope: TenantScope { scope(.platform) }
}

extension UUID {
    /// The platform in tables whose rows belong to tenants.
    package static let platform = UUID(high: 0, low: 0)
}
