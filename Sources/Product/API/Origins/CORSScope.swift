import HTTP
import Storage
import Text

/// The allow lists that apply to a path.
package enum CORSScope: Sendable, Equatable {
    /// Below this tenant, by id or slug: its rows and the platform's.
    case tenant(String)
    /// One of the few paths that get the tenant from the credential.
    case credential
    /// Only the platform's rows.
    case platform
    /// Public documents, readable from any origin.
    case publicDocument

    init(path: String) {
        if ["/openapi.json", "/.well-known/jwks.json"].contains(where: { sameBytes($0, path) }) {
            self = .publicDocument
            return
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if parts.count > 3, sameBytes(parts[1], "v1"), sameBytes(parts[2], "tenants"),
            !parts[3].isEmpty
        {
            self = .tenant(parts[3])
        } else if parts.count > 2, sameBytes(parts[1], "t"), !parts[2].isEmpty {
            self = .tenant(parts[2])
        } else if Self.learnsTenant(path) {
            self = .credential
        } else {
            self = .platform
        }
    }

    private static func learnsTenant(_ path: String) -> Bool {
        let exact = ["/v1/api-keys/verify", "/v1/api-keys/verify-batch", "/v1/me"]
        return exact.contains { sameBytes($0, path) }
            || sameBytes(path, "/v1/provisioning/sign-in")
            || path.utf8.starts(with: "/v1/join-links/".utf8)
            || path.utf8.starts(with: "/v1/invites/".utf8)
            || path.utf8.starts(with: "/oauth/".utf8)
    }

    /// The client contract of a path; nil if none.
    package static func client(of path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 3, sameBytes(String(parts[1]), "t") else { return nil }
        return String(parts[3])
    }

    /// The owner of the rows to query. `locator`: of the tenant in the request's credential or
    /// token.
    func holder(isPreflight: Bool, locator: @autoclosure () -> String?) -> Database.CORSOwner {
        switch self {
        case .tenant(let text): .tenant(text)
        case .platform, .publicDocument: .platform
        case .credential: isPreflight ? .anyone : locator().map { .locator($0) } ?? .platform
        }
    }
}
