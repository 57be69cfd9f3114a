import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/join-links`: the endpoints of a join link's page. The person needs the link's token.
package enum JoinPageEndpoints {
    static let all: [Endpoint] = [preview]

    private static let token = FieldShape.required(
        "token", .string(min: 1, max: 128),
        "The token of the join link: the text after `#token=` in its URL.")

    private static let preview = Endpoint(
        .post, "/v1/join-links/preview", id: "previewJoinLink", tag: "Invites",
        summary: "Returns what a join link offers. This does not count as a use.", access: .open,
        body: .json(ObjectShape("JoinLinkPreviewRequest", [token])),
        answers: [
            .ok(
                ObjectShape(
                    "JoinLinkPreview",
                    [
                        .readOnly(
                            "tenant", .object(TenantRow.faceShape),
                            "The tenant that people join with the link."),
                        .readOnly(
                            "domains", .array(of: .string()),
                            "The email domains whose addresses may use the link; any address if "
                                + "empty."),
                        .readOnly("expires_at", .timestamp, "When the link expires."),
                        .readOnly(
                            "status", .enumeration(["active"]),
                            "Always `active`, since no other link has a preview."),
                        OfferedProviders.field,
                    ]))
        ],
        problems: [.reason(.joinUnknown), .rateLimited]
    ) { call in
        let offered = try await offered(call)
        var answer = Response.ok(
            .object([
                .init("tenant", offered.tenant.face),
                .init("domains", .strings(offered.row.link.domains)),
                .init("expires_at", .time(offered.row.link.expiresAt)),
                .init("status", .string("active")),
                try await OfferedProviders.member(of: offered.tenant, call),
            ]))
        answer.fields.append(Field("cache-control", "no-store"))
        return answer
    }

    /// The active link whose token is in the input. If no active link has the token, counts the
    /// attempt as a failure and throws.
    package static func offered(_ call: Call) async throws -> OfferedJoinLink {
        try await LinkMisses.check(call)
        let token = try call.input.string("token")
        let found = try await call.database.joinLink(ofToken: token)
        if let found, found.fault(at: call.now) == nil { return found }
        throw try await LinkMisses.missed(
            UnacceptedInvite.unknownJoinLink,
            why: found?.fault(at: call.now) ?? Reason.joinUnknown.rawValue, token: token, call)
    }
}
