import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/invites`: the acceptance page, for whoever holds a token.
enum InviteAcceptanceEndpoints {
    static let all: [Endpoint] = [preview, accept]

    private static let token = FieldShape.required("token", .string(min: 1, max: 128))

    private static let preview = Endpoint(
        .post, "/v1/invites/preview", id: "previewInvite", tag: "Invites",
        summary: "What an invite offers; looking uses nothing up.", access: .open,
        body: .json(ObjectShape("InvitePreviewRequest", [token])),
        answers: [
            .ok(
                ObjectShape(
                    "InvitePreview",
                    [
                        .readOnly(
                            "tenant", .object(ObjectShape([.readOnly("name", .string())]))),
                        .readOnly("email", .string()),
                        .readOnly("role", .enumeration(["member", "manager", "admin"])),
                        .readOnly("expires_at", .timestamp),
                        .readOnly("status", .enumeration(["pending"])),
                    ]))
        ],
        problems: [.inviteUnknown, .rateLimited]
    ) { call in
        let token = try call.input.string("token")
        try await checkMisses(call)
        guard let (invite, tenant) = try await call.services.database.invitePreview(token) else {
            throw try await missed(call)
        }
        var answer = Response.ok(
            .object([
                .init("tenant", .object([.init("name", .string(tenant.name))])),
                .init("email", .string(invite.email)), .init("role", .string(invite.role.rawValue)),
                .init("expires_at", .time(invite.expiresAt)),
                .init("status", .string(invite.status(at: call.now).rawValue)),
            ]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    private static let accept = Endpoint(
        .post, "/v1/invites/accept", id: "acceptInvite", tag: "Invites",
        summary: "Takes the invite with a password; the person can sign in from then on.",
        access: .open,
        body: .json(
            ObjectShape(
                "InviteAcceptance",
                [
                    token, .required("password", .string(max: 1024)),
                    .nullable("name", .string(min: 1, max: 200)),
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "InviteAccepted",
                    [.readOnly("user", .any), .readOnly("tenant", .object(TenantRow.shape))]))
        ],
        problems: [
            .inviteUnknown, .inviteUsed, .inviteExpired, .inviteRevoked, .identityLinkRequired,
            .notInvited, .userSuspended, .tenantSuspended, .approvalPending, .rateLimited,
        ]
    ) { call in
        let database = try call.services.database
        let token = try call.input.string("token")
        try await checkMisses(call)
        guard let offered = try await database.offeredInvite(token) else {
            throw try await missed(call)
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
        let result = try await database.provision(
            ProvisioningCall(accepting: invite, token: token, passwordHash: hash, name: name),
            by: Actor(
                type: "user", id: invite.userID?.description ?? "", name: name ?? invite.email,
                requestID: call.request.id, ip: call.request.remoteAddress)
        ) { String(decoding: $0.json(withTrace: false).encoded(), as: UTF8.self) }
        guard let result, result.verdict.isSuccess, let user = result.user,
            let tenant = result.tenant
        else { throw refusal(result) }
        var answer = Response.ok(
            .object([.init("user", user.json), .init("tenant", tenant.json)]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// Tokens that do not fit, of one address in a minute.
    private static let missLimit = 60

    private static func checkMisses(_ call: Call) async throws {
        let database = try call.services.database
        guard try await database.counted(misses(call)) >= missLimit else { return }
        throw Problem.rateLimited(
            "Too many links that do not fit; wait a minute.", limit: missLimit,
            retryAfter: database.secondsOfMinuteLeft)
    }

    private static func missed(_ call: Call) async throws -> Problem {
        _ = try await call.services.database.count(misses(call))
        return unknown
    }

    private static func misses(_ call: Call) -> String {
        "links that do not fit, from \(call.request.remoteAddress)"
    }

    private static let unknown = Problem(
        .inviteUnknown, "The link is not valid; ask for a new one.")

    /// Whoever holds the token was invited, so the reason may be told.
    private static func refusal(_ result: ProvisioningResult?) -> Problem {
        guard let result, let reason = result.verdict.reason else { return .internalError }
        let detail =
            switch reason {
            case .inviteUnknown: unknown.detail
            case .inviteUsed: "The invite was used already; sign in instead."
            case .inviteRevoked: "The invite was taken back."
            case .inviteExpired: "The invite is over; ask for a new one."
            case .notInvited: "The tenant does not take this address now."
            case .userSuspended: "The account is suspended."
            case .tenantSuspended, .tenantDeleted: "The tenant takes nobody in now."
            case .identityLinkRequired:
                "The account is active already; sign in and add the password there."
            default: PublicRefusal.text(reference: result.reference)
            }
        return Problem(Code(rawValue: reason.rawValue) ?? .forbidden, detail)
    }
}
