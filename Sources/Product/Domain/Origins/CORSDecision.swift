/// The outcome for one request: what the middleware does and what `cors/evaluate` tells.
package struct CORSDecision: Sendable, Equatable {
    /// What let the origin in, or that nothing did.
    package enum Rule: String, Sendable {
        /// No browser asked.
        case absent
        /// The service's own pages.
        case own
        case exact
        case wildcard
        case devOrigins = "dev_origins"
        /// A document for everyone, without credentials.
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
    /// The rule that decided.
    package var rule: Rule
    /// Shown by `cors/evaluate`.
    package var reason: Reason
    /// To be answered at once, without a body for 204 (a preflight), else with a problem (400,
    /// 403). Nil: the request goes on to its route.
    package var status: Int?
    /// For whatever response follows, errors included. `vary` is to be appended to what is there.
    package var headers: [Header]

    /// `name` in lower case; nil if the decision sets no such field.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }
}
