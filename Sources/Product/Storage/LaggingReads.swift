import Postgres
import Text

/// A WAL position that a read must include. A standby that has not replayed this position yet must
/// not answer.
package struct ReadPosition: Sendable, Comparable, CustomStringConvertible {
    /// The position for the reads of the current call; `nil` if they must not use a standby. Each
    /// of several concurrent calls has its own position.
    @TaskLocal package static var current: ReadPosition?

    let log: WALPosition

    init(_ log: WALPosition) { self.log = log }

    /// Parses a position in the form of `description`; `nil` for any other text.
    package init?(_ text: String) {
        guard let log = WALPosition(text) else { return nil }
        self.log = log
    }

    /// A position that no standby reaches, so the primary answers the read.
    package static let never = ReadPosition(.end)

    package var description: String { log.description }

    package static func < (one: ReadPosition, other: ReadPosition) -> Bool { one.log < other.log }
}

/// Records the commits of one request: the WAL position after the newest commit.
package final class OwnCommits: Sendable {
    private let position = CommitPosition()

    package init() {}

    /// Runs a body and records the positions of the commits that it makes.
    package func noting<Result>(
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await CommitPosition.$current.withValue(position) { try await body() }
    }

    /// The position of the newest commit; `nil` if nothing was committed.
    package var newest: ReadPosition? { position.newest.map(ReadPosition.init) }
    /// Whether the position of a commit is unknown.
    package var isUnknown: Bool { position.isUnknown }
}

extension Database {
    /// Whether any standby is configured.
    package var hasStandbys: Bool { options.standbys != nil }

    /// Returns the primary's current position. It is after every commit that was acknowledged.
    package func currentPosition() async throws -> ReadPosition {
        ReadPosition(try await app.currentPosition())
    }

    /// Reads rows, possibly without the latest changes of other requests. A standby may answer if
    /// `ReadPosition.current` is set; otherwise the primary answers. If `tenant` is nil, the
    /// platform role reads across all tenants. Never use it for a value that is cached, or for a
    /// decision.
    func readLagging(_ sql: SQL, in tenant: UUID?) async throws(PostgresError) -> Rows {
        let role: Standbys.Role = tenant == nil ? .platform : .app
        if let rows = await options.standbys?.read(
            sql, by: role, in: tenant, from: ReadPosition.current?.log)
        {
            return rows
        }
        guard let tenant else { return try await platform.read(sql) }
        return try await app.tenantRead(tenant, sql)
    }

    /// Like `readLagging`, but with the app role and no tenant, for tables that belong to the
    /// system.
    func readLaggingAsApp(_ sql: SQL) async throws(PostgresError) -> Rows {
        if let rows = await options.standbys?.read(sql, by: .app, from: ReadPosition.current?.log) {
            return rows
        }
        return try await app.read(sql)
    }
}

extension TenantScope {
    /// Calls `Database.readLagging` for this tenant.
    func readLagging(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.readLagging(sql, in: tenant)
    }
}
