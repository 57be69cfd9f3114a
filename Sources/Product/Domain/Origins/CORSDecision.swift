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

    /// A response field that the decision asks for.
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

    /// False: the browser may not read the response.
    package var allowed: Bool
    package var rule: Rule
    package var reason: Reason
    /// The response is sent at once: 204 (a preflight) without a body, else a problem (400, 403).
    /// nil: the request continues to its route.
    package var status: Int?
    /// For every response, errors included. Append `vary` to an existing one.
    package var headers: [Header]

    /// `name` in lower case; nil if the decision sets no such field.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}
