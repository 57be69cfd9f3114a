import Cryptography
import Domain
import Postgres
import Replication
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
    let signIns = SignIns()
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

/// One tenant's rows: the only way to a store, so that a query cannot forget its tenant.
package struct TenantScope: Sendable {
    /// The nil UUID for the platform's own rows.
    package let tenant: UUID
    /// Shared by all scopes.
    package let database: Database

    /// One statement under the tenant's row-level security, in one round trip.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.app.tenantRead(tenant, sql)
    }

    /// One writing statement without an audit row: a counter, a mark of use.
    package func write(_ sql: SQL) async throws -> Rows {
        try await database.app.transaction(
            settings: [("app.tenant", tenant.description)]
        ) { try await $0.query(sql) }
    }

    /// A transaction whose audit rows name the actor. Rolled back if `body` throws. When it
    /// returns, no replica answers from a cache of before the change. Within a `HeldChange` the
    /// holder commits it.
    package func change<Result: Sendable>(
        by actor: Actor, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let held = HeldChange.current
        // A request that changes twice holds only the last change.
        try await held?.commit()
        let now = database.clock()
        let open = OpenChange(
            transaction: try await database.app.begin(
                settings: [("app.tenant", tenant.description)]),
            invalidations: Invalidations(database.replica))
        let result: Result
        do {
            result = try await body(
                Change(
                    tenant: tenant, actor: actor, now: now,
                    transaction: open.transaction.transaction, invalidations: open.invalidations))
            try await open.invalidations.publish(in: open.transaction.transaction)
        } catch {
            await open.rollback()
            throw error
        }
        if let held { held.hold(open) } else { try await open.commit() }
        return result
    }
}

/// The actor of a change: an operator, a key, a user, a hook or the system itself.
package struct Actor: Sendable {
    /// `operator`, `key`, `user`, `hook` or `system`.
    package var type: String
    /// The actor's id as text.
    package var id: String
    /// Stored with each audit event; later renames do not change it.
    package var name: String
    /// Empty if no request caused the change.
    package var requestID: String
    /// The caller's address; nil if no request caused the change.
    package var ip: String?
    /// The decision by which it is done, or that led to it.
    package var decisionID: UUID?

    /// `ip` nil: no request caused the change.
    package init(type: String, id: String, name: String, requestID: String, ip: String?) {
        self.type = type
        self.id = id
        self.name = name
        self.requestID = requestID
        self.ip = ip
    }

    /// For changes without a caller, such as housekeeping.
    package static let system = Actor(
        type: "system", id: "gatehouse", name: "Gatehouse", requestID: "", ip: nil)
}

/// One transaction in the scope of one tenant.
package struct Change: Sendable {
    /// The tenant whose rows the transaction sees.
    package let tenant: UUID
    package internal(set) var actor: Actor
    /// One time for all rows and rules of the change.
    package let now: Timestamp
    /// Open until the body of `TenantScope.change` returns.
    package let transaction: Transaction
    let invalidations: Invalidations
    /// False in a dry run, which blocks no other attempt and stores nothing.
    var locksRows = true

    /// A clause that locks rows, if this change does.
    func locking(_ clause: SQL) -> SQL { locksRows ? clause : "" }

    /// One statement of the change; after a failure the change can only be rolled back.
    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await transaction.query(sql)
    }
}
