import HTTP

/// What a fast path sees of a request whose body has wholly arrived: a view into the receive
/// buffer, not valid after the call returns.
package struct FastRequest {
    package let head: RequestHead
    package let body: UnsafeRawBufferPointer
    package let remoteAddress: String
    package let isTLS: Bool
    /// Monotonic nanoseconds of the loop.
    package let now: Int64
    let worker: Worker

    /// Writes the `x-request-id` field: the client's own when it is well-formed, else a new one.
    package func writeRequestID(to writer: ResponseWriter) {
        if let given = head.first("x-request-id"), isRequestID(given) {
            writer.field("x-request-id", UnsafeRawBufferPointer(given))
        } else {
            worker.ids.withNext { writer.field("x-request-id", $0) }
        }
    }
}

/// Answers a request at once, by exactly one `begin` … `finish`, and returns true; or writes
/// nothing and returns false, and the request takes the ordinary way. Runs on the loops' threads.
package typealias FastPath = @Sendable (_ request: FastRequest, _ writer: ResponseWriter) -> Bool
