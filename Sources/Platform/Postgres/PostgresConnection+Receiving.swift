import CPostgres
import Networking

/// Answers, matched in order with the statements that were sent.
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
                // NULL separates two statements; several in a row mean that nothing is left.
                silent += 1
                if silent > 4 { return close("out of step") }
                continue
            }
            silent = 0
            lastProgress = loop.now
            let answer = ResultHandle(result)
            // In the order of the stream: a notification before an answer is delivered before it.
            takeNotifications()
            // The callback may have written here and found the connection closed.
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
        // libpq's own failures have no SQLSTATE: the connection is lost, the outcome unknown.
        if failed, PQresultErrorField(result.pointer, Int32(UInt8(ascii: "C"))) == nil {
            return close("connection lost")
        }
        let error = failed ? PostgresError(result: result.pointer) : nil
        if let error, error.fault != nil { onFault(error) }
        // The server closes after a FATAL; repeated statements must not be sent here.
        defer { if failed, result.isFatal { close("ended by the server") } }
        if case .sync(let statement) = waiting {
            // A commit that fails at the sync (a deferred constraint) reports before the sync does.
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

    /// With several servers the coordinator commits, and warns if one of them did not follow yet. libpq
    /// reads ahead for warnings, so that those of neighbours in the pipeline count too.
    private func isUnconfirmed(_ statement: Statement) -> Bool {
        isDistributed && warnings.pointee > statement.warningsBefore
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
