import API
import Domain
import HTTP
import JSON
import Storage
import Text

/// Sign-ins at a provider that begin on the page of an invite or of a join link. The request has
/// the token of the invite or join link.
enum Joining {
    private static let token = FieldShape.required(
        "token", .string(min: 1, max: 128),
        "The token of the invite or of the join link: the text after `#token=` in the link.")

    static let withInvite = Endpoint(
        .post, "/v1/invites/sign-in", id: "signInWithInvite", tag: "Invites",
        summary:
            "Begins a sign-in at a provider with an invite. The sign-in must end in the same "
            + "browser.",
        access: .open,
        body: .json(
            ObjectShape(
                "InviteSignInRequest",
                [
                    token,
                    .required(
                        "provider", .uuid,
                        "The id of the provider at which the person signs in, as the preview lists "
                            + "it."),
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "InviteSignIn",
                    [.readOnly("url", .string(), "The URL that the browser must open.")]))
        ],
        problems: [.reason(.inviteUnknown), .forbidden, .rateLimited, .unavailable]
    ) { call in
        let (_, tenant) = try await InviteAcceptanceEndpoints.offered(call)
        return try await begin(
            call, for: tenant, .invite(TenantToken.hash(call.input.string("token"))))
    }

    static let withJoinLink = Endpoint(
        .post, "/v1/join-links/sign-in", id: "signInWithJoinLink", tag: "Invites",
        summary:
            "Begins a sign-in at a provider with a join link. The sign-in must end in the same "
            + "browser.",
        access: .open,
        body: .json(
            ObjectShape(
                "JoinLinkSignInRequest",
                [
                    token,
                    .required(
                        "provider", .uuid,
                        "The id of the provider at which the person signs in, as the preview lists "
                            + "it."),
                ])),
        answers: [
            .ok(
                ObjectShape(
                    "JoinLinkSignIn",
                    [
                        .readOnly(
                            "url", .string(),
                            "The URL that the browser must open.")
                    ]))
        ],
        problems: [.reason(.joinUnknown), .forbidden, .rateLimited, .unavailable]
    ) { call in
        let offered = try await JoinPageEndpoints.offered(call)
        return try await begin(
            call, for: offered.tenant, .join(TenantToken.hash(call.input.string("token"))))
    }

    /// Returns the URL to open, and a cookie. The browser's return from the provider is accepted
    /// only with this cookie.
    private static func begin(
        _ call: Call, for tenant: TenantRow, _ token: BroughtToken
    ) async throws -> Response {
        try HostedSignIn.requireOwnPage(call)
        do {
            let (url, cookie) = try await HostedCall(call, tenant).begin(
                at: call.input.uuid("provider"), bringing: token)
            var answer = Response.ok(.object([.init("url", .string(url))]))
            answer.fields += [cookie, Field("cache-control", "no-store")]
            return answer
        } catch let refusal as SignInRefusal {
            throw await ClientCall(hosted: call, tenant: tenant, provider: nil).explained(
                refusal.recorded, at: "\(call.request.method.rawValue) \(call.request.path)")
        }
    }
}
