/// The CORS decision about one request. The middleware applies it, and `cors/evaluate` shows it.
package struct CORSDecision: Sendable, Equatable {
    package enum Rule: String, Sendable {
        /// The request has no `Origin`.
        case absent
        /// The origin is one of the service's own origins, which serve its pages.
        case own
        case exact
        case wildcard
        case devOrigins = "dev_origins"
        /// The resource is public: every origin may read it, without credentials.
        case publicDocument = "public"
        case none
    }

    /// Why the request is allowed or refused; raw values are the wire format's `reason`.
    package enum Reason: String, Sendable {
        case noOrigin = "no_origin"
        case ownOrigin = "own_origin"
        case listed
        case publicDocument = "public_document"
        case notListed = "origin_not_listed"
        case empty = "origin_empty"
        case null = "origin_null"
        case ambiguous = "origin_ambiguous"
        case tenantSuspended = "tenant_suspended"
        case methodNotAllowed = "method_not_allowed"
        case headerNotAllowed = "header_not_allowed"
        case cookieFromElsewhere = "cookie_from_other_origin"
        /// The request carries a cookie, but the origin is listed only for requests without
        /// cookies.
        case credentialsNotAllowed = "credentials_not_allowed"
    }

    /// A header field that the decision adds to the response.
    package struct Header: Sendable, Equatable {
        /// The field's name in lower case.
        package var name: String
        /// The field's value: ASCII without line breaks.
        package var value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Whether the browser may let the page read the response.
    package var allowed: Bool
    package var rule: Rule
    package var reason: Reason
    /// The status of a response that is sent at once: 204 without a body for a preflight, otherwise
    /// 400 or 403 with a problem. If nil, the request continues to its route.
    package var status: Int?
    /// Header fields to add to the response, even if it is an error. `vary` is appended to an
    /// existing `vary`.
    package var headers: [Header]

    /// Returns the value of the field `name` (in lower case); `nil` if the decision sets no such
    /// field.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// The parts of a request on which the CORS decision depends.
package struct CORSRequest: Sendable {
    /// The value of each `Origin` field, without surrounding white space.
    package var origins: [[UInt8]]
    var method: String
    /// The value of `Access-Control-Request-Method`. If it is set, an OPTIONS request is a
    /// preflight.
    var requestMethod: String?
    /// The value of `Access-Control-Request-Headers`; several such fields are joined with commas.
    var requestHeaders: String?
    /// Whether `Access-Control-Request-Private-Network: true` was sent.
    var asksPrivateNetwork: Bool
    var routeMethods: [String]?
    /// Whether the request has the console's session cookie.
    var hasConsoleCookie: Bool
    /// Whether the request has a cookie of the client at this path, and no credential in a header
    /// field. Such a request counts as a request with credentials, even if the page did not ask for
    /// credentials.
    var carriesCookie: Bool
    var profile: CORSProfile

    package init(
        origins: [[UInt8]], method: String, requestMethod: String? = nil,
        requestHeaders: String? = nil, asksPrivateNetwork: Bool = false,
        routeMethods: [String]? = nil, hasConsoleCookie: Bool = false,
        carriesCookie: Bool = false, profile: CORSProfile = .management
    ) {
        self.origins = origins
        self.method = method
        self.requestMethod = requestMethod
        self.requestHeaders = requestHeaders
        self.asksPrivateNetwork = asksPrivateNetwork
        self.routeMethods = routeMethods
        self.hasConsoleCookie = hasConsoleCookie
        self.carriesCookie = carriesCookie
        self.profile = profile
    }

    package var isPreflight: Bool {
        method.utf8.elementsEqual("OPTIONS".utf8) && requestMethod != nil && !origins.isEmpty
    }

    var isSafe: Bool {
        method.utf8.elementsEqual("GET".utf8) || method.utf8.elementsEqual("HEAD".utf8)
    }
}
