import Domain
import Postgres
import Replication
import Text

/// PostgreSQL as the product sees it: the app role, which reaches one tenant at a time, and the
/// platform role, which may only read, across tenants.
package struct Database: Sendable {
    package let app: Postgres
    package let platform: Postgres
    /// The one clock of rows and rules; tests hand in their own.
    package let clock: @Sendable () -> Timestamp
    /// Keys of the directory's look-ups are made with it, so that a dump names nobody.
    package let directoryKey: [UInt8]
    package let keyUses = KeyUses()
    /// This process among the others on the database.
    package let replica: Replica
    package let memory: Memory

    package init(
        app: Postgres, platform: Postgres, replica: Replica, directoryKey: [UInt8],
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.app = app
        self.platform = platform
        self.replica = replica
        memory = Memory(of: replica)
        self.directoryKey = directoryKey
        self.clock = clock
    }

    package func scope(_ tenant: UUID) -> TenantScope {
        TenantScope(tenant: tenant, database: self)
    }

    /// The platform's own rows in tenant tables stand under the nil tenant.
    package var platformScope: TenantScope { scope(.platform) }
}

extension UUID {
    /// Stands for the platform in tables whose rows belong to tenants.
    package static let platform = UUID(high: 0, low: 0)
}

/// One tenant's rows: the only way to a store, so that a query cannot forget its tenant.
package struct TenantScope: Sendable {
    package let tenant: UUID
    package let database: Database

    /// One statement under the tenant's row-level security, in one round trip.
    package func read(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.app.tenantRead(tenant, sql)
    }

    /// A transaction whose audit rows name the actor. Nothing is kept when `body` throws. When it
    /// returns, no replica answers any more from what it remembered of before the change.
    package func change<Result: Sendable>(
        by actor: Actor, _ body: (Change) async throws -> Result
    ) async throws -> Result {
        let now = database.clock()
        let notices = Notices(database.replica)
        do {
            let result = try await database.app.transaction(
                settings: [("app.tenant", tenant.description)]
            ) { transaction in
                let result = try await body(
                    Change(
                        tenant: tenant, actor: actor, now: now, transaction: transaction,
                        notices: notices))
                try await notices.announce(in: transaction)
                return result
            }
            await notices.settle()
            return result
        } catch {
            notices.withdraw()
            throw error
        }
    }
}

/// Who does what is done: an operator, a key, a user, a hook or the system itself.
package struct Actor: Sendable {
    package var type: String
    package var id: String
    package var name: String
    package var requestID: String
    package var ip: String?

    package init(type: String, id: String, name: String, requestID: String, ip: String?) {
        self.type = type
        self.id = id
        self.name = name
        self.requestID = requestID
        self.ip = ip
    }

    package static let system = Actor(
        type: "system", id: "gatehouse", name: "Gatehouse", requestID: "", ip: nil)
}

/// One transaction at work for one tenant.
package struct Change: Sendable {
    package let tenant: UUID
    package let actor: Actor
    package let now: Timestamp
    package let transaction: Transaction
    let notices: Notices

    @discardableResult
    package func query(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await transaction.query(sql)
    }
}
