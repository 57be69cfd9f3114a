import Observability
import Text

typealias Answer = Result<Rows, PostgresError>

/// What a statement sees.
struct StatementScope: Equatable, Sendable {
    /// The `app.tenant` while the statement runs.
    var tenant: UUID?
    /// It names the shards of this id's range, which the server must have.
    var shard: Int64?
}

/// A statement in progress, and its completion. Confined to the loop of its pool.
///
/// `@unchecked Sendable`: created by the caller, then handed to that loop and touched only there.
final class Statement: @unchecked Sendable {
    enum Role {
        /// May run on any read connection, share a sync, and be sent twice.
        case read
        /// Its own implicit transaction: completes when the server has acknowledged the sync.
        case write
        /// Inside an explicit transaction.
        case inTransaction
    }

    let sql: SQL
    let role: Role
    let scope: StatementScope
    /// Loop time in nanoseconds when it began to wait for a connection.
    var began: Int64 = 0
    /// Loop time after which it is not sent any more.
    var deadline: Int64 = .max
    /// The end of the request's waits; `deadline` is never later.
    var latest: Int64 = .max
    var retried = false
    /// The first failure of a message sent for this statement, such as its Parse.
    var failure: PostgresError?
    var rows: Rows?
    /// How many warnings the connection had when it was sent.
    var warningsBefore = 0
    /// The server warned since then, before it answered.
    var isUnconfirmed = false
    /// Where the position after its commit is noted; nil: it is not asked for.
    var position: CommitPosition?
    /// Numbers the questions for that position, one for each attempt.
    var lastQuestion = 0
    var awaitsPosition = false
    private var trace: Trace?
    /// Nanoseconds since 1970, if it is traced.
    private var start: Int64 = 0
    private var held: Answer?
    private var finish: ((Answer) -> Void)?

    init(
        _ sql: SQL, _ role: Role, in scope: StatementScope = StatementScope(),
        finish: @escaping (Answer) -> Void
    ) {
        self.sql = sql
        self.role = role
        self.scope = scope
        self.finish = finish
    }

    /// Records its span from now until it completes; nil: records none.
    func follow(_ trace: Trace?) {
        guard let trace else { return }
        self.trace = trace
        start = Span.now
    }

    func complete(_ answer: Answer) {
        if awaitsPosition {
            held = answer
            return
        }
        if let trace {
            self.trace = nil
            addSpan(to: trace, since: start, answer)
        }
        let finish = finish
        self.finish = nil
        finish?(answer)
    }

    /// Completes with the answer that came before the position.
    func completeHeld() {
        guard let held else { return }
        self.held = nil
        complete(held)
    }

    /// Fails with the fault that was found, else as unavailable.
    func abandon(_ cause: String) {
        complete(.failure(failure ?? PostgresError(.unavailable, cause)))
    }
}
