import Text

typealias Answer = Result<Rows, PostgresError>

/// One statement on its way, and who waits for its answer. Confined to the loop of its pool.
///
/// `@unchecked Sendable`: made by the caller, then handed to that loop and touched only there.
final class Statement: @unchecked Sendable {
    enum Role {
        /// May be answered from any read connection, shares a sync, may be sent twice.
        case read
        /// Its own implicit transaction: answered when the server acknowledged the sync.
        case write
        /// Inside an explicit transaction.
        case inTransaction
    }

    let sql: SQL
    let role: Role
    /// Whose rows the read may see: `app.tenant` while it runs.
    let tenant: UUID?
    /// Loop time in nanoseconds at which it began to wait for a connection.
    var began: Int64 = 0
    /// Loop time after which it is not sent any more.
    var deadline: Int64 = .max
    /// The end of what its request may wait for; `deadline` is never later.
    var latest: Int64 = .max
    var retried = false
    /// The first failure of a message sent for this statement, such as its Parse.
    var failure: PostgresError?
    var rows: Rows?
    private var finish: ((Answer) -> Void)?

    init(_ sql: SQL, _ role: Role, tenant: UUID? = nil, finish: @escaping (Answer) -> Void) {
        self.sql = sql
        self.role = role
        self.tenant = tenant
        self.finish = finish
    }

    func complete(_ answer: Answer) {
        let finish = finish
        self.finish = nil
        finish?(answer)
    }

    /// Fails with what was found wrong with it, else as what cannot be answered now.
    func abandon(_ cause: String) {
        complete(.failure(failure ?? PostgresError(.unavailable, cause)))
    }
}
