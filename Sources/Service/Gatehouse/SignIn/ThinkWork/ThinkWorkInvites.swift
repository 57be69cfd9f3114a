import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Invites of people. An invited person becomes a user when they sign in at the pool with the same
/// address.
enum ThinkWorkInvites {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/tenants/{slug}/invites") { try await invite($0) }
    ]

    /// The inviter, for the check of rights and for the audit.
    private struct Inviter {
        var principal: Principal
        var actor: Actor
        /// The inviting key, which is locked in the database during the invite; `nil` if a user
        /// invites.
        var key: CallingKey?
    }

    /// Returns the inviter: the user whom the pool's id token proves, or a key.
    private static func inviter(_ call: ClientCall) async throws -> Inviter {
        if let credential = try Credential(call.request, cookie: nil),
            credential.text.utf8.starts(with: "gate_".utf8),
            case .key(let key, owner: _) = try await call.caller()
        {
            return Inviter(
                principal: key.subject,
                actor: Actor(
                    type: "key", id: key.id?.description ?? "", name: key.name,
                    requestID: call.request.id, ip: call.request.remoteAddress),
                key: CallingKey(key))
        }
        let found = try await call.evaluate(try await call.bearerPerson())
        guard found.verdict.outcome == .existing, found.verdict.maySignIn, let user = found.user,
            user.tenant == call.tenant.id
        else { throw Problem.forbidden("Forbidden") }
        return Inviter(
            principal: .user(id: user.id, role: user.role, tenant: call.tenant.id),
            actor: call.actor(user))
    }

    private static func invite(_ call: ClientCall) async throws -> Response {
        let inviter = try await inviter(call)
        guard call.isOwnTenant(try call.parameter("slug")) else { throw Problem.notFound("tenant") }
        try call.requireOwnTenant()
        guard let widest = Permissions.widestInvite(inviter.principal, in: call.tenant.id) else {
            throw Problem.forbidden("Forbidden")
        }
        let input = try call.object()
        guard let email = input.optionalString("email").flatMap({ try? EmailAddress($0) }) else {
            throw Problem(.invalidRequest, "email is required and must look like an email address")
        }
        let asked = input.optionalString("role")
        let role = asked.flatMap(UserRole.init)
        guard role != nil || asked == nil else {
            throw Problem(.invalidRequest, "role must be member, manager or admin")
        }
        let name = input.optionalString("name").map(DisplayText.named)
        guard name.map(DisplayText.isName) ?? true else {
            throw Problem(
                .invalidRequest, "name \(TextRule.displayName.fault(of: name ?? ""))")
        }
        guard name.map({ (1...255).contains($0.unicodeScalars.count) }) ?? true else {
            throw Problem(.invalidRequest, "name must have 1 to 255 characters")
        }
        var request = InviteRequest(email: email, role: role, widest: widest)
        request.latest = inviter.principal.expiry
        request.defaultRole = .member
        request.rolePrevails = true
        return try await invite(request, name, inviter, call)
    }

    private static func invite(
        _ request: InviteRequest, _ name: String?, _ inviter: Inviter, _ call: ClientCall
    ) async throws -> Response {
        do {
            let (user, result) = try await call.scope.change(by: inviter.actor) { change in
                if let key = inviter.key { _ = try await key.held(in: change) }
                let result = try await change.invite(request)
                guard let id = result.invite.userID else { throw Problem.internalError }
                let user = try await change.lockUser(id)
                guard user.name == nil, let name else { return (user, result) }
                return (try await change.renameUser(user, name), result)
            }
            // An invited user is not a member yet, even if the request is repeated.
            return answer(
                user, isMember: false, role: result.invite.role.rawValue,
                status: result.outcome == .created ? "active" : "pending")
        } catch let StorageFailure.conflict(code, _, id) where sameBytes(code, "email_taken") {
            guard let id, let user = try await call.scope.user(id) else {
                throw Problem.unavailable
            }
            return answer(user, isMember: true, role: user.role.rawValue, status: "active")
        } catch InviteRefusal.outsideDomains {
            throw Problem.forbidden("The address is outside the tenant's allowed domains.")
        } catch InviteRefusal.blocked {
            throw Problem.forbidden("The address is blocked by the tenant's policy.")
        } catch InviteRefusal.quota(_, let limit, let seconds) {
            throw Problem.rateLimited(
                "The tenant's quota of invites is used up.", limit: limit, retryAfter: seconds)
        } catch InviteRefusal.roleTooWide {
            throw Problem.forbidden("You may not give this role.")
        }
    }

    /// Returns the response. The membership and the user are one row here, so both have its id.
    private static func answer(
        _ user: UserRow, isMember: Bool, role: String, status: String
    ) -> Response {
        .json(
            isMember ? 200 : 201,
            bytes: JSONValue.object([
                .init("alreadyMember", .bool(isMember)), .init("id", .string(user.id.description)),
                .init("tenantId", .string(user.tenant.description)),
                .init("principalType", .string("user")),
                .init("principalId", .string(user.id.description)),
                .init("role", .string(role)), .init("status", .string(status)),
                .init("email", .string(user.email)),
            ]).encoded())
    }
}

/// Adds a second identity to a user by an operator's link grant, which is the app's `startToken`.
/// The recipient also needs a code from the grant's page, which shows the account: a link alone
/// must not add a sign-in to another person's account.
enum ThinkWorkEnrollment {
    static let routes: [ContractRoute] = [
        ContractRoute(.post, "/api/auth/enrollment/consume") { try await consume($0) }
    ]

    private static func consume(_ call: ClientCall) async throws -> Response {
        try call.requireOwnTenant()
        let person = try await call.bearerPerson()
        let input = try call.object()
        guard let token = input.optionalString("startToken"), (1...512).contains(token.utf8.count),
            let challenge = input.optionalString("recipientChallenge"),
            let redirect = input.optionalString("redirectUri"), !redirect.isEmpty
        else { throw Problem(.invalidRequest, "Invalid enrollment request") }
        guard let hash = call.grantHash(token) else { return outcome("invalid_grant", 400) }
        guard sameBytes(challenge, call.database.challenge(ofGrant: hash)) else {
            return outcome("invalid_challenge", 400)
        }
        return switch try await call.useLinkGrant(token, for: person) {
        case .linked, .again: outcome("consumed", 200)
        case .unknown, .refused: outcome("invalid_grant", 400)
        case .used: outcome("already_consumed", 400)
        case .over: outcome("expired", 400)
        case .conflict: outcome("identity_conflict", 409)
        }
    }

    private static func outcome(_ name: String, _ status: Int) -> Response {
        .json(status, bytes: JSONValue.object([.init("outcome", .string(name))]).encoded())
    }
}
