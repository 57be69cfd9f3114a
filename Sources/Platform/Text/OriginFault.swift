/// Why an operator's text is no origin that may be listed.
package enum OriginFault: String, Error, Sendable, Equatable {
    case empty
    case whitespaceOrControl
    case everyOrigin
    case nullOrigin
    case noScheme
    case unknownScheme
    case fileScheme
    case userInfo
    case pathQueryOrFragment
    case badHost
    case bareIPv6
    case badPort
    case portNotAllowed
    case wildcardNeedsHTTPS
    case wildcardMisplaced
    case wildcardOfPublicSuffix

    /// A sentence for the operator.
    package var reason: String {
        switch self {
        case .empty: "An origin is needed, such as https://app.example.com."
        case .whitespaceOrControl: "An origin has no spaces or control characters."
        case .everyOrigin: "Every origin cannot be allowed; list each one."
        case .nullOrigin: "The null origin cannot be allowed: every sandboxed page sends it."
        case .noScheme: "An origin starts with its scheme, such as https://."
        case .unknownScheme:
            "The scheme is none of http, https, \(Origin.customSchemes.joined(separator: ", "))."
        case .fileScheme: "Pages from files send the null origin, which cannot be allowed."
        case .userInfo: "An origin has no user name or password."
        case .pathQueryOrFragment:
            "An origin ends after the host or port: no path, query, fragment."
        case .badHost: "The host is no valid name or address."
        case .bareIPv6: "An IPv6 address stands in brackets."
        case .badPort: "The port is a number from 1 to 65535."
        case .portNotAllowed: "A wildcard or an app's scheme takes no port."
        case .wildcardNeedsHTTPS: "A wildcard is for https only."
        case .wildcardMisplaced: "A wildcard is the whole first label, as in https://*.example.com."
        case .wildcardOfPublicSuffix: "A wildcard below a public suffix would let in strangers."
        }
    }
}
