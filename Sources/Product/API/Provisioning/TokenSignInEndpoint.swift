import HTTP
import Storage

/// `/v1/provisioning/sign-in`: the hooks' rules for every later sign-in.
enum TokenSignInEndpoint {
    static let all: [Endpoint] = [signIn]

    private static let signIn = Endpoint(
        .post, "/v1/provisioning/sign-in", id: "provisionSignIn", tag: "Provisioning",
        summary: "Decides where the person of a provider's id token belongs. The token goes into "
            + "`Authorization: Bearer` and is checked by the provider's own keys.",
        access: .open,
        body: .json(
            ObjectShape(
                "TokenSignIn",
                [
                    .nullable("tenant", .string(min: 1, max: 63), "Id or slug."),
                    .nullable("invite_token", .string(min: 1, max: 512)),
                    .nullable("join_token", .string(min: 1, max: 512)),
                    .nullable("link_grant", .string(min: 1, max: 512)),
                    .nullable(
                        "decline", .bool,
                        "Declines what `tenant` offers: its invite is revoked, and the answer is "
                            + "`existing`, or `deferred` with what is left."),
                ])),
        answers: [.ok(ProvisioningResult.shape)], problems: [.unauthorized, .unavailable],
        maxBody: 1 << 14
    ) { call in
        var answer = try await TokenSignIn(call).run()
        answer.set("cache-control", "no-store")
        return answer
    }
}
