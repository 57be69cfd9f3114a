import Cryptography
import Postgres
import Synchronization
import Text

/// A sign-in at a client that failed before the rules ran. No decision explains it, so it has a row
/// of its own.
package struct FailedSignIn: ListedRow {
    package var id = UUID.random()
    package var client: String
    /// The tenant whose client was used; the platform's id if the client belonged to no tenant. It
    /// is set when the row is stored.
    package var tenant = UUID.platform
    /// The route below the client's base path, such as `POST /auth/token`.
    package var operation: String
    /// The reason of the failure, as shown to operators, such as `id token: nonce_mismatch`.
    package var reason: String
    package var requestID: String
    /// The six characters that the error page showed, by which operators find the row; `nil` if it
    /// showed none.
    package var reference: String?
    package var ip: String?
    package var userAgent: String?
    package var createdAt: Timestamp
    /// The number of wrong passwords or PINs within one minute; `nil` for any other failure.
    package var tries: Int?
    /// The account whose password was tried: a user or an operator. `user` and `operator` are both
    /// nil if the account does not exist, or if the failure is not a wrong password or PIN.
    package var user: UUID?
    package var `operator`: UUID?

    static let columns: SQL =
        """
        id, tenant_id, client, operation, reason, request_id, reference, ip, user_agent, created_at,
        tries, user_id, operator_id
        """

    package init(
        client: String, operation: String, reason: String, requestID: String, reference: String,
        ip: String?, userAgent: String?, at time: Timestamp
    ) {
        self.client = client
        self.operation = operation
        self.reason = reason
        self.requestID = requestID
        self.reference = reference
        self.ip = ip
        self.userAgent = userAgent
        createdAt = time
    }

    init(_ row: Row) throws(PostgresError) {
        (id, tenant, client, operation, reason, requestID, reference, ip, userAgent, createdAt) =
            try row.columns()
        (tries, user, `operator`) = (try row.get(10), try row.get(11), try row.get(12))
    }

    /// The maximum number of failures of a tenant that are stored per minute. There is a limit
    /// because anyone can cause failures.
    package static let mostInAMinute = 30
    /// The maximum number of rows of each `Kind` that are kept for a tenant. The oldest are deleted
    /// first.
    package static let most = 10_000

    /// The two kinds of a tenant's rows, each with its own numbers and its own limit.
    enum Kind {
        case failures, wrongPasswords

        var condition: SQL { self == .failures ? "tries IS NULL" : "tries IS NOT NULL" }
    }

    /// Returns the number of the newest row; 0 if there is none.
    static func newest(
        _ kind: Kind, of tenant: UUID, in transaction: Transaction
    ) async throws -> Int {
        let rows = try await transaction.query(
            """
            SELECT number FROM failed_sign_ins WHERE tenant_id = \(tenant) AND \(kind.condition)
                AND number > 0 ORDER BY number DESC LIMIT 1
            """)
        return try rows.first?.get(0) ?? 0
    }

    /// Deletes the oldest rows beyond the limit `most`. `newest` is the number of the newest row.
    static func trim(
        _ kind: Kind, of tenant: UUID, newest: Int, in transaction: Transaction
    ) async throws {
        try await transaction.query(
            """
            DELETE FROM failed_sign_ins WHERE tenant_id = \(tenant) AND \(kind.condition)
                AND number <= \(newest - most)
            """)
    }
}

extension TenantScope {
    /// Stores the failure. Does nothing if the tenant's limit for this minute is reached.
    package func keep(_ failed: FailedSignIn) async throws {
        let name = "failed sign-ins of \(tenant)"
        guard try await database.counted(name) < FailedSignIn.mostInAMinute,
            try await database.count(name) <= FailedSignIn.mostInAMinute
        else { return }
        try await database.app.tenantTransaction(tenant) { transaction in
            // Two concurrent failures may get the same number; they are then deleted together.
            let number =
                try await FailedSignIn.newest(.failures, of: tenant, in: transaction) + 1
            try await transaction.query(
                """
                INSERT INTO failed_sign_ins (tenant_id, id, client, operation, reason, request_id,
                    reference, ip, user_agent, created_at, number)
                VALUES (\(tenant), \(failed.id), \(failed.client), \(failed.operation),
                    \(failed.reason), \(failed.requestID), \(failed.reference), \(failed.ip),
                    \(failed.userAgent), \(failed.createdAt), \(number))
                """)
            try await FailedSignIn.trim(
                .failures, of: tenant, newest: number, in: transaction)
        }
    }
}

/// The filters of a list of failed sign-ins; a nil filter passes every row.
package struct FailedSignInFilter: Sendable {
    var client: String?
    var requestID: String?
    var reference: String?

    package init(client: String? = nil, requestID: String? = nil, reference: String? = nil) {
        self.client = client
        self.requestID = requestID
        self.reference = reference
    }
}

