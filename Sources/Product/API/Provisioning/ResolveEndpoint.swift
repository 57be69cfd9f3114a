import Domain
import HTTP
import JSON
import Storage
import Text

/// `…/decisions/{id}/resolve`: lets an operator decide who owns an account with an unverified
/// address.
package enum ResolveEndpoint {
    package static let all: [Endpoint] = [resolve]

    private static let actions = ["open_another", "give_account"]

    private static let resolve = Endpoint(
        .post, "/v1/tenants/{tenant}/provisioning/decisions/{id}/resolve", id: "resolveDecision",
        tag: "Provisioning",
        summary:
            "Resolves a sign-in that was refused because an existing account has the same address, "
            + "which was never verified. Either the person gets the existing account, or the "
            + "existing account gets another address. Returns the decision and the user's "
            + "current state.",
        access: .right(.linkIdentities),
        body: .json(
            ObjectShape(
                "DecisionResolution",
                [
                    .required(
                        "action", .enumeration(actions),
                        "`open_another` gives the existing account another address. `give_account` "
                            + "gives the existing account to the person whose sign-in was refused."
                    ),
                    FieldShape(
                        "email", .email, nullable: true,
                        "With `open_another`: the new address of the existing account.",
                        example: .string("ada.old@example.com")),
                ])),
        answers: [
            .ok(
                DecisionRow.shape.adding(
                    "ResolvedDecision",
                    [
                        .readOnly(
                            "user", .object(UserRow.shape),
                            "The user of the existing account, after the resolution.")
                    ]))
        ],
        problems: [.conflict, .emailTaken], idempotent: true, exists: exists
    ) { call in
        let (id, resolution) = (try call.id(), try resolution(call))
        let resolved = try await call.scope.change(by: call.actor) { change in
            let resolved = try await change.resolve(
                id, resolution, isAssertedByTenant: !call.principal.platform)
            try call.requireCover(of: resolved.user)
            if call.application.sendsMail { try await tell(resolved, change, call.database, call) }
            return resolved
        }
        return .ok(
            .written { json in
                json.object {
                    resolved.decision.members(to: &$0)
                    $0.member("user", resolved.user)
                }
            }, etag: ETag.version(1))
    }

    /// Whether the decision exists. For a caller who sees only its own decisions, the result is
    /// always false, which leads to 404.
    @Sendable private static func exists(_ call: Call) async throws -> Bool {
        guard call.bound(.readDecisions) == nil else { return false }
        return try await call.database.decision(call.id(), tenant: call.tenant.id) != nil
    }

    private static func resolution(_ call: Call) throws -> Resolution {
        let email = call.input.optionalString("email")
        guard try call.input.string("action") == "open_another" else {
            guard email == nil else {
                throw Problem.invalid([
                    FieldError("/email", .notAllowed, "is only for open_another")
                ])
            }
            return .giveAccount
        }
        guard email != nil else {
            throw Problem.invalid([
                FieldError(
                    "/email", .required,
                    "is required: it becomes the address of the existing account")
            ])
        }
        return .openAnother(try call.input.emailAddress("email"))
    }

    private static func tell(
        _ resolved: ResolvedDecision, _ change: Change, _ database: Database, _ call: Call
    ) async throws {
        for address in resolved.recipients {
            // The mail is about a random id. If it were about the user's id, a later mail about the
            // user would replace this mail.
            try await change.post(
                OutgoingMail(
                    .accountGiven, to: address, tenantName: try await change.tenantName(),
                    link: call.application.publicURL,
                    expiresAt: call.now.adding(seconds: TokenSignIn.noticeSeconds)),
                about: UUID.random(), of: [resolved.user.id])
        }
    }
}

