import Cryptography
import Domain
import HTTP
import JSON
import Storage
import Text

/// `/v1/provisioning/sign-in`: applies the same rules as the hooks, at each sign-in with a
/// provider's id token.
package enum TokenSignInEndpoint {
    package static let all: [Endpoint] = {
        var endpoint = signIn
        endpoint.takesIDToken = true
        return [endpoint]
    }()

    private static let signIn = Endpoint(
        .post, "/v1/provisioning/sign-in", id: "provisionSignIn", tag: "Provisioning",
        summary:
            "Decides from a provider's id token whether a person may sign in, and to which tenant. "
            + "If the rules admit a new person, a user is created. The token is sent as "
            + "`Authorization: Bearer` and verified with the provider's keys.",
        access: .open,
        body: .json(
            ObjectShape(
                "TokenSignIn",
                [
                    FieldShape(
                        "tenant", .string(min: 1, max: 63), nullable: true,
                        "The requested tenant, by id or slug.", example: .string("acme")),
                    .nullable(
                        "invite_token", .string(min: 1, max: 512),
                        "The token of the invite that the person uses; absent or `null` if there "
                            + "is none."),
                    .nullable(
                        "join_token", .string(min: 1, max: 512),
                        "The token of the join link that the person uses; absent or `null` if "
                            + "there is none."),
                    .nullable(
                        "link_grant", .string(min: 1, max: 512),
                        "A token from `POST /v1/tenants/{tenant}/users/{id}/link-grants`. It "
                            + "adds this sign-in to that user, once, if both have the same email "
                            + "address. Absent or `null` if there is no token."),
                    .nullable(
                        "decline", .bool,
                        "Whether the person declines to join `tenant`, which is then required. An "
                            + "invite of this tenant is revoked. The outcome is `existing`, "
                            + "`deferred` with the remaining choices, or `refused`."),
                ])),
        answers: [.ok(ProvisioningResult.shape)], problems: [.unauthorized, .unavailable],
        maxBody: 1 << 14
    ) { call in
        var answer = try await TokenSignIn(call).run()
        answer.set("cache-control", "no-store")
        return answer
    }
}

/// A sign-in with a provider's id token. It finds the provider, verifies the token, and makes an
/// attempt from the token's claims.
struct TokenSignIn {
    let call: Call
    let database: Database

    init(_ call: Call) throws {
        self.call = call
        database = call.database
    }

    func run() async throws -> Response {
        let text = try bearer()
        let token: IDToken
        do throws(IDTokenFault) {
            token = try IDToken(Array(text.utf8))
        } catch {
            throw Self.refused(error.reason)
        }
        let (provider, party) = try await provider(of: token)
        let claims = try await claims(of: token, from: party)
        var attempt = ProvisioningCall(claims, from: provider)
        if call.input.flag("decline") { return try await decline(attempt, provider) }
        attempt.tenant = call.input.optionalString("tenant")
        attempt.inviteToken = call.input.optionalString("invite_token")
        attempt.joinToken = call.input.optionalString("join_token")
        attempt.linkGrant = call.input.optionalString("link_grant")
        attempt.eventID = event(text)
        do {
            let result = try await database.provision(attempt, by: actor(provider)) {
                $0.publicView.answerText
            }
            return .json(bytes: Array(result.answer.utf8))
        } catch is TokenOutdated {
            throw Self.refused("the person was signed out everywhere after the token was issued")
        }
    }

    private func actor(_ provider: ProviderRow) -> Actor {
        Actor(
            type: "hook", id: provider.id.description, name: provider.name,
            requestID: call.request.id, ip: call.request.remoteAddress)
    }

    /// The number of seconds for which the server tries to deliver a mail that only informs.
    static let noticeSeconds: Int64 = 3 * 86_400

    /// Declines membership in a tenant. The body must name that tenant and nothing else.
    private func decline(
        _ attempt: ProvisioningCall, _ provider: ProviderRow
    ) async throws -> Response {
        guard let tenant = call.input.optionalString("tenant") else {
            throw Problem.invalid([
                FieldError("/tenant", .required, "must name the tenant that is declined")
            ])
        }
        let beside = ["invite_token", "join_token", "link_grant"].filter {
            call.input.optionalString($0) != nil
        }
        guard beside.isEmpty else {
            throw Problem.invalid(
                beside.map {
                    FieldError(
                        "/" + $0, .notAllowed,
                        "is not allowed together with decline")
                })
        }
        let publicURL = call.application.publicURL
        let end = call.now.adding(seconds: Self.noticeSeconds)
        let mail = { @Sendable (foundTenant: TenantRow, inviter: String, invited: String) in
            OutgoingMail(
                .inviteDeclined, to: inviter, tenantName: foundTenant.name,
                link: "\(publicURL)/console/t/\(foundTenant.slug)/invites", message: invited,
                expiresAt: end)
        }
        do {
            let result = try await database.decline(
                attempt, tenant: tenant, by: actor(provider),
                mail: call.application.sendsMail ? mail : nil
            ) { $0.publicView.answerText }
            return .json(bytes: Array(result.answer.utf8))
        } catch is TokenOutdated {
            throw Self.refused("the person was signed out everywhere since")
        }
    }

