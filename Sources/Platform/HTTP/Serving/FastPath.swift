import Runtime

/// A fast path's view of a complete request in the receive buffer; invalid after the call returns.
package struct FastRequest {
    package let head: RequestHead
    package let body: UnsafeRawBufferPointer
    package var remoteAddress: String
    package var isTLS: Bool
    /// Monotonic nanoseconds of the loop.
    package let now: Int64
    let connection: HTTPConnection

    /// Writes the `x-request-id` field: the client's own when it is well-formed, else a new one.
    package func writeRequestID(to writer: ResponseWriter) {
        if let given = head.first("x-request-id"), isRequestID(given) {
            writer.field("x-request-id", UnsafeRawBufferPointer(given))
        } else {
            connection.worker.ids.withNext { writer.field("x-request-id", $0) }
        }
    }

    /// Defers the response: the caller returns `.later` and completes it exactly once.
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
    /// The response is written, by exactly one `begin` … `finish`.
    case given
    /// Nothing was written: the request takes the ordinary path.
    case declined
    /// The response is deferred by `FastRequest.later`.
    case later
}

/// A fast path runs on the loops' threads.
package typealias FastPath =
    @Sendable (_ request: FastRequest, _ writer: ResponseWriter) -> FastAnswer

/// A deferred response. The connection reads nothing until it is completed. It is dropped with its
/// connection.
package struct LateAnswer: Sendable {
    package let requestID: String
    /// The response if the time limit passes.
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

    /// Whether the server has answered instead.
    package var wasAnswered: Bool { deadline.wasAnswered }

    /// `write` must make exactly one `begin` … `finish`. Called on the connection's loop.
    ///
    /// The response may be completed while another connection is served, for example when a look-up
    /// for many callers fails at once. The output buffer then holds that connection's responses,
    /// and the receive buffer its requests, so this one waits for the loop's next cycle.
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
    package func spawn(_ operation: @escaping @Sendable () async -> Void) {
        connection.loop.spawn(operation)
    }
}
