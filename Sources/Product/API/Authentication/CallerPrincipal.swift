import Domain
import JSON
import Storage
import Text

/// The authenticated caller.
package struct CallerPrincipal: Sendable, Equatable {
    /// The kind of caller. It determines how `role` and `scopes` are read.
    package enum Kind: String, Sendable {
        case anonymous, `operator`, user, key
    }

    package var subject: Principal
    /// The caller's name in the audit log: an email address, or the name of a key.
    package var name: String
    /// Whether the caller was authenticated by the console's cookie, so that writes need
    /// `X-Gatehouse-Console: 1`.
    var isConsoleSession = false
    /// The id of the session that authenticated the caller: the console's session, or the session
    /// of an access token.
    package var session: UUID?
    /// The time until which the console's operator counts as present, after a sign-in or step-up;
    /// `nil` if presence was not proved in this session.
    var stepUpUntil: Timestamp?
    /// The methods with which the console's operator can step up.
    var stepUpMethods: [StepUpMethod] = []
    /// Whether the operator has second factors but can use none of them, for example because the
    /// passkeys were made for another host name of the server.
    var hasUnusableFactors = false
    /// Whether the console's operator can sign in again without a link or the help of another
    /// operator.
    var canReturn = true
    /// Whether the session came through the provider without the operator's own second factor.
    var lacksSecondFactor = false
    /// The only provider that requests with this credential may name; `nil` if it may name any.
    var provider: UUID?
    /// What remains of the key's rate limit after this call; `nil` if the key has no limit.
    var rateLimit: RateLimitLeft?
    /// Whether the caller is an owner whose tenant is suspended and who may resume the tenant.
    var mayResume = false

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

    /// The tenant that the credential belongs to; `nil` for a credential of the platform.
    package var tenant: UUID? { subject.tenantID }

    /// Whether the caller may reach every tenant.
    package var platform: Bool { kind != .anonymous && tenant == nil }

    /// The scopes of a key; empty for operators and users, whose role decides.
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
struct RateLimitLeft: Sendable, Equatable {
    /// The limit: the number of uses per minute.
    var limit: Int
    /// The number of uses that are left in this minute after this use.
    var remaining: Int
    /// Seconds until the limit is reset.
    var resetsIn: Int64
}

/// The tenant of the path, found by id or slug.
package struct ResolvedTenant: Sendable, Equatable {
    /// The tenant's id, even if the path has the slug.
    package var id: UUID
    /// The tenant's slug, even if the path has the id.
    var slug: String
}

extension Principal {
    /// Throws 403 with the missing rights unless the principal has all rights of the role. The role
    /// is the one that the principal grants, or the role of the user on whom the principal acts.
    func requireCover(of role: UserRole, in tenant: UUID) throws {
        let missing = Permissions.lacking(self, for: role, in: tenant)
        guard !missing.isEmpty else { return }
        throw Problem.forbidden(
            "The credential does not cover the role \(role.rawValue). It lacks: "
                + "\(missing.joined(separator: ", ")).")
    }

    /// The time when an object that this principal creates ends: the requested time `end`, or the
    /// expiry of the calling key if the key expires earlier.
    func cut(_ end: Timestamp) -> Timestamp { expiry.map { min($0, end) } ?? end }
}