extension Database {
    /// Returns one page of failed sign-ins. If `tenant` is nil, lists those of all tenants and of
    /// the platform's own pages.
    package func failedSignIns(
        _ list: ListQuery, tenant: UUID?, _ filter: FailedSignInFilter
    ) async throws(PostgresError) -> ListPage<FailedSignIn> {
        await writeWrongPasswords(of: tenant)
        var source: SQL = "failed_sign_ins WHERE "
        if let tenant { source += "tenant_id = \(tenant)" } else { source += "true" }
        if let client = filter.client { source += " AND client = \(client)" }
        if let requestID = filter.requestID { source += " AND request_id = \(requestID)" }
        if let reference = filter.reference { source += " AND reference = \(reference)" }
        let statement = ListStatement(
            columns: FailedSignIn.columns, source: source,
            isWide: tenant != nil && filter.client == nil && filter.requestID == nil
                && filter.reference == nil)
        return try await readLagging(statement.page(list), in: tenant).page(
            list, FailedSignIn.init)
    }
}

/// The wrong passwords and PINs that this process has seen, counted in memory so that no sign-in
/// waits for a write. They are written in batches as failed sign-ins: one row for each account and
/// minute. All unknown accounts of a tenant share one row a minute.
package final class WrongPasswords: Sendable {
    /// The account whose password or PIN was tried.
    package enum Account: Hashable, Sendable {
        case user(UUID)
        case `operator`(UUID)
        /// No account has the entered address. All such attempts in a tenant are counted together.
        case unknown
    }

    /// A wrong password or PIN, and where it was tried. A row with several attempts stores the last
    /// one.
    package struct Attempt: Sendable {
        var client: String
        /// The route below the client's base path.
        var operation: String
        /// `wrong_password` or `wrong_pin`.
        var reason: String
        var requestID: String
        var ip: String?
        var userAgent: String?

        package init(
            client: String, operation: String, reason: String, requestID: String, ip: String?,
            userAgent: String?
        ) {
            self.client = client
            self.operation = operation
            self.reason = reason
            self.requestID = requestID
            self.ip = ip
            self.userAgent = userAgent
        }
    }

    struct Row: Hashable {
        var account: Account
        /// The start of the minute, in microseconds since 1970.
        var minute: Int64
    }

    struct Attempts {
        var count = 0
        var first: Timestamp
        var last: Attempt

        mutating func add(_ later: Attempts) {
            count += later.count
            last = later.last
        }
    }

    /// The unwritten attempts of one tenant.
    typealias Batch = [Row: Attempts]

    /// The maximum numbers held in memory: `accountsOfTenant` for the accounts in one batch of a
    /// tenant, `most` for the rows of the whole process. Beyond these limits an attempt is counted
    /// for an unknown account, so that guessing at many names cannot fill the memory.
    package static let accountsOfTenant = 200
    static let most = 20_000

    private struct State {
        var batches: [UUID: Batch] = [:]
        var rows = 0
    }

    private let state = Mutex(State())
    let writing = CountWriting()

    init() {}

    /// Counts one wrong password or PIN. `tenant` is `.platform` for operators at the console.
    package func note(_ account: Account, of tenant: UUID, _ last: Attempt, at now: Timestamp) {
        let tries = Attempts(count: 1, first: now, last: last)
        state.withLock { Self.add(tries, Self.row(account, now), of: tenant, to: &$0) }
    }

    private static func row(_ account: Account, _ time: Timestamp) -> Row {
        Row(account: account, minute: time.microseconds / 60_000_000 * 60_000_000)
    }

    private static func add(_ tries: Attempts, _ row: Row, of tenant: UUID, to state: inout State) {
        var row = row
        let isFull =
            (state.batches[tenant]?.count ?? 0) >= accountsOfTenant || state.rows >= most
        if isFull, state.batches[tenant]?[row] == nil { row.account = .unknown }
        if state.batches[tenant]?[row] == nil { state.rows += 1 }
        state.batches[tenant, default: [:]][
            row, default: Attempts(first: tries.first, last: tries.last)
        ].add(tries)
    }

    var tenants: Set<UUID> { Set(state.withLock { $0.batches.keys }) }

    /// Removes and returns the tenant's unwritten attempts, so that they can be written.
    func take(_ tenant: UUID) -> Batch {
        state.withLock { state in
            let batch = state.batches.removeValue(forKey: tenant) ?? [:]
            state.rows -= batch.count
            return batch
        }
    }

    /// Puts back attempts that could not be written.
    func restore(_ batch: Batch, of tenant: UUID) {
        state.withLock { state in
            for (row, tries) in batch { Self.add(tries, row, of: tenant, to: &state) }
        }
    }
}

