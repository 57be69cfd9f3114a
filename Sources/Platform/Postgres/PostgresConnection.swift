import CPostgres
import Runtime
import Text

/// One connection in pipeline mode. Statements are put into libpq's buffer and sent at the next
/// flush. Answers arrive in order and are matched with the queue of sent statements.
///
/// `@unchecked Sendable`: used only on its loop's thread.
final class PostgresConnection: @unchecked Sendable {
    enum Expected {
        case control(Statement?)
        /// The answer to a command that the connection sent for itself. If the command fails, the
        /// connection cannot be used.
        case essential
        case prepare(Statement, name: String)
        case answer(Statement)
        case sync(Statement?)
    }

    let loop: EventLoop
    /// Whether the database spreads tenants over several servers.
    let isDistributed: Bool
    /// The number of warnings that the server has sent.
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
    /// The number of the current batch. A sync ends a batch.
    var batch = 0
    /// The value of `app.tenant` for the statements of the current batch.
    var tenant: UUID?
    /// Whether the statement that sets `app.tenant` is prepared.
    private var setsTenant = false
    /// When the server last sent something, or last had nothing to answer, in loop time.
    var lastProgress: Int64
    /// How far this connection's server has replayed the primary's log, if it is a standby.
    var replay = Replay()

    /// Called with a read that failed only because its batch failed. The read must be sent again.
    var onCollateral: (Statement) -> Void = { $0.complete(.failure(PostgresError(.unavailable))) }
    /// Called with a write that must be sent again. The pool sends it on a free connection, because
    /// this one may be in another user's transaction. `nil` if this connection has only one user.
    var onRepeat: ((Statement) -> Void)?
    /// Called when the server reports a fault about itself, such as a full disk.
    var onFault: (PostgresError) -> Void = { _ in }
    /// Called when the pipeline has room for more statements.
    var onProgress: () -> Void = {}
    var onLost: (_ cause: String) -> Void = { _ in }
    var onNotify: ((_ channel: String, _ payload: String) -> Void)?

    /// Makes a connection from libpq's handle, which must be connected and idle.
    init?(
        handle: OpaquePointer, loop: EventLoop, configuration: PostgresConfiguration,
        isDistributed: Bool
    ) {
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            PQfinish(handle)
            return nil
        }
        // Without a receiver, libpq would write notices (such as for a ROLLBACK without a
        // transaction) to standard error.
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

    /// Adds a statement to the current batch. `seal` ends the batch with a sync.
    func submit(_ statement: Statement, before prelude: [String] = []) {
        guard isOpen else { return lost(statement) }
        if isIdle { lastProgress = loop.now }
        inFlight += 1
        statement.warningsBefore = warnings.pointee
        for text in prelude { control(text, statement) }
        if statement.tenant != tenant { enter(statement) }
        send(statement)
        needsSync = true
    }

    /// Ends the current batch with a sync, so that a later error does not affect its statements.
    func seal(_ statement: Statement? = nil) {
        guard let handle, needsSync else { return }
        needsSync = false
        batch += 1
        let isExplicit = isInTransaction
        tenant = nil
        guard PQpipelineSync(handle) == 1 else { return close("sync refused") }
        expected.append(.sync(statement))
        needsFlush = true
        // COMMIT follows the sync, so that it also ends a transaction that failed.
        if isExplicit {
            control("COMMIT", nil)
            needsSync = true
            seal()
        }
    }

    /// Sends a statement as a batch of its own. If `flushing` is false, it is sent together with
    /// the next one.
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

    /// Closes the connection. Reads that were sent only once move to another connection. All other
    /// statements fail, and the outcome of writes is unknown.
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

/// Puts statements into libpq's buffer, and records which answer is expected for each.
extension PostgresConnection {
    /// Sets `app.tenant` for the rest of this batch. The statements between two syncs are one
    /// implicit transaction, at whose end the server resets local settings.
    private func enter(_ statement: Statement) {
        if isDistributed { return enterTransaction(statement) }
        if !setsTenant { prepareSetting() }
        guard let handle else { return }
        let sent = (statement.tenant?.description ?? "").withCString { text in
            var value: UnsafePointer<CChar>? = text
            return PQsendQueryPrepared(handle, Self.setting, 1, &value, nil, nil, 1)
        }
        guard sent == 1 else { return close("send refused") }
        tenant = statement.tenant
        expected.append(.control(statement))
    }

