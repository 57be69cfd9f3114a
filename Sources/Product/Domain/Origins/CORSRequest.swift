/// The parts of a request that decide about its origin.
package struct CORSRequest: Sendable {
    /// The value of each `Origin` field, without surrounding white space.
    package var origins: [[UInt8]]
    package var method: String
    /// `Access-Control-Request-Method`; makes an OPTIONS a preflight.
    package var requestMethod: String?
    /// `Access-Control-Request-Headers`; several fields are joined with commas.
    package var requestHeaders: String?
    /// `Access-Control-Request-Private-Network: true` was sent.
    package var asksPrivateNetwork: Bool
    package var routeMethods: [String]?
    /// The request has the console's session cookie.
    package var hasConsoleCookie: Bool
    /// The request has a cookie of the path's client, and no credential in a header field: it
    /// counts as one with credentials, whatever the page asked for.
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
