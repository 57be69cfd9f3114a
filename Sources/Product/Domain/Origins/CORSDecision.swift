/// The outcome for one request: what the middleware does and what `cors/evaluate` shows.
package struct CORSDecision: Sendable, Equatable {
    package enum Rule: String, Sendable {
        /// The request has no `Origin`.
        case absent
        /// The service's own pages.
        case own
        case exact
        case wildcard
        case devOrigins = "dev_origins"
        /// A public document, without credentials.
        case publicDocument = "public"
        case none
    }

    /// Raw values are the wire format's `reason`.
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
        /// The origin is listed, but not for requests that carry cookies.
        case credentialsNotAllowed = "credentials_not_allowed"
    }

    /// A response field that the decision requires.
    package struct Header: Sendable, Equatable {
        /// In lower case.
        package var name: String
        /// ASCII, without line breaks.
        package var value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// False if the browser may not read the response.
    package var allowed: Bool
    package var rule: Rule
    package var reason: Reason
    /// If set, the response is sent at once: 204 (a preflight) without a body, otherwise a problem
    /// (400, 403). If nil, the request continues to its route.
    package var status: Int?
    /// Fields for every response, including errors. `vary` must be appended to an existing one.
    package var headers: [Header]

    /// The value of a field; `name` is in lower case. `nil` if the decision sets no such field.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}

/// The parts of a request that decide about its origin.
package struct CORSRequest: Sendable {
    /// The value of each `Origin` field, without surrounding white space.
    package var origins: [[UInt8]]
    package var method: String
    /// `Access-Control-Request-Method`; makes an OPTIONS a preflight.
    package var requestMethod: String?
    /// `Access-Control-Request-Headers`; several fields are joined with commas.
    package var requestHeaders: String?
    /// Whether `Access-Control-Request-Private-Network: true` was sent.
    package var asksPrivateNetwork: Bool
    package var routeMethods: [String]?
    /// Whether the request has the console's session cookie.
    package var hasConsoleCookie: Bool
    /// Whether the request has a cookie of the path's client and no credential in a header field.
    /// Then it counts as a request with credentials, whatever the page asked for.
    package var carriesCookie: Bool
    package var profile: CORSProfile

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
