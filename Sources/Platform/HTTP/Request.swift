import Text

/// The supported methods (RFC 9110 §9). A request with another method is answered with 501 before
/// routing.
package enum Method: String, Sendable, Hashable, CaseIterable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// A header or trailer field. Its name is in lower case, so names can be compared by equality.
package struct Field: Sendable, Hashable {
    package var name: String
    /// The value without spaces and tabs at its ends.
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A whole request that owns its bytes. Nothing in it points into a receive buffer, so it may be
/// used after an `await`.
package struct Request: Sendable {
    /// The method. A request with an unknown method is refused before a `Request` is made.
    package var method: Method
    /// The path as sent, still percent-encoded and without the query; never empty.
    package var path: String
    /// The bytes after the `?`; empty if there is no query.
    package var query: String
    /// The header fields in the order of the request; names may repeat.
    package var fields: [Field]
    /// The body, without chunk framing; empty if there is none.
    package var body: [UInt8]
    /// The body, if the handler receives it in pieces; `body` is then empty. Otherwise `nil`.
    package var stream: BodyStream?
    /// The peer's address as text, without a port; `unix` for a Unix socket.
    package var remoteAddress: String
    /// The address by which rate limits count requests: `remoteAddress`, or the /64 network of an
    /// IPv6 address.
    package var network: String { IPAddress.network(of: remoteAddress) }
    /// Whether the connection to the client is encrypted.
    package var isTLS: Bool
    /// The request's identifier: a well-formed `X-Request-Id` of the client, else a new one.
    package var id: String
    /// Whether the server added the path prefix that belongs to the request's host. The client did
    /// not send that prefix.
    package var isMountedByHost = false
    /// The object in which a handler sets the response for the case that the time limit passes.
    /// `nil` if no server waits for the response.
    package var lateForm: LateForm?

    /// Makes a request. The defaults suit requests that tests or the service itself make.
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

    /// Returns the first value of a field. `name` must be in lower case.
    package func first(_ name: String) -> String? {
        for field in fields where field.name == name { return field.value }
        return nil
    }

    /// Returns every value of a field, in order. `name` must be in lower case.
    package func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
}

extension Request {
    private static let forwarding: Set<String> = [
        "forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-host",
        "x-original-forwarded-for", "true-client-ip", "cf-connecting-ip", "cf-ray", "cdn-loop",
        "fastly-client-ip", "x-envoy-external-address", "x-scheme",
    ]

    /// Whether a proxy forwarded the request, so that the peer's address is not the client's.
    package var isPassedOn: Bool {
        fields.contains {
            Self.forwarding.contains($0.name) || $0.name.utf8.starts(with: "x-forwarded-".utf8)
        }
    }
}
