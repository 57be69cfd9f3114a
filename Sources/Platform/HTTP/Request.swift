/// The methods that are served (RFC 9110 §9); anything else is answered 501 before routing.
package enum Method: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// One header or trailer line. Names are kept in lower case, so that comparing is by equality.
package struct Field: Sendable, Hashable {
    /// Lower case.
    package var name: String
    /// Without surrounding spaces and tabs.
    package var value: String

    /// `name` in lower case.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A whole request, owned: nothing in it points into a receive buffer, so it may cross an `await`.
package struct Request: Sendable {
    /// An unknown method is refused before a request is made.
    package var method: Method
    /// The path as sent, percent-encoding kept, never empty, without the query.
    package var path: String
    /// The bytes after `?`, without it; empty when there is none.
    package var query: String
    /// In the order of the request; names may repeat.
    package var fields: [Field]
    /// Decoded from chunks; empty without a body.
    package var body: [UInt8]
    /// The peer's address as text, without a port; `unix` for a unix socket.
    package var remoteAddress: String
    /// True if the connection to the client is encrypted.
    package var isTLS: Bool
    /// Given by the server for each request, or taken from a well-formed `X-Request-Id`.
    package var id: String
    /// The path begins with what the request's host stands for, which the client did not send.
    package var isMountedByHost = false
    /// How it is answered when its time is over; nil where no server waits for the answer.
    package var lateForm: LateForm?

    /// The defaults are a request of a test or of the service itself.
    package init(
        _ method: Method, _ path: String, query: String = "", fields: [Field] = [],
        body: [UInt8] = [], remoteAddress: String = "127.0.0.1", isTLS: Bool = false,
        id: String = ""
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.remoteAddress = remoteAddress
        self.isTLS = isTLS
        self.id = id
    }

    /// The first value of a field; `name` in lower case.
    package func first(_ name: String) -> String? {
        for field in fields where field.name == name { return field.value }
        return nil
    }

    /// Every value of a field, in order; `name` in lower case.
    package func all(_ name: String) -> [String] {
        fields.filter { $0.name == name }.map(\.value)
    }
}
