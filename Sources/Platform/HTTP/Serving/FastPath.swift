import Runtime

/// A complete request in the receive buffer, which is passed to a fast path. Do not use the request
/// after the fast path has returned.
package struct FastRequest {
    package let head: RequestHead
    package let body: UnsafeRawBufferPointer
    package var remoteAddress: String
    package var isTLS: Bool
    /// The loop's time in monotonic nanoseconds.
    let now: Int64
    let connection: HTTPConnection

    /// Writes the `x-request-id` field: the client's own identifier if it is well-formed, else a
    /// new one.
    package func writeRequestID(to writer: ResponseWriter) {
        if let given = head.first("x-request-id"), isRequestID(given) {
            writer.field("x-request-id", UnsafeRawBufferPointer(given))
        } else {
            connection.worker.ids.withNext { writer.field("x-request-id", $0) }
        }
    }

    /// Defers the response. The fast path must then return `.later`, and must complete the returned
    /// `LateAnswer` exactly once.
    package func later() -> LateAnswer {
        let turn = connection.beginTurn()
        let id = connection.requestID(of: head)
        let form = LateForm()
        let deadline = Deadline(since: now, lasting: connection.worker.configuration.answerTime)
        connection.startClock(deadline, form, id: id)
        return LateAnswer(
            requestID: id, whenLate: form, deadline: deadline, turn: turn,
            connection: LoopBound(connection, loop: connection.worker.loop))
    }
}

/// What a fast path did with a request.
package enum FastAnswer: Sendable {
    /// The fast path wrote the response, by one `begin` and one `finish`.
    case given
    /// The fast path wrote nothing, so the request is routed to its ordinary handler.
    case declined
    /// The fast path deferred the response by `FastRequest.later`.
    case later
}

/// A function that may answer a request before it is copied and routed. It runs on the loop's
/// thread.
package typealias FastPath =
    @Sendable (_ request: FastRequest, _ writer: ResponseWriter) -> FastAnswer

/// A deferred response. Until it is completed, the connection reads nothing. If the connection
/// closes, the response is discarded.
package struct LateAnswer: Sendable {
    package let requestID: String
    /// The response that is sent if the time limit passes.
    package let whenLate: LateForm
    private let deadline: Deadline
    private let turn: UInt64
    fileprivate let connection: LoopBound<HTTPConnection>

    fileprivate init(
        requestID: String, whenLate: LateForm, deadline: Deadline, turn: UInt64,
        connection: LoopBound<HTTPConnection>
    ) {
        self.requestID = requestID
        self.whenLate = whenLate
        self.deadline = deadline
        self.turn = turn
        self.connection = connection
    }

    /// Whether the server has already sent its own response, because the time limit passed.
    package var wasAnswered: Bool { deadline.wasAnswered }

    /// Completes the response. `write` must call `begin` and `finish` exactly once each. Call it on
    /// the connection's loop.
    ///
    /// The loop may be serving another connection at that moment, for example when one failure ends
    /// the look-ups of many callers at once. The output buffer then contains responses of that
    /// other connection, and the receive buffer contains its requests. So this response is written
    /// in the loop's next cycle.
    package func give(_ write: @escaping (ResponseWriter) -> Void) {
        let worker = connection.value.worker
        guard worker.serving else { return connection.value.answer(turn: turn, by: write) }
        let bound = LoopBound((connection.value, write), loop: connection.loop)
        let turn = turn
        worker.loop.perform {
            let (connection, write) = bound.value
            connection.answer(turn: turn, by: write)
        }
    }

    /// Runs an async function on the connection's loop.
    func spawn(_ operation: @escaping @Sendable () async -> Void) {
        connection.loop.spawn(operation)
    }
}