    /// The id of the attempt. It is the same whenever the same token is sent with the same body.
    private func event(_ token: String) -> String {
        let names = ["tenant", "invite_token", "link_grant"]
        var texts = [token] + names.map { call.input.optionalString($0) ?? "" }
        if let join = call.input.optionalString("join_token") { texts.append(join) }
        return "id-token " + Hex.encode(SHA256.hash(Array(texts.joined(separator: "\n").utf8)))
    }

    /// The error for a refused token. Its text is the same for every cause; the cause is only in
    /// the log.
    static func refused(_ cause: String) -> Problem {
        var problem = Problem(
            .unauthorized, "The id token is not accepted.",
            fields: [
                Field("www-authenticate", "Bearer realm=\"gatehouse\", error=\"invalid_token\"")
            ])
        problem.cause = "id token: " + cause
        return problem
    }

    private func bearer() throws -> String {
        let lines = call.request.all("authorization")
        guard let line = lines.first, lines.count == 1 else { throw Problem.unauthorized() }
        let parts = line.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, sameBytes(parts[0].lowercased(), "bearer") else {
            throw Problem.unauthorized()
        }
        return String(parts[1].trimmingSpaces)
    }

    /// The provider that has the token's issuer and accepts one of its audiences. The requested
    /// tenant's own provider comes first, then the platform's. Another provider is chosen only if
    /// it is the only one that fits. Throws 401 if none is chosen.
    private func provider(of token: IDToken) async throws -> (ProviderRow, RelyingParty) {
        let rows = try await database.providers(issuing: token.claimedIssuer)
        var fitting: [(ProviderRow, RelyingParty)] = []
        for row in rows {
            guard let party = row.relyingParty, party.isIssuer(token.claimedIssuer) else {
                continue
            }
            fitting.append((row, party))
        }
        guard !fitting.isEmpty else { throw Self.refused("issuer_unknown") }
        fitting.removeAll { !$0.1.takesOne(of: token.claimedAudiences) }
        guard !fitting.isEmpty else { throw Self.refused(IDTokenFault.audienceMismatch.reason) }
        var asked: UUID?
        if let text = call.input.optionalString("tenant") {
            asked = try await database.tenant(text)?.id
        }
        if let own = fitting.first(where: { asked != nil && $0.0.tenantID == asked }) { return own }
        if let platform = fitting.first(where: { $0.0.tenantID == nil }) { return platform }
        guard fitting.count == 1 else { throw Self.refused("several providers") }
        return fitting[0]
    }

    private func claims(of token: IDToken, from party: RelyingParty) async throws -> IDClaims {
        let documents = call.application.documents
        do throws(FederationFault) {
            return try await documents.claims(of: token, from: party)
        } catch {
            switch error {
            case .token(let fault): throw Self.refused(fault.reason)
            case .unavailable(let reason):
                var problem = Problem.unavailable
                problem.detail = "The provider does not answer now; try again."
                problem.cause = "provider documents: " + reason
                throw problem
            }
        }
    }
}

extension ProvisioningCall {
    /// Makes an attempt from the claims of a verified id token. For a federated user of a Cognito
    /// pool, the identity is the one at the upstream provider, as in the pool's triggers.
    package init(_ claims: IDClaims, from provider: ProviderRow) {
        if !sameBytes(provider.kind, ProviderKind.cognito.rawValue) {
            self.init(
                provider: .attempt(provider.id.description, issuer: nil, subject: claims.subject))
        } else {
            let names = (claims.all["identities"]?.array ?? []).compactMap { identity in
                identity["providerName"]?.string.flatMap { upstream in
                    identity["userId"]?.string.map {
                        FederatedName(upstream: upstream, subject: $0)
                    }
                }
            }
            if let first = names.first {
                self.init(provider: .federated(pool: provider.issuer, first))
                // The limit of nine is enough, since a pool links only a few identities to one
                // user.
                otherNames = Array(names.dropFirst().prefix(9))
            } else {
                let name = claims.all["cognito:username"]?.string ?? claims.subject
                self.init(
                    provider: .pool(provider.issuer, .confirmSignUp, userName: name),
                    trigger: .nativeProved)
            }
            alias = PoolAlias(pool: provider.issuer, sub: claims.subject)
            // The token was verified with this provider's keys, so no other provider with the same
            // pool may be used.
            onlyProvider = provider.id
        }
        tokenTime = TokenTime(claims: claims.all)
        isInPerson = true
        email = claims.email
        emailVerified = claims.emailVerified
        hostedDomain = claims.hostedDomain
        name = claims.name
        clientID = claims.audience
    }
}