    /// The name of the prepared statement that sets `app.tenant`.
    private static let setting = "tenant"

    /// Prepares the statement that sets `app.tenant`, in a batch of its own, so that no other
    /// statement's failure affects it.
    private func prepareSetting() {
        seal()
        guard let handle else { return }
        let text = "SELECT set_config('app.tenant', $1, true)"
        guard PQsendPrepare(handle, Self.setting, text, 0, nil) == 1 else {
            return close("send refused")
        }
        expected.append(.essential)
        setsTenant = true
        needsSync = true
        seal()
    }

    func control(_ text: String, _ statement: Statement?) {
        guard let handle else { return }
        guard PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1) == 1 else {
            return close("send refused")
        }
        expected.append(.control(statement))
    }

    func send(_ statement: Statement) {
        let slots = statement.sql.slots
        let name: String
        switch statements.find(statement.sql.text, batch: batch) {
        case .name(let known): name = known
        // The server has not confirmed the named statement yet. So use the unnamed statement, which
        // is executed at once and replaced by the next Parse.
        case .unconfirmed:
            name = ""
            guard prepare(statement, name) else { return refuse(statement) }
        case nil:
            let added = statements.add(statement.sql.text, batch: batch)
            if let evicted = added.evicted { control("DEALLOCATE \(evicted)", nil) }
            name = added.name
            guard prepare(statement, name) else { return refuse(statement) }
        }
        guard let handle else { return lost(statement) }
        let count = slots.count
        let sent = statement.sql.values.withUnsafeBytes { values in
            withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count + 1) {
                pointers in
                withUnsafeTemporaryAllocation(of: Int32.self, capacity: 2 * count + 2) { numbers in
                    // For an empty value, pass an address that is not null, because libpq takes a
                    // null pointer for NULL.
                    let empty = UnsafeRawPointer(numbers.baseAddress)
                    for (index, slot) in slots.enumerated() {
                        let start = (values.baseAddress ?? empty).map { $0 + slot.offset }
                        pointers[index] =
                            slot.length < 0 ? nil : start?.assumingMemoryBound(to: CChar.self)
                        numbers[index] = Int32(max(0, slot.length))
                        numbers[count + index] = 1
                    }
                    return PQsendQueryPrepared(
                        handle, name, Int32(count), pointers.baseAddress, numbers.baseAddress,
                        numbers.baseAddress.map { $0 + count }, 1)
                }
            }
        }
        guard sent == 1 else { return refuse(statement) }
        expected.append(.answer(statement))
    }

    private func prepare(_ statement: Statement, _ name: String) -> Bool {
        let types = statement.sql.slots.map(\.type)
        guard let handle,
            PQsendPrepare(handle, name, statement.sql.text, Int32(types.count), types) == 1
        else { return false }
        expected.append(.prepare(statement, name: name))
        return true
    }

    /// Fails a statement that libpq did not accept, because memory is short, the statement has more
    /// than 65,535 values, or the connection is broken.
    private func refuse(_ statement: Statement) {
        let cause = handle.map { String(cString: PQerrorMessage($0)) } ?? ""
        inFlight -= 1
        statement.complete(.failure(PostgresError(.unavailable, cause)))
        close("send refused")
    }
}

/// Reads answers and matches them, in order, with the statements that were sent.
extension PostgresConnection {
    func ready(_ readable: Bool, _ writable: Bool) {
        if writable { flush() }
        guard readable, let handle else { return }
        let alive = PQconsumeInput(handle) == 1
        drain()
        takeNotifications()
        if !alive { close("closed by the server") }
        if isOpen { flush() }
        onProgress()
    }

    private func drain() {
        guard !draining else { return }
        draining = true
        defer { draining = false }
        var silent = 0
        if isIdle, let handle { _ = PQisBusy(handle) }
        while head < expected.count, let handle, PQisBusy(handle) == 0 {
            guard let result = PQgetResult(handle) else {
                // libpq returns NULL between two statements. Several NULLs in a row mean that
                // nothing is left.
                silent += 1
                if silent > 4 { return close("out of step") }
                continue
            }
            silent = 0
            lastProgress = loop.now
            let answer = ResultHandle(result)
            // Keep the order in which the server sent: deliver a notification before the answer
            // that follows it.
            takeNotifications()
            // The callback of a notification may have used this connection, found it lost and
            // closed it.
            guard isOpen else { return }
            take(answer)
        }
        if head == expected.count {
            expected.removeAll(keepingCapacity: true)
            head = 0
        } else if head > 1024 {
            expected.removeSubrange(0..<head)
            head = 0
        }
    }

