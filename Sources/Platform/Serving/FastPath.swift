import Deadlines
import HTTP
import Networking

/// What a fast path sees of a request whose body has wholly arrived: a view into the receive
/// buffer, not valid after the call returns.
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

    /// The answer is to follow: whoever calls this returns `.later`, and gives it exactly once.
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
    /// Wrote the answer, by exactly one `begin` … `finish`.
    case given
    /// Wrote nothing: the request takes the ordinary way.
    case declined
    /// Took the place of the answer by `FastRequest.later`.
    case later
}

/// Runs on the loops' threads.
package typealias FastPath =
    @Sendable (_ request: FastRequest, _ writer: ResponseWriter) -> FastAnswer

/// The place of an answer that still has to be found out; the connection reads nothing until it is
/// given. Lost with its connection.
package struct LateAnswer: Sendable {
    package let requestID: String
    /// How it is answered when its time is over.
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

    /// Whether the server has answered in place of who owes this.
    package var wasAnswered: Bool { deadline.wasAnswered }

    /// `write` makes exactly one `begin` … `finish`. Called on the connection's loop.
    ///
    /// What is owed may be found out while another connection is served, such as when a look-up
    /// for many is refused at once. That connection's answers then stand in the output buffer, and
    /// its requests in the receive buffer, so this one waits for the loop's next cycle.
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
