/// Limits of one request, in bytes except `fields`.
package struct HTTPLimits: Sendable {
    /// Method, target and version; longer is 414.
    package var requestLine = 8 << 10
    /// The whole head, the request line included.
    package var head = 32 << 10
    /// Field lines, each counted.
    package var fields = 100
    /// Decoded bytes, without chunk framing; more is 413.
    package var body = 1 << 20
    /// The same of the longest body that a handler receives in pieces; 0 if there is none.
    package var streamedBody = 0

    package init() {}
}

/// Why a request is refused before routing; the connection closes after the response.
package struct HTTPError: Error, Sendable, Equatable {
    /// 400, 413, 414, 417, 431, 501 or 505.
    package var status: Int
    /// One sentence for the client; holds nothing of what was sent.
    package var detail: String

    /// `detail` must hold nothing of what was sent.
    package init(_ status: Int, _ detail: String) {
        self.status = status
        self.detail = detail
    }
}
