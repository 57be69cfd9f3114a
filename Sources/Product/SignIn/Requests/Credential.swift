import API
import Domain
import HTTP
import Text

/// The one credential of an app's request, in a header field or a cookie.
struct Credential: Sendable {
    enum Source: Sendable, Equatable { case header, cookie }

    var text: String
    var source: Source

    private static let schemes = ["bearer", "apikey"]

    /// nil if there is none. Two different ones in header fields are 400, never "pick one"; a
    /// cookie counts only if no header field has one.
    init?(_ request: Request, cookie: String?) throws {
        var found: [String] = []
        for line in request.all("authorization") {
            guard let text = Self.bare(line) else {
                throw Problem(.invalidRequest, "The Authorization header is not understood.")
            }
            found.append(text)
        }
        for name in CORSProfile.credentialHeaders {
            found += request.all(name).filter { !$0.isEmpty }
        }
        if let first = found.first {
            guard found.allSatisfy({ sameBytes($0, first) }) else {
                throw Problem(.invalidRequest, "Two different credentials: send one.")
            }
            text = first
            source = .header
            return
        }
        guard let cookie, let value = RequestCookie.value(cookie, in: request), !value.isEmpty
        else {
            return nil
        }
        // A page of another site must not act with the cookie (Fetch Metadata).
        let site = request.first("sec-fetch-site")
        if let site, site != "same-origin", site != "none", request.first("origin") == nil {
            throw Problem.forbidden("The session is not for other sites.")
        }
        text = value
        source = .cookie
    }

    /// `ApiKey k`, `Bearer k`, `Bearer jwt`, and a bare token without a scheme.
    private static func bare(_ line: String) -> String? {
        let parts = line.utf8.split(separator: 0x20, omittingEmptySubsequences: true)
        switch parts.count {
        case 1:
            let text = String(decoding: parts[0], as: UTF8.self)
            return schemes.contains { sameBytesIgnoringASCIICase($0, text) } ? nil : text
        case 2:
            let scheme = String(decoding: parts[0], as: UTF8.self)
            guard schemes.contains(where: { sameBytesIgnoringASCIICase($0, scheme) }) else {
                return nil
            }
            return String(decoding: parts[1], as: UTF8.self)
        default: return nil
        }
    }
}
