import Postgres
import Text

/// The WAL position that a read must include. A standby that has not replayed it is not used.
package struct ReadPosition: Sendable, Comparable, CustomStringConvertible {
    /// The position of the call that runs; `nil` if its reads must not use a standby. It belongs to
    /// the call: callers at once have positions of their own.
    @TaskLocal package static var current: ReadPosition?

    let log: WALPosition

    init(_ log: WALPosition) { self.log = log }

    /// Parses the text that `description` gives; `nil` for any other text.
    package init?(_ text: String) {
        guard let log = WALPosition(text) else { return nil }
        self.log = log
    }

    /// A position that no standby reaches, so that every read goes to the primary.
    package static let never = ReadPosition(.end)

    package var description: String { log.description }

    package static func < (one: ReadPosition, other: ReadPosition) -> Bool { one.log < other.log }
}

/// The WAL position after the commits of one request.
package final class OwnCommits: Sendable {
    private let position = CommitPosition()

    package init() {}

    /// Runs a body that may commit, and notes its position.
    package func noting<Result>(
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await CommitPosition.$current.withValue(position) { try await body() }
    }

    /// The position of the newest commit; `nil` if nothing was committed.
    package var newest: ReadPosition? { position.newest.map(ReadPosition.init) }
    /// Whether something was committed whose position was lost.
    package var isUnknown: Bool { position.isUnknown }
}

extension Database {
    /// Whether standbys may answer at all.
    package var hasStandbys: Bool { options.standbys != nil }

    /// The current position, after every commit that was acknowledged.
    package func currentPosition() async throws -> ReadPosition {
        ReadPosition(try await app.currentPosition())
    }

    /// A read that may miss others' latest changes. A standby answers if `ReadPosition.current` is
    /// set, otherwise the primary. If `tenant` is nil, the platform's role reads over
    /// all tenants. Never use it for what is cached, or for a decision.
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

    /// The same with the app's role, for rows that belong to the system.
    func readLaggingAsApp(_ sql: SQL) async throws(PostgresError) -> Rows {
        if let rows = await options.standbys?.read(sql, by: .app, from: ReadPosition.current?.log) {
            return rows
        }
        return try await app.read(sql)
    }
}

extension TenantScope {
    /// `Database.readLagging` for this tenant.
    func readLagging(_ sql: SQL) async throws(PostgresError) -> Rows {
        try await database.readLagging(sql, in: tenant)
    }
}
