import HTTP

/// A request to an external server.
package struct OutboundRequest: Sendable {
    package var method: Method
    /// Absolute, `https`, or `http` where the policy permits it; a user, a password and any other scheme are
    /// refused.
    package var url: String
    package var fields: [Field]
    package var body: [UInt8]

    package init(_ method: Method, _ url: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// A whole response, whatever its status; redirects are not followed.
package struct OutboundResponse: Sendable {
    package var status: Int
    /// Names in lower case, in the order of the response.
    package var fields: [Field]
    package var body: [UInt8]

    /// The first value of a field; `name` in lower case.
    package func first(_ name: String) -> String? {
        fields.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// Why there is no response.
package enum OutboundFailure: String, Error, Sendable {
    /// No absolute https URL, or a header field with a line break.
    case invalidRequest
    /// The name leads only to addresses that are not public.
    case refusedAddress
    case unresolved
    /// No connection, or it broke before the response was complete.
    case unreachable
    /// The certificate does not prove the name, or there was no handshake.
    case untrusted
    case timedOut
    /// Head or body beyond the limit.
    case tooLarge
    /// The response is no HTTP.
    case malformed
    /// Too many calls are waiting already.
    case busy
    /// The host timed out several times in a row; it is tried again later.
    case suspended

    /// For the owner that configured the host: whether an internal name exists is not disclosed.
    package var told: String {
        switch self {
        case .unresolved, .refusedAddress, .unreachable: "unreachable"
        default: rawValue
        }
    }
}
