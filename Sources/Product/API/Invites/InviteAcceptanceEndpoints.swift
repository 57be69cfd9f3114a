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
        problems: [.inviteUnknown]
    ) { call in
        let token = try call.input.string("token")
        guard let (invite, tenant) = try await call.services.database.invitePreview(token) else {
            throw Problem(.inviteUnknown, "The link is not valid; ask for a new one.")
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
            .notInvited, .userSuspended, .tenantSuspended, .rateLimited,
        ]
    ) { call in
        let database = try call.services.database
        let token = try call.input.string("token")
        let (user, tenant) = try await InviteAsking.answering {
            let (id, policy) = try await database.policy(forInviteToken: token)
            let hash = try await hashed(try call.input.string("password"), policy, call)
            return try await database.acceptInvite(
                token, in: id, passwordHash: hash, name: call.input.optionalString("name"),
                requestID: call.request.id, ip: call.request.remoteAddress)
        }
        var answer = Response.ok(
            .object([.init("user", user.json), .init("tenant", tenant.json)]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// Characters count for the minimum, bytes for the limit; nothing is cut.
    static func hashed(
        _ password: String, _ policy: TenantPolicy, _ call: Call
    ) async throws -> String {
        func refuse(_ code: FieldCode, _ detail: String) -> Problem {
            .invalid([FieldError("/password", code, detail)])
        }
        guard password.unicodeScalars.count >= policy.passwordMin else {
            throw refuse(.tooShort, "must have at least \(policy.passwordMin) characters")
        }
        guard password.utf8.count <= 1024 else {
            throw refuse(.tooLong, "must have at most 1024 bytes")
        }
        do {
            return try await call.services.passwords.hash(Array(password.utf8))
        } catch let fault as PasswordFault {
            guard fault == .busy else { throw fault }
            throw Problem(
                .rateLimited, "Too many passwords at once; try again.",
                fields: [Field("retry-after", "1")])
        }
    }
}
