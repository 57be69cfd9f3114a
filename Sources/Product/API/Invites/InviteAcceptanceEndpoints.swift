import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/invites`: the endpoints of the page that accepts an invite. The person needs the invite's
/// token.
package enum InviteAcceptanceEndpoints {
    static let all: [Endpoint] = [preview, accept]

    private static let token = FieldShape.required(
        "token", .string(min: 1, max: 128),
        "The token of the invite: the text after `#token=` in its link.")

    private static let preview = Endpoint(
        .post, "/v1/invites/preview", id: "previewInvite", tag: "Invites",
        summary: "Returns what an invite offers. The invite remains valid.", access: .open,
        body: .json(ObjectShape("InvitePreviewRequest", [token])),
        answers: [
            .ok(
                ObjectShape(
                    "InvitePreview",
                    [
                        .readOnly(
                            "tenant", .object(TenantRow.faceShape),
                            "The tenant that the person is invited to."),
                        .readOnly("email", .string(), "The email address that is invited."),
                        .readOnly(
                            "role", .enumeration(of: UserRole.self),
                            "The role that the invite offers. A `member` has "
                                + "the fewest rights, an `admin` the most."),
                        .readOnly("expires_at", .timestamp, "When the invite expires."),
                        .readOnly(
                            "status", .enumeration(["pending"]),
                            "Always `pending`, since no other invite has a preview."),
                        OfferedProviders.field,
                    ]))
        ],
        problems: [.reason(.inviteUnknown), .rateLimited]
    ) { call in
        let (invite, tenant) = try await offered(call)
        var answer = Response.ok(
            .object([
                .init("tenant", tenant.face),
                .init("email", .string(invite.email)), .init("role", .string(invite.role.rawValue)),
                .init("expires_at", .time(invite.expiresAt)),
                .init("status", .string(invite.status(at: call.now).rawValue)),
                try await OfferedProviders.member(of: tenant, call),
            ]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    private static let accept = Endpoint(
        .post, "/v1/invites/accept", id: "acceptInvite", tag: "Invites",
        summary: "Accepts an invite and sets a password. The person can sign in from then on.",
        access: .open,
        body: .json(
            ObjectShape(
                "InviteAcceptance",
                [
                    token,
                    .required(
                        "password", .string(max: 1024),
                        "The password that the person chooses, at most 1,024 bytes. The "
                            + "tenant's policy sets the minimum length."),
                    .nullable(
                        "name",
                        .string(min: 1, max: ProvisioningCall.nameLimit, rule: .displayName),
                        "The person's name; absent or `null` if the person states none."),
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "InviteAccepted",
                    [
                        .readOnly(
                            "user", .object(UserRow.shape),
                            "The user who can sign in from now on, without private attributes."),
                        .readOnly(
                            "tenant", .object(TenantRow.shape),
                            "The tenant that the user has joined, without private attributes."),
                        ReturnAddress.shown,
                    ]))
        ],
        problems: [
            .reason(.inviteUnknown), .reason(.inviteUsed), .reason(.inviteExpired),
            .reason(.inviteRevoked), .reason(.identityLinkRequired),
            .reason(.notInvited), .reason(.userSuspended), .reason(.tenantSuspended),
            .reason(.tenantDeleted), .reason(.approvalPending), .rateLimited,
        ]
    ) { call in
        let token = try call.input.string("token")
        try await LinkMisses.check(call)
        guard let offered = try await call.database.offeredInvite(token) else {
            throw try await missed(token, call)
        }
        let invite = offered.invite
        let name = call.input.optionalString("name")
        var hash: String?
        if invite.status(at: call.now) == .pending {
            hash = try await NewPassword(
                text: call.input.string("password"), minimum: offered.policy.passwordMin,
                usesBlocklist: offered.policy.passwordBlocklist,
                about: [invite.email, offered.tenant.name]
            ).hashed(call)
        }
        let result = try await call.database.provision(
            ProvisioningCall(accepting: invite, token: token, passwordHash: hash, name: name),
            by: Actor(
                type: "user", id: invite.userID?.description ?? "", name: name ?? invite.email,
                requestID: call.request.id, ip: call.request.remoteAddress)
        ) { $0.answerText }
        guard result.verdict.isSuccess, let user = result.user,
            let tenant = result.tenant
        else {
            guard let reason = result.verdict.reason else { throw Problem.internalError }
            throw UnacceptedInvite.problem(reason, reference: result.reference)
        }
        let goesTo = try await call.database.scope(tenant.id)
            .returnAddress(of: .invite(TenantToken.hash(token)))
        var answer = Response.ok(
            .object([
                .init("user", user.withoutPrivate.json),
                .init("tenant", tenant.withoutPrivate.json),
                .init("return_to", .text(goesTo)),
            ]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// Returns the invite whose token is in the input, and the invite's tenant. If no pending
    /// invite has the token, counts the attempt as a failure and throws.
    package static func offered(_ call: Call) async throws -> (InviteRow, TenantRow) {
        let token = try call.input.string("token")
        try await LinkMisses.check(call)
        guard let found = try await call.database.invitePreview(token) else {
            throw try await missed(token, call)
        }
        return found
    }

    /// The error for a token without a usable invite. Its text is the same for every cause. An
    /// operator finds the cause by the reference that the text contains.
    private static func missed(_ token: String, _ call: Call) async throws -> Problem {
        var why = Reason.inviteUnknown.rawValue
        if let found = try await call.database.offeredInvite(token) {
            let status = found.invite.status(at: call.now)
            why =
                status == .pending
                ? "tenant_\(found.tenant.status.rawValue)" : "invite_\(status.rawValue)"
        }
        return try await LinkMisses.missed(UnacceptedInvite.unknown, why: why, token: token, call)
    }
}

/// The errors for an invite or a join link that does not admit a person. Anyone who has the token was
/// invited, so the response may state the reason.
package enum UnacceptedInvite {
    static let unknown = Problem(
        .reason(.inviteUnknown), "The link is not valid; ask for a new one.")

    static let unknownJoinLink = Problem(
        .reason(.joinUnknown), "The link is not valid; ask for a new one.")

    /// The error for a reason. `reference` identifies the recorded decision.
    package static func problem(_ reason: Reason, reference: String) -> Problem {
        let detail =
            switch reason {
            case .inviteUnknown: unknown.detail
            case .inviteUsed: "The invite was already used; sign in instead."
            case .inviteRevoked: "The invite is no longer valid; ask for a new one."
            case .inviteExpired: "The invite has expired; ask for a new one."
            case .inviteEmailMismatch:
                "The invite is for another address. Sign in with the address that was invited."
            case .joinUnknown: unknownJoinLink.detail
            case .joinRevoked: "The link is no longer valid; ask for a new one."
            case .joinExpired: "The link has expired; ask for a new one."
            case .joinUsedUp: "The link has let in as many people as it may; ask for a new one."
            case .emailMissing, .emailInvalid:
                "The provider sent no valid address of yours. Choose a password, or another way."
            case .emailUnverified:
                "Your address does not count as confirmed at this provider, or more than one of "
                    + "your addresses is invited. Choose another way, or ask your administrator."
            case .notInvited: "The tenant does not admit this address now."
            case .userSuspended: "The account is suspended."
            case .tenantSuspended, .tenantDeleted: "The tenant does not admit anyone now."
            case .identityLinkRequired:
                "The account is already active; sign in and add the password there."
            default: PublicRefusal.text(reference: reference)
            }
        var problem = Problem(.reason(reason), detail)
        problem.cause = "sign-in: \(reason.rawValue), ref \(reference)"
        return problem
    }
}

/// The sign-in providers that the page of an invite or a join link shows.
enum OfferedProviders {
    static let field = FieldShape.readOnly(
        "providers",
        .array(
            of: .object(
                ObjectShape([
                    .readOnly("id", .uuid, "The provider's id."),
                    .readOnly("name", .string(), "The provider's name, as people see it."),
                    .readOnly(
                        "kind", .string(),
                        "The kind of the provider: `oidc`, `google` or `github`."),
                ]))), "The providers where the person can sign in.")

    static func member(of tenant: TenantRow, _ call: Call) async throws -> JSONValue.Member {
        let providers = try await call.database.offeredProviders(of: tenant.id)
        return .init(
            "providers",
            .array(
                providers.map {
                    .object([
                        .init("id", .string($0.id.description)),
                        .init("name", .string($0.name)), .init("kind", .string($0.kind)),
                    ])
                }))
    }
}