    private func take(_ result: ResultHandle) {
        let status = PQresultStatus(result.pointer)
        let waiting = expected[head]
        if status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH {
            return close("COPY is not supported")
        }
        let failed = status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE
        // Errors of libpq itself have no SQLSTATE: the connection is lost and the outcome unknown.
        if failed, PQresultErrorField(result.pointer, Int32(UInt8(ascii: "C"))) == nil {
            return close("connection lost")
        }
        let error = failed ? PostgresError(result: result.pointer) : nil
        if let error, error.fault != nil { onFault(error) }
        // After a FATAL error the server closes the connection, so statements must not be repeated
        // here.
        defer { if failed, result.isFatal { close("ended by the server") } }
        if case .sync(let statement) = waiting {
            // If a commit fails at the sync (a deferred constraint), the error arrives before the
            // sync's answer.
            if let error { statement?.failure = statement?.failure ?? error }
            guard status == PGRES_PIPELINE_SYNC else { return }
            head += 1
            if let statement, isUnconfirmed(statement), statement.failure == nil {
                statement.failure = .unconfirmed
            }
            if let statement { finishWrite(statement) }
            return
        }
        if status == PGRES_PIPELINE_SYNC { return close("out of step") }
        head += 1
        switch waiting {
        case .control(let statement):
            if let error, let statement { fail(statement, error) }
        case .essential:
            if status != PGRES_COMMAND_OK { close("not prepared") }
        case .prepare(let statement, let name):
            if status == PGRES_COMMAND_OK {
                statements.confirm(statement.sql.text, name: name)
            } else {
                statements.remove(statement.sql.text, name: name)
            }
            if let error { fail(statement, error) }
        case .answer(let statement):
            inFlight -= 1
            statement.isUnconfirmed = isUnconfirmed(statement)
            if let error { fail(statement, error) }
            answer(statement, result, skipped: status == PGRES_PIPELINE_ABORTED)
        case .sync: break
        }
    }

    private func fail(_ statement: Statement, _ error: PostgresError) {
        if statement.failure == nil { statement.failure = error }
    }

    private func answer(_ statement: Statement, _ result: ResultHandle, skipped: Bool) {
        guard skipped || statement.failure != nil else {
            if statement.role != .write { return statement.complete(.success(Rows(result))) }
            statement.rows = Rows(result)
            return
        }
        if let failure = statement.failure, failure.isStalePlan {
            statements.remove(statement.sql.text)
        }
        switch statement.role {
        case .read:
            let collateral = statement.failure.map { $0.isCollateral || $0.isUnavailable } ?? true
            if collateral, !statement.retried { return again(statement) }
            statement.abandon(PostgresError.batchAborted.detail)
        case .inTransaction: statement.abandon(PostgresError.batchAborted.detail)
        case .write: break
        }
    }

    private func finishWrite(_ statement: Statement) {
        if let failure = statement.failure {
            if failure.isCollateral, !statement.retried {
                statement.retried = true
                statement.failure = nil
                statement.rows = nil
                return onRepeat?(statement) ?? submitAlone(statement)
            }
            statement.complete(.failure(failure))
        } else if let rows = statement.rows {
            statement.complete(.success(rows))
        } else {
            statement.abandon(PostgresError.batchAborted.detail)
        }
    }

    func again(_ statement: Statement) {
        statement.retried = true
        statement.failure = nil
        onCollateral(statement)
    }

    private func takeNotifications() {
        while let handle, let notification = PQnotifies(handle) {
            let channel = String(cString: notification.pointee.relname)
            let payload = String(cString: notification.pointee.extra)
            PQfreemem(notification)
            onNotify?(channel, payload)
        }
    }
}

extension UnsafeMutablePointer<Int> {
    static var zero: UnsafeMutablePointer<Int> {
        let made = allocate(capacity: 1)
        made.initialize(to: 0)
        return made
    }
}