extension WrongPasswords.Row {
    /// Returns the row's id. Every replica computes the same id, so that the counts of all replicas
    /// for one minute are added up in one row.
    func id(of tenant: UUID) -> UUID {
        let hash = SHA256.hash(Array("\(tenant) \(account) \(minute)".utf8))
        func word(_ from: Int) -> UInt64 {
            hash[from..<from + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        // Version 4, variant 1 (RFC 9562, section 4).
        return UUID(
            high: word(0) & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
            low: word(8) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
    }
}

extension Database {
    /// Writes the counted wrong passwords of one tenant, or of all tenants. It runs every few
    /// seconds, before they are shown, and when the service stops. If it fails, the counts are kept
    /// for the next call. Returns the first error that is not an outage.
    @discardableResult
    func writeWrongPasswords(of tenant: UUID? = nil) async -> (any Error)? {
        await wrongPasswords.writing.write(
            of: tenant, among: wrongPasswords.tenants, taking: wrongPasswords.take,
            restoring: { wrongPasswords.restore($0, of: $1) }, { try await write($0, of: $1) })
    }

    private func write(_ batch: WrongPasswords.Batch, of tenant: UUID) async throws {
        if batch.isEmpty { return }
        // All writers use one order, which prevents deadlocks.
        let rows = batch.map { (id: $0.id(of: tenant), row: $0, tries: $1) }
            .sorted { $0.id < $1.id }
        try await writeCounts(of: tenant) { transaction in
            // Rows that exist keep their numbers; only new rows get one.
            let known = Set(
                try await transaction.query(
                    """
                    SELECT id FROM failed_sign_ins
                    WHERE tenant_id = \(tenant) AND id = ANY (\(rows.map(\.id)))
                    """
                ).all { row throws(PostgresError) in try row.get(0, as: UUID.self) })
            var newest = try await FailedSignIn.newest(
                .wrongPasswords, of: tenant, in: transaction)
            let numbers = rows.map { row in
                if known.contains(row.id) { return 0 }
                newest += 1
                return newest
            }
            try await transaction.query(Self.storing(rows, numbers, of: tenant))
            // Reads the newest number again, since rows of users who no longer exist were not
            // stored.
            newest = try await FailedSignIn.newest(.wrongPasswords, of: tenant, in: transaction)
            try await FailedSignIn.trim(
                .wrongPasswords, of: tenant, newest: newest, in: transaction)
        }
    }

    private static func storing(
        _ rows: [(id: UUID, row: WrongPasswords.Row, tries: WrongPasswords.Attempts)],
        _ numbers: [Int], of tenant: UUID
    ) -> SQL {
        func texts(_ text: (WrongPasswords.Attempt) -> String?) -> [String] {
            rows.map { text($0.tries.last) ?? "" }
        }
        let users = rows.map {
            if case .user(let id) = $0.row.account { id.description } else { "" }
        }
        let operators = rows.map {
            if case .operator(let id) = $0.row.account { id.description } else { "" }
        }
        return """
            INSERT INTO failed_sign_ins AS f (tenant_id, id, client, operation, reason, request_id, ip,
                user_agent, created_at, user_id, operator_id, tries, number)
            SELECT anchor.id, given.id, given.client, given.operation, given.reason, given.request_id,
                nullif(given.ip, ''), nullif(given.agent, ''), given.at,
                nullif(given.user_id, '')::uuid, nullif(given.operator_id, '')::uuid, given.tries,
                given.number
            FROM \(SQL.anchor(of: tenant)), unnest(\(rows.map(\.id))::uuid[],
                \(texts(\.client))::text[], \(texts(\.operation))::text[],
                \(texts(\.reason))::text[], \(texts(\.requestID))::text[], \(texts(\.ip))::text[],
                \(texts(\.userAgent))::text[], \(rows.map(\.tries.first))::timestamptz[],
                \(users)::text[], \(operators)::text[],
                \(rows.map { Int64($0.tries.count) })::bigint[],
                \(numbers.map(Int64.init))::bigint[])
                AS given (id, client, operation, reason, request_id, ip, agent, at, user_id,
                    operator_id, tries, number)
            WHERE anchor.id = \(tenant) AND (given.user_id = '' OR EXISTS (SELECT 1 FROM users u
                WHERE u.tenant_id = \(tenant) AND u.id = nullif(given.user_id, '')::uuid))
            ON CONFLICT (tenant_id, id) DO UPDATE SET tries = f.tries + EXCLUDED.tries,
                client = EXCLUDED.client, operation = EXCLUDED.operation,
                reason = EXCLUDED.reason, request_id = EXCLUDED.request_id, ip = EXCLUDED.ip,
                user_agent = EXCLUDED.user_agent
            """
    }
}