/// The body that describes an attempt, for the generic hook and its dry run.
enum AttemptShape {
    static let shape = ObjectShape(
        "Attempt",
        [
            FieldShape(
                "provider", .string(min: 1, max: 255), required: true,
                "The kind of a provider, or the id of a registered provider.",
                example: .string("google")),
            .nullable(
                "issuer", .string(min: 1, max: 1024),
                "The provider's issuer: its URL or, for a Cognito pool, the pool's id. Needed only "
                    + "if `provider` is a kind that several providers have."),
            .required(
                "subject", .string(min: 1, max: 1024),
                "The person's identifier at the issuer."),
            .nullable(
                "email", .string(max: 1024),
                "The person's email address, as the provider states it; `null` if it states none."),
            .nullable(
                "email_verified", .bool,
                "Whether the provider has verified `email`; `null` if the provider does not say. "
                    + "If false, the address counts as not verified by the provider, whatever the "
                    + "provider's `email_trust` is."),
            .nullable(
                "name", .string(max: ProvisioningCall.nameLimit),
                "The person's name, as the provider states it; `null` if it states none."),
            .nullable("tenant", .string(min: 1, max: 63), "The requested tenant, by id or slug."),
            .nullable(
                "invite_token", .string(min: 1, max: 512),
                "The token of the invite that the person used; `null` if there is none."),
            .nullable(
                "join_token", .string(min: 1, max: 512),
                "The token of the join link that the person used; `null` if there is none."),
            .nullable(
                "link_grant", .string(min: 1, max: 512),
                "The token of a link grant. It links this sign-in to the user of the grant if "
                    + "both have the same email address, and works only once; `null` if there is "
                    + "none."),
            .nullable(
                "client_id", .string(min: 1, max: 255),
                "The client id of the app that the person signs in to. If it is in the provider's "
                    + "`client_tenants`, the tenant there is the requested one."),
            .nullable(
                "event_id", .string(min: 1, max: 255),
                "The id of the event. A repetition with the same id and person, while nothing has "
                    + "changed, gets the recorded decision; nothing happens twice."),
            .nullable(
                "ip", .string(max: 64),
                "The person's IP address. It is accepted, but neither used nor stored."),
            .nullable(
                "user_agent", .string(max: 1024),
                "The `User-Agent` of the person's browser. It is accepted, but neither used nor "
                    + "stored."),
            .nullable(
                "claims", .map(of: .any),
                "Other claims of the provider about the person, by name. Only Google's `hd` is "
                    + "used, the domain of the person's organisation: if it is the domain of "
                    + "`email`, Google can be authoritative for the address, so that the person "
                    + "can join by a verified domain."),
        ])

    static func call(_ call: Call) throws -> ProvisioningCall {
        let input = call.input
        var attempt = ProvisioningCall(
            provider: .attempt(
                try input.string("provider"), issuer: input.optionalString("issuer"),
                subject: try input.string("subject")))
        attempt.email = input.optionalString("email")
        attempt.emailVerified = input.optionalBool("email_verified")
        attempt.hostedDomain = input.optionalObject("claims")?.optionalString("hd")
        attempt.name = input.optionalString("name")
        attempt.tenant = input.optionalString("tenant")
        attempt.inviteToken = input.optionalString("invite_token")
        attempt.joinToken = input.optionalString("join_token")
        attempt.linkGrant = input.optionalString("link_grant")
        attempt.clientID = input.optionalString("client_id")
        attempt.eventID = input.optionalString("event_id")
        attempt.caller = call.callerTenant
        return attempt
    }
}

extension Call {
    /// The only tenant that the credential can reach; `nil` for the platform's credentials.
    var callerTenant: UUID? { principal.platform ? nil : principal.tenant }
}

extension ProvisioningResult {
    /// The response of the generic hook, as JSON text.
    var answerText: String { String(decoding: json().encoded(), as: UTF8.self) }

