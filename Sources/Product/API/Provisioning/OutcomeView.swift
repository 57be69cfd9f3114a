import Domain
import JSON
import Storage
import Text

extension ProvisioningResult {
    /// The response of the generic hook, as text.
    var answerText: String { String(decoding: json().encoded(), as: UTF8.self) }

    /// The response of the generic hook; with the trace, that of the dry run. It goes to hooks and to the
    /// person: private attributes are for neither.
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

    static let shape = ObjectShape(
        "ProvisioningOutcome",
        [
            .readOnly("outcome", .enumeration(of: Outcome.self)),
            .readOnly(
                "reason", .enumeration(of: Reason.self), nullable: true,
                "Why it refused. `no_tenant`: no tenant knows the address by a live invite, a waiting "
                    + "user or a verified domain that counts, the one of `tenant` neither. "
                    + "`email_unverified`: nothing that counts proves the address; by a verified "
                    + "domain a provider's `email_verified` counts only if the provider is "
                    + "authoritative for that domain. `would_admit` of `evaluate` and of the decision "
                    + "names what would let the person in."),
            .readOnly("user", .any, nullable: true),
            .readOnly("tenant", .object(TenantRow.shape), nullable: true),
            .readOnly("identity_id", .uuid, nullable: true),
            .readOnly("invite_id", .uuid, nullable: true),
            .readOnly("decision_id", .uuid, nullable: true, "null in a dry run."),
            .readOnly("reference", .string(), always: false, "What the person is told to name."),
            .readOnly("choices", .array(of: .any), always: false, "Where the tenant is open."),
            .readOnly("trace", .array(of: .any), always: false, "Each rule that was looked at."),
            .readOnly(
                "policy_version", .integer(1...1_000_000_000), nullable: true, always: false,
                "Of a dry run: which version of the tenant's policy judged."),
            NearestYes.field,
        ])
}

private func text(_ id: UUID?) -> JSONValue { id.map { .string($0.description) } ?? .null }
