import HTTP

/// What is asked of a server that is not ours.
package struct OutboundRequest: Sendable {
    package var method: Method
    /// Absolute, `https`; a user, a password and any other scheme are refused.
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

/// A whole answer, whatever its status; redirects are answers like others.
package struct OutboundResponse: Sendable {
    package var status: Int
    /// Names in lower case, in the order of the answer.
    package var fields: [Field]
    package var body: [UInt8]

    /// The first value of a field; `name` in lower case.
    package func first(_ name: String) -> String? {
        fields.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// Why there is no answer.
package enum OutboundFailure: String, Error, Sendable {
    /// No absolute https URL, or a header field that would break out of its line.
    case invalidRequest
    /// The name leads only to addresses that are not public.
    case refusedAddress
    case unresolved
    /// No connection, or it broke before the whole answer was there.
    case unreachable
    /// The certificate does not prove the name, or there was no handshake.
    case untrusted
    case timedOut
    /// Head or body beyond the limit.
    case tooLarge
    /// What came is no HTTP.
    case malformed
    /// Too many calls are waiting already.
    case busy
    /// The host did not answer several times in a row; it is asked again in a while.
    case suspended

    /// For who named the host: whether a name inside exists is not told.
    package var told: String {
        switch self {
        case .unresolved, .refusedAddress, .unreachable: "unreachable"
        default: rawValue
        }
    }
}
