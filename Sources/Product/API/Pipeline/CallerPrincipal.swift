import Text

/// The authenticated caller.
package struct Principal: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case anonymous, `operator`, user, key
    }

    package var kind: Kind
    package var id: UUID?
    package var name: String
    /// The tenant the credential belongs to; nil for the platform's own.
    package var tenant: UUID?
    /// May reach every tenant.
    package var platform: Bool
    package var role: String
    /// A key's scopes; empty for operators, whose role decides.
    package var scopes: [String]
    /// Authenticated by the console's cookie, so that writes need `X-Gatehouse-Console: 1`.
    package var isConsoleSession: Bool
    /// The console's session, so that it can end itself.
    package var session: UUID?
    /// The only provider that the credential may name.
    package var provider: UUID?
    /// The user who owns the key, if a user does.
    package var user: UUID?
    /// The remainder of the key's limit after this call; nil if it has none.
    package var rateLimit: RateLimitLeft?
    /// An owner of a suspended tenant who may resume it.
    package var mayResume = false

    package init(
        kind: Kind, id: UUID? = nil, name: String = "", tenant: UUID? = nil,
        platform: Bool = false, role: String = "", scopes: [String] = [],
        isConsoleSession: Bool = false
    ) {
        self.kind = kind
        self.id = id
        self.name = name
        self.tenant = tenant
        self.platform = platform
        self.role = role
        self.scopes = scopes
        self.isConsoleSession = isConsoleSession
    }

    package static let anonymous = Principal(kind: .anonymous)
}

/// The rate limit fields for a key with a limit (draft-ietf-httpapi-ratelimit-headers-06).
package struct RateLimitLeft: Sendable, Equatable {
    /// Uses per minute.
    package var limit: Int
    package var remaining: Int
    /// Seconds until the limit is reset.
    package var resetsIn: Int64

    package init(limit: Int, remaining: Int, resetsIn: Int64) {
        self.limit = limit
        self.remaining = remaining
        self.resetsIn = resetsIn
    }
}

/// A tenant of the path, found by id or slug.
package struct ResolvedTenant: Sendable, Equatable {
    package var id: UUID
    package var slug: String

    package init(id: UUID, slug: String) {
        self.id = id
        self.slug = slug
    }
}
