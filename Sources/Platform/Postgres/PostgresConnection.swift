import CPostgres
import Networking
import Text

/// One connection in pipeline mode. Statements are queued in libpq's buffer and sent at the next
/// flush; answers arrive in order and are matched with the queue of sent statements.
///
/// `@unchecked Sendable`: touched on its loop's thread only.
final class PostgresConnection: @unchecked Sendable {
    enum Expected {
        case control(Statement?)
        /// A failure of this one makes the connection useless.
        case essential
        case prepare(Statement, name: String)
        case answer(Statement)
        case sync(Statement?)
    }

    let loop: EventLoop
    /// The database spreads tenants over several servers: by the tables' names, only SET LOCAL in an explicit
    /// transaction reaches the tenant's.
    let isDistributed: Bool
    /// A read by the names of distributed tables is planned at each run.
    let forgetsPlans: Bool
    /// How many warnings the server sent.
    let warnings = UnsafeMutablePointer<Int>.zero
    var handle: OpaquePointer?
    let descriptor: Int32
    var expected: [Expected] = []
    var head = 0
    private var writing = false
    var draining = false
    var statements: StatementCache
    var inFlight = 0
    var needsSync = false
    var needsFlush = false
    /// Numbers the batches between two syncs.
    var batch = 0
    /// What the statements of this batch see.
    var scope = StatementScope()
    /// The statements that set the scope and are prepared.
    var prepared: Set<String> = []
    /// When the server last sent something, or had nothing to answer; loop time.
    var lastProgress: Int64
    /// What this connection's server has replayed, if it is a standby.
    var replay = Replay()

    /// Receives a read that failed with its batch, to be sent again.
    var onCollateral: (Statement) -> Void = { $0.complete(.failure(PostgresError(.unavailable))) }
    /// Receives a write that must be sent again: this connection may be in another holder's
    /// transaction, so a pool uses a free one. nil: this connection has no other user.
    var onRepeat: ((Statement) -> Void)?
    /// The server reported that it cannot do its work.
    var onFault: (PostgresError) -> Void = { _ in }
    /// Called when the pipeline has room again.
    var onProgress: () -> Void = {}
    var onLost: (_ cause: String) -> Void = { _ in }
    var onNotify: ((_ channel: String, _ payload: String) -> Void)?

    /// Takes over an established, idle connection.
    init?(
        handle: OpaquePointer, loop: EventLoop, configuration: PostgresConfiguration,
        isDistributed: Bool
    ) {
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            PQfinish(handle)
            return nil
        }
        // Notices (a ROLLBACK with nothing open) would go to standard error.
        PQsetNoticeReceiver(
            handle,
            { context, result in
                guard let context, let result,
                    let severity = PQresultErrorField(result, Int32(UInt8(ascii: "V")))
                else { return }
                if String(cString: severity) == "WARNING" {
                    context.assumingMemoryBound(to: Int.self).pointee += 1
                }
            }, warnings)
        self.isDistributed = isDistributed
        forgetsPlans = configuration.forgetsPlans
        self.handle = handle
        self.loop = loop
        descriptor = PQsocket(handle)
        statements = StatementCache(limit: configuration.statementLimit)
        lastProgress = loop.now
        loop.watch(descriptor) { [weak self] readable, writable in
            self?.ready(readable, writable)
        }
    }

    deinit {
        if let handle { PQfinish(handle) }
        warnings.deallocate()
    }

    var isOpen: Bool { handle != nil }
    var isIdle: Bool { head == expected.count }
    /// Whether the batch of reads is an explicit transaction, which must be ended.
    var mustCommit: Bool { isDistributed && scope.tenant != nil && scope.shard == nil }

    /// Puts a read into the current batch; `seal` ends the batch with a sync.
    func submit(_ statement: Statement, before prelude: [String] = []) {
        guard isOpen else { return lost(statement) }
        if isIdle { lastProgress = loop.now }
        inFlight += 1
        statement.warningsBefore = warnings.pointee
        for text in prelude { control(text, statement) }
        if statement.scope != scope { enter(statement) }
        send(statement)
        needsSync = true
    }

    /// Ends the batch: an error affects statements up to here only.
    func seal(_ statement: Statement? = nil) {
        guard let handle, needsSync else { return }
        needsSync = false
        batch += 1
        let isExplicit = mustCommit
        scope = StatementScope()
        guard PQpipelineSync(handle) == 1 else { return close("sync refused") }
        expected.append(.sync(statement))
        needsFlush = true
        // Behind the sync, so that it ends a failed transaction too.
        if isExplicit {
            control("COMMIT", nil)
            needsSync = true
            seal()
        }
    }

    /// Sends a statement in its own batch. `flushing` false: with what follows.
    func submitAlone(
        _ statement: Statement, before prelude: [String] = [], flushing: Bool = true
    ) {
        seal()
        submit(statement, before: prelude)
        seal(statement.role == .write ? statement : nil)
        if flushing { flush() }
    }

    func flush() {
        guard let handle, needsFlush || writing else { return }
        needsFlush = false
        switch PQflush(handle) {
        case 0: setWriting(false)
        case 1: setWriting(true)
        default: close("send failed")
        }
    }

    private func setWriting(_ on: Bool) {
        guard writing != on else { return }
        writing = on
        loop.rewatch(descriptor, readable: true, writable: on)
    }

    /// Closes the connection and fails everything that waits on it. Reads that were not yet sent
    /// twice move to another connection; a write's outcome is unknown.
    func close(_ cause: String) {
        guard let open = handle else { return }
        handle = nil
        loop.unwatch(descriptor)
        PQfinish(open)
        let abandoned = expected[head...]
        expected = []
        head = 0
        inFlight = 0
        for entry in abandoned {
            switch entry {
            case .answer(let statement): lost(statement)
            case .sync(let statement?): lost(statement)
            default: break
            }
        }
        let told = onLost
        onLost = { _ in }
        told(cause)
    }

    func lost(_ statement: Statement) {
        switch statement.role {
        case .read where !statement.retried: again(statement)
        case .write where statement.failure == nil:
            statement.complete(.failure(PostgresError(.commitUnknown, "connection lost")))
        default: statement.abandon("connection lost")
        }
    }
}
