import Cryptography
import Domain
import Postgres
import Text

/// PostgreSQL as the product sees it: the app role, which reaches one tenant at a time, and the
/// platform role, which may only read, across tenants.
package struct Database: Sendable {
    /// The role that requests use: under row-level security it sees one tenant at a time.
    package let app: Postgres
    /// Reads across tenants; has no write rights.
    package let platform: Postgres
    /// The platform role again, only for the look-ups of the hottest paths, so that slow list
    /// queries cannot delay them in a pipeline.
    let lookups: Postgres
    let keyLookUps: KeyLookUps
    /// What may lag is read from them; nil: from the primary.
    package var standbys: Standbys?
    /// From where on `readLagging` may read a standby; nil: it may not.
    var position: ReadPosition?
    /// The one clock of rows and rules; tests inject their own.
    package var clock: @Sendable () -> Timestamp
    /// All other keys of the service are derived from them by purpose.
    package let secrets: SecretKeys
    /// Makes the keys of the directory's look-ups, so that a dump names no person.
    package let directory: DerivedKeys
    /// Seals the secrets that have to be read again.
    package let sealer: Sealer
    /// Uses of keys that are counted here and not yet written.
    package let keyUses = KeyUses()
    package let wrongPasswords = WrongPasswords()
    let signIns = SignIns()
    /// Origins that were refused here and are not yet written.
    package let refusedOrigins = RefusedOrigins()
    /// How much each credential has stored under its Idempotency-Keys.
    package let storedResponses = IdempotencyQuota()
    /// This process among the others on the database.
    package let replica: Replica
    /// Valid only while the replica's lease lasts.
    package let caches: StorageCaches
    let personLock: PersonLock
    let overLimit = OverLimit()
    /// Limits for attempts at secrets; tests set smaller ones.
    package var limits = AttemptLimits()
    /// Whether mail is sent: without a mail server no informational mail is stored.
    package var sendsMail = false
    /// Owners and admins need a second factor within so many days; nil: they may go without.
    package var secondFactorDays: Int?
    /// Where operators' passkeys are good; not set, nowhere.
    package var passkeySite: Result<PasskeySite, PasskeySite.Fault> = .failure(.address)
    /// How long ended rows are kept.
    package var retention = Retention()
    /// Called for each decision that was answered, including retries, excluding dry runs.
    package var onDecision: @Sendable (Outcome) -> Void = { _ in }

    /// `lookups` nil: hash look-ups share the connections of `platform`.
    package init(
        app: Postgres, platform: Postgres, lookups: Postgres? = nil, replica: Replica,
        secrets: SecretKeys,
        personLock: PersonLock = PersonLock(),
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
        self.personLock = personLock
        self.clock = clock
    }

    /// Writes what this process has counted: uses of keys, wrong passwords, sign-ins, refused origins.
    /// Returns the first fault that is no outage.
    package func writeCounted() async -> (any Error)? {
        let faults = [
            await writeKeyUses(), await writeWrongPasswords(), await writeSignIns(),
            await writeRefusedOrigins(),
        ]
        return faults.lazy.compactMap { $0 }.first
    }

    /// The rows of one tenant; does not check that the tenant exists.
    package func scope(_ tenant: UUID) -> TenantScope {
        TenantScope(tenant: tenant, database: self)
    }

    /// The key of counters and of proofs that a form or a confirmation is ours.
    package var directoryKey: [UInt8] { directory.sealing }

    /// The platform's own rows in tenant tables belong to the nil tenant.
    package var platformScope: TenantScope { scope(.platform) }
}

extension UUID {
    /// The platform in tables whose rows belong to tenants.
    package static let platform = UUID(high: 0, low: 0)
}
