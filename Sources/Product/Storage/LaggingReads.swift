import Postgres
import Text

/// From where on a caller wants to see what is stored: standbys that are not there yet do not answer.
package struct ReadPosition: Sendable, Comparable, CustomStringConvertible {
    let log: WALPosition

    init(_ log: WALPosition) { self.log = log }

    /// As `description` has it; nil for other text.
    package init?(_ text: String) {
        guard let log = WALPosition(text) else { return nil }
        self.log = log
    }

    /// No standby ever gets there: every read goes to the primary.
    package static let never = ReadPosition(.end)

    package var description: String { log.description }

    package static func < (one: ReadPosition, other: ReadPosition) -> Bool { one.log < other.log }
}

/// The position after what one request has committed.
package final class OwnCommits: Sendable {
    private let position = CommitPosition()

    package init() {}

    /// Runs what may commit.
    package func noting<Result>(
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await CommitPosition.$current.withValue(position) { try await body() }
    }

    /// nil if nothing was committed.
    package var newest: ReadPosition? { position.newest.map(ReadPosition.init) }
    /// Something was committed whose position was lost.
    package var isUnknown: Bool { position.isUnknown }
}

extension Database {
    /// Whether standbys may answer at all.
    package var hasStandbys: Bool { standbys != nil }

    /// The same, whose `readLagging` may ask a standby. For requests that only read and decide nothing.
    package func reading(from position: ReadPosition) -> Database {
        var database = self
        database.position = position
        return database
    }

    /// The position now, after every commit that was acknowledged.
    package func currentPosition() async throws -> ReadPosition {
        ReadPosition(try await app.currentPosition())
    }

    /// A read whose rows may be from before others' latest changes. A standby answers if this
    /// database is `reading` from a position, else the primary. `tenant` nil: the platform's role, over
    /// all tenants. Never for what goes to a cache, or decides.
    func readLagging(_ sql: SQL, in tenant: UUID?) async throws(PostgresError) -> Rows {
        let role: Standbys.Role = tenant == nil ? .platform : .app
        if let rows = await standbys?.read(sql, by: role, in: tenant, from: position?.log) {
            return rows
        }
        guard let tenant else { return try await platform.read(sql) }
        return try await app.tenantRead(tenant, sql)
    }

    /// The same by the app's role, of rows that belong to the system.
    func readLaggingAsApp(_ sql: SQL) async throws(PostgresError) -> Rows {
        if let rows = await standbys?.read(sql, by: .app, from: position?.log) { return rows }
        return try await app.read(sql)
    }
}

extension TenantScope {
    /// `Database.readLagging` of this tenant.
    func readLagging(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.readLagging(sql, in: tenant)
    }
}