    /// The response of the generic hook or, with `trace`, of the hook's dry run. It goes to hooks
    /// and to the person, so it contains no private attributes.
    func json(trace: JSONValue? = nil) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("outcome", .string(verdict.outcome.rawValue)),
            .init("reason", verdict.reason.map { .string($0.rawValue) } ?? .null),
            .init("user", user?.withoutPrivate.json ?? .null),
            .init("tenant", tenant?.withoutPrivate.json ?? .null),
            .init("identity_id", text(identityID)),
            .init("invite_id", text(verdict.inviteID)),
            .init("decision_id", text(decisionID)),
        ]
        if !reference.isEmpty { members.append(.init("reference", .string(reference))) }
        if !choices.isEmpty || verdict.outcome == .deferred {
            members.append(.init("choices", .array(choices.map(Self.choice))))
        }
        if let trace {
            members.append(.init("trace", trace))
            members.append(
                .init("policy_version", (tenant?.policyVersion).map { .int($0) } ?? .null))
        }
        if let wouldAdmit { members.append(.init("would_admit", wouldAdmit.document)) }
        return .object(members)
    }

    private static func choice(_ tenant: TenantRow) -> JSONValue {
        .object([
            .init(
                "tenant",
                .object([
                    .init("id", .string(tenant.id.description)),
                    .init("slug", .string(tenant.slug)), .init("name", .string(tenant.name)),
                ]))
        ])
    }

    private static let choiceShape = ObjectShape([
        .readOnly(
            "tenant",
            .object(
                ObjectShape([
                    .readOnly("id", .uuid, "The tenant's id."),
                    .readOnly("slug", .string(), "The tenant's slug."),
                    .readOnly("name", .string(), "The tenant's name."),
                ])), "The tenant.")
    ])

    static let shape = ObjectShape(
        "ProvisioningOutcome",
        [
            Outcome.field,
            .readOnly(
                "reason", .enumeration(of: Reason.self), nullable: true,
                "Why the person was refused. `no_tenant`: no tenant, not even the requested "
                    + "tenant, has a valid invite, a pending user or an applicable verified domain "
                    + "for the address, or the request names different tenants. "
                    + "`email_unverified`: no trusted source has verified the address. To join by "
                    + "a tenant's verified domain, a provider's `email_verified` is not enough: "
                    + "the provider must be authoritative for the domain, or be a Cognito pool "
                    + "that has verified the address of its own user. `would_admit` lists what "
                    + "would let the person in; it is in the response of a dry run and, if the "
                    + "request asks for it, in the decision."),
            .readOnly(
                "user", .object(UserRow.shape), nullable: true,
                "The user who was found or created, without private attributes; `null` if there is "
                    + "none, or if `/v1/provisioning/sign-in` refused the person."),
            .readOnly(
                "tenant", .object(TenantRow.shape), nullable: true,
                "The tenant of the decision, without private attributes; `null` if none was found, "
                    + "if the person still has to choose, or if `/v1/provisioning/sign-in` refused "
                    + "the person."),
            .readOnly(
                "identity_id", .uuid, nullable: true,
                "The id of the person's identity; `null` if there is none."),
            .readOnly(
                "invite_id", .uuid, nullable: true,
                "The id of the invite that was used or refused; `null` if there is none, or if "
                    + "`/v1/provisioning/sign-in` refused the person."),
            .readOnly(
                "decision_id", .uuid, nullable: true,
                "The id of the decision; `null` in a dry run."),
            .readOnly(
                "reference", .string(), always: false,
                "The short text that a page shows to the person, by which an operator finds "
                    + "the decision; absent if there is none."),
            .readOnly(
                "choices", .array(of: .object(choiceShape)), always: false,
                "The tenants that the person can choose from. If `outcome` is `deferred`, always "
                    + "present, but possibly empty."),
            .readOnly(
                "trace", .array(of: .object(DecisionRow.step)), always: false,
                "For a dry run: the rules that were applied. Otherwise absent."),
            .readOnly(
                "policy_version", .integer(1...1_000_000_000), nullable: true, always: false,
                "For a dry run: the version of the tenant's policy that was applied; `null` if "
                    + "`tenant` is `null`. Otherwise absent."),
            NearestYes.field,
        ])
}

private func text(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }

extension [NearestYes] {
    /// The trace as JSON: `[{change, detail, tenant_id}]`.
    var document: JSONValue {
        .array(
            map {
                .object([
                    .init("change", .string($0.change.rawValue)),
                    .init("detail", .string($0.detail)),
                    .init("tenant_id", .uuid($0.tenantID)),
                ])
            })
    }
}

extension NearestYes {
    static let field = FieldShape.readOnly(
        "would_admit",
        .array(
            of: .object(
                ObjectShape(
                    "NearestYes",
                    [
                        .readOnly(
                            "change", .enumeration(of: Change.self),
                            "The kind of change."),
                        .readOnly(
                            "detail", .string(),
                            "The change in one sentence, for an operator to read."),
                        .readOnly(
                            "tenant_id", .uuid, nullable: true,
                            "The id of the tenant in which to make the change; `null` if the "
                                + "change is made at the platform, or can be made in any tenant."),
                    ]))),
        always: false,
        "For a refusal: changes that would let the person in by the same rules. Any one of them is "
            + "enough.")
}

extension Call {
    /// Counts dry runs of the rules for the caller. They change nothing, but cost as much as real
    /// runs. Throws 429 above the limit per minute.
    func takeDryRuns(_ number: Int = 1) async throws {
        let caller = principal.id?.description ?? (principal.tenant ?? .platform).description
        let taken = try await database.count(
            "dry runs of \(principal.kind.rawValue) \(caller)", number)
        guard taken > database.options.limits.dryRuns else { return }
        throw Problem.rateLimited(
            "Too many dry runs; wait a minute.", limit: database.options.limits.dryRuns,
            retryAfter: database.secondsOfMinuteLeft)
    }
}

extension Outcome {
    /// The outcome as a member of an answer.
    static let field = FieldShape.readOnly(
        "outcome", .enumeration(of: Outcome.self),
        "`created`: a user was created, who may wait for approval. `linked`: the identity "
            + "was linked to an existing user, or a pending user was activated. "
            + "`existing`: the person was known already. `reserved`: the person signs up "
            + "at a Cognito pool, and the rules run again when the address is proved. "
            + "`deferred`: the person has to choose a tenant. `refused`: see `reason`.")
}
