import Domain
import JSON
import Storage
import Text

/// The authenticated caller.
package struct CallerPrincipal: Sendable, Equatable {
    /// Decides how `role` and `scopes` are read.
    package enum Kind: String, Sendable {
        case anonymous, `operator`, user, key
    }

    package var subject: Principal
    /// For the audit trail: an address or a key's name.
    package var name: String
    /// Authenticated by the console's cookie, so that writes need `X-Gatehouse-Console: 1`.
    package var isConsoleSession = false
    /// The console's session, so that it can end itself.
    package var session: UUID?
    /// Until when the console's operator counts as present; nil: was not proved in this session.
    package var stepUpUntil: Timestamp?
    /// What a step-up of the console's operator asks for.
    package var stepUpMethods: [StepUpMethod] = []
    /// Whether its second factors are passkeys of another name of the server alone.
    package var hasUnusableFactors = false
    /// Whether the console's operator can sign in again without a link or a colleague.
    package var canReturn = true
    /// Whether it came through the provider past the operator's own second factor.
    package var lacksSecondFactor = false
    /// The only provider that the credential may name.
    package var provider: UUID?
    /// The remainder of the key's limit after this call; nil if it has none.
    package var rateLimit: RateLimitLeft?
    /// An owner of a suspended tenant who may resume it.
    package var mayResume = false

    package init(_ subject: Principal, name: String = "") {
        self.subject = subject
        self.name = name
    }

    package static let anonymous = CallerPrincipal(.anyone)

    package var kind: Kind {
        switch subject {
        case .operator: .operator
        case .user: .user
        case .key: .key
        case .anyone: .anonymous
        }
    }

    package var id: UUID? {
        switch subject {
        case .operator(let id, _, _), .user(let id, _, _), .key(let id, _, _, _): id
        case .anyone: nil
        }
    }

    /// The tenant the credential belongs to; nil for the platform's own.
    package var tenant: UUID? { subject.tenantID }

    /// May reach every tenant.
    package var platform: Bool { kind != .anonymous && tenant == nil }

    /// A key's scopes; empty for operators and users, whose role decides.
    package var scopes: [String] {
        if case .key(_, _, let scopes, _) = subject { scopes } else { [] }
    }

    package var user: UUID? {
        switch subject {
        case .user(let id, _, _), .key(_, .user(let id, _, _), _, _): id
        case .operator, .key, .anyone: nil
        }
    }
}

/// The rate limit fields for a key with a limit (draft-ietf-httpapi-ratelimit-headers-06).
package struct RateLimitLeft: Sendable, Equatable {
    /// Uses per minute.
    package var limit: Int
    /// Uses left in this minute, this one already counted.
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
    /// The tenant's id, also if the path held its slug.
    package var id: UUID
    /// The current slug; it may change, the id never does.
    package var slug: String

    package init(id: UUID, slug: String) {
        self.id = id
        self.slug = slug
    }
}

extension Principal {
    /// 403 with what is missing, unless the principal covers the role that it gives, or that the
    /// user has whom it touches.
    package func requireCover(of role: UserRole, in tenant: UUID) throws {
        let missing = Permissions.lacking(self, for: role, in: tenant)
        guard !missing.isEmpty else { return }
        throw Problem.forbidden(
            "The credential does not cover the role \(role.rawValue). It lacks: "
                + "\(missing.joined(separator: ", ")).")
    }

    /// When something ends that this principal makes and that should end at `end`: what a key makes ends no
    /// later than the key.
    package func cut(_ end: Timestamp) -> Timestamp { expiry.map { min($0, end) } ?? end }
}

extension Call {
    /// 403 unless the caller covers the role of the user.
    func requireCover(of user: UserRow) throws {
        try principal.subject.requireCover(of: user.role, in: user.tenant)
    }
}

/// Why an end is earlier than was asked.
enum ExpiryReason {
    static let field = FieldShape.readOnly(
        "expires_at_reason", .enumeration(["maker"]), always: false,
        "Present if it expires together with the key that created it, earlier than requested.")

    /// The member, if the end is the caller's own.
    static func members(of end: Timestamp, _ call: Call) -> [JSONValue.Member] {
        guard call.principal.subject.expiry == end else { return [] }
        return [.init("expires_at_reason", .string("maker"))]
    }
}
